"""What stands in a note's file and not on its page: comments, scripts, imports of MDX, tags without text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kb.types import Dropped


class Unseen(NamedTuple):
    what: str
    reason: str


_LONGEST = 5_000  # characters; a longer block has something to see, unless it is one comment
_COMMENT = re.compile(r"<!--.*?-->|\{/\*.*?\*/\}", re.DOTALL)
_CODE = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][\w.:-]*(?:\s(?:\"[^\"]*\"|'[^']*'|[^\"'<>])*)?/?>|</?>|:{3,}|/{3,}")
_TELLING = re.compile(r"\b(?:alt|title|label|summary|aria-label|src|href)\s*=", re.IGNORECASE)
_IMPORT = re.compile(r"import\s[^;]*?\bfrom\s+(['\"]).+?\1;?|import\s+(['\"]).+?\2;?")
_EXPORT = re.compile(r"export\s+(?:default|const|let|function|class|\{)")
_SECTION = re.compile(r"\W*-{1,}8<-{1,}\s+\[\s*(?:start|end)\s*:\s*[\w.-]+\s*\]\W*")
_BANNER = re.compile(r"licen[cs]e|copyright|SPDX-", re.IGNORECASE)


def unseen(block: str, *, mdx: bool = False) -> Unseen | None:
    """Why no reader of the page sees any of this block; None where it has something to see."""
    text = block.strip()
    if len(text) > _LONGEST:
        is_comment = text.startswith("<!--") and text.find("-->") == len(text) - 3
        return _comment(text) if is_comment else None
    rest = _COMMENT.sub("", text).strip()
    if not rest:
        return _comment(text)
    if "8<" in rest and _SECTION.fullmatch(rest):
        return Unseen("snippet mark", "it names a part of the file for inclusion")
    if (rest.startswith("import") and not _IMPORT.sub("", rest).strip()) or (mdx and _EXPORT.match(rest)):
        return Unseen("import or export", "code of the MDX page, not part of the text")
    if not (rest := _CODE.sub("", rest).strip()):
        return Unseen("script or style sheet", "code of the page, not part of the text")
    if not _TAG.sub("", rest).strip() and not _TELLING.search(rest):
        return Unseen("block of tags", "layout without a word")
    return None


def _comment(text: str) -> Unseen:
    banner = "a licence banner, not part of the text"
    return Unseen("HTML comment", banner if _BANNER.search(text) else "a comment, which the page does not show")


def counted(found: Mapping[Unseen, Sequence[tuple[int, int]]], where: str) -> tuple[Dropped, ...]:
    """One `Dropped` for each kind, with all its lines."""
    return tuple(
        Dropped(
            what=kind.what if len(places) == 1 else f"{len(places)} × {kind.what}",
            where=f"{where}, {line_numbers(places)}",
            reason=kind.reason,
        )
        for kind, places in found.items()
    )


def line_numbers(places: Sequence[tuple[int, int]]) -> str:
    """`line 3` or `lines 3, 9-12`, of first and last lines, counted from 1; what touches is one."""
    runs: list[tuple[int, int]] = []
    for first, last in places:
        if runs and first == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], last)
        else:
            runs.append((first, last))
    ranges = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
    return f"line{'' if ranges.isdecimal() else 's'} {ranges}"
