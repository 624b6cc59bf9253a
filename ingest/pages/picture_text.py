"""The lines that were seen in a picture, as texts with their roles and how sure the recogniser was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from ingest.pages.code_lines import indented, is_code
from ingest.pages.lines import Line, confidence_of
from ingest.pages.ocr import AIR
from ingest.pages.regions import laid_out
from kb.types import Role


@dataclass(frozen=True)
class Written:
    text: str
    role: Role
    confidence: float | None


def written(lines: Sequence[Line]) -> list[Written]:
    """Code with its indents, or tables as Markdown and else a line of text for each line that was seen."""
    if is_code(lines):
        return [Written(indented(lines), Role.CODE, confidence_of(lines))]
    found = laid_out([[line] for line in lines], AIR)
    parts = [(role, list(group)) for role, group in groupby(found, key=lambda line: line.role)]
    return [Written("\n".join(line.text for line in part), role, confidence_of(part)) for role, part in parts]
