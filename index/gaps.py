"""What the corpus does not answer, in the catalog: refused and badly rated questions, and all ratings."""

from __future__ import annotations

from datetime import UTC, datetime

from index.database import Database, put, rows
from kb.text import stable_id
from kb.types import Feedback, Gap


def file(database: Database, gap: Gap) -> None:
    """File a question; one that was filed before (case and outer blanks aside) is counted up, and open again."""
    key = _key(gap.question)
    with database.writing() as connection:
        for row in rows(connection, "gaps", id=key):
            before = Gap.model_validate_json(row.gap)
            first = min(before.first_asked_at or before.asked_at, gap.first_asked_at or gap.asked_at)
            gap = gap.model_copy(update={"times": gap.times + row.times, "first_asked_at": first})
        asked = gap.asked_at.astimezone(UTC).isoformat()
        put(connection, "gaps", {"id": key}, {"gap": gap.model_dump_json(), "times": gap.times, "asked_at": asked})


def close(database: Database, question: str, at: datetime) -> None:
    """The corpus answers it by now. What is not filed is passed over."""
    key = _key(question)
    with database.writing() as connection:
        for row in rows(connection, "gaps", id=key):
            closed = Gap.model_validate_json(row.gap).model_copy(update={"closed_at": at})
            put(connection, "gaps", {"id": key}, {"gap": closed.model_dump_json()})


def all_of(database: Database) -> tuple[Gap, ...]:
    """Open and closed ones, most often asked first, then the latest."""
    filed = sorted(database.rows("gaps"), key=lambda row: (row.times, row.asked_at, row.id), reverse=True)
    return tuple(Gap.model_validate_json(row.gap).model_copy(update={"times": row.times}) for row in filed)


def rate(database: Database, feedback: Feedback) -> None:
    from index.schema import ratings

    at = datetime.now(UTC).isoformat(timespec="seconds")
    with database.writing() as connection:
        connection.execute(ratings.insert().values(feedback=feedback.model_dump_json(), rated_at=at))


def _key(question: str) -> str:
    return stable_id(question.strip().casefold())
