"""The lines that were seen in a picture, as a text with its role and how sure the recogniser was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ingest.code_lines import indented, is_code
from ingest.lines import Line, arranged, confidence_of
from ingest.tables import table_of
from kb.types import Role


@dataclass(frozen=True)
class Written:
    text: str
    role: Role
    confidence: float | None


def written(lines: Sequence[Line]) -> Written:
    """Code with its indents, a table as Markdown, else a line of text for each line that was seen."""
    confidence = confidence_of(lines)
    if is_code(lines):
        return Written(indented(lines), Role.CODE, confidence)
    if table := table_of([[line] for line in lines]):
        return Written(table, Role.TABLE, confidence)
    return Written("\n".join(line.text for line in arranged([[line] for line in lines])), Role.BODY, confidence)
