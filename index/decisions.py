"""What people decided about wordings of transcripts, in the catalog."""

from __future__ import annotations

from datetime import UTC, datetime

from index.database import Database
from index.database import put as put_row
from kb.text import stable_id
from kb.types import Decision


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


def all_of(database: Database) -> tuple[Decision, ...]:
    """All decisions, the latest first."""
    found = sorted(database.rows("decisions"), key=lambda row: (row.decided_at, row.id), reverse=True)
    return tuple(Decision.model_validate_json(row.decision) for row in found)


def hand_on(database: Database, old: str, new: str) -> None:
    """What was decided for the source `old` is decided for `new`, too."""
    for decision in reversed(all_of(database)):
        if decision.source_id == old:
            put(database, decision.model_copy(update={"source_id": new}))
