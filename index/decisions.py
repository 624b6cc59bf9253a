"""What people decided about wordings of transcripts, in the catalog."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from index.database import Database, rows
from index.database import put as put_row
from kb.text import stable_id
from kb.types import Decision

if TYPE_CHECKING:
    from sqlalchemy import Connection

_DECIDED, _APPLIED = "decided", "applied"


def put(database: Database, decision: Decision) -> None:
    """Keep a decision; a source that is removed and added again finds its own."""
    scope = decision.source_id or ""
    key = stable_id(scope, decision.heard.casefold(), decision.corrected)
    row = {
        "scope": scope,
        "decision": decision.model_dump_json(),
        "decided_at": datetime.now(UTC).isoformat(timespec="microseconds"),
    }
    with database.writing() as connection:
        put_row(connection, "decisions", {"id": key}, row)
        put_row(connection, "meta", {"key": _DECIDED}, {"value": _count(connection, _DECIDED) + 1})


def all_of(database: Database) -> tuple[Decision, ...]:
    """All decisions, the latest first."""
    found = sorted(database.rows("decisions"), key=lambda row: (row.decided_at, row.id), reverse=True)
    return tuple(Decision.model_validate_json(row.decision) for row in found)


def hand_on(database: Database, old: str, new: str) -> None:
    """What was decided for the source `old` is decided for `new`, too."""
    for decision in reversed(all_of(database)):
        if decision.source_id == old:
            put(database, decision.model_copy(update={"source_id": new}))


@contextmanager
def applying(database: Database) -> Iterator[bool]:
    """Whether decisions wait for being applied to transcripts; those of before the block do not, once it ends well."""
    with database.reading() as connection:
        decided, applied = _count(connection, _DECIDED), _count(connection, _APPLIED)
    yield decided != applied
    if decided != applied:
        with database.writing() as connection:
            put_row(connection, "meta", {"key": _APPLIED}, {"value": decided})


def _count(connection: Connection, key: str) -> int:
    return next((int(row.value) for row in rows(connection, "meta", key=key)), 0)
