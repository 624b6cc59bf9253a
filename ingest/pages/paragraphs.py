"""Lines of a page, put into a title and paragraphs, tables, code and formulas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from ingest.pages.code_lines import indented
from ingest.pages.layout import Box
from ingest.pages.lines import Line, around, confidence_of, says_words
from ingest.parsed import Block
from kb.types import Flag, Page, Role

_FORMULA = re.compile("[\U0001d400-\U0001d7ff]")  # fonts for formulas claim several times the height of their letters
_DIVIDER_LINES = 3  # a page with no more lines has only titles


def text_blocks(
    lines: list[Line], locator: Page, flags: frozenset[Flag] = frozenset(), *, untitled: bool = False
) -> list[Block]:
    """A block for the title, unless it is known already, and one for each paragraph; a line of text for each line."""
    title = [] if untitled else _title([line for line in lines if line.role is Role.BODY])
    parts = [(Role.TITLE, title)] if title else []
    for role, group in groupby((line for line in lines if line not in title), key=lambda line: line.role):
        members = list(group)
        paragraphs = [members] if role is Role.CODE else _paragraphs(members)
        parts += [(role, paragraph) for paragraph in paragraphs]
    return [Block(_text(role, part), locator, role, flags, confidence=confidence_of(part)) for role, part in parts]


def _paragraphs(lines: Sequence[Line]) -> list[list[Line]]:
    paragraphs: list[list[Line]] = []
    for line in lines:
        last = paragraphs[-1][-1].box if paragraphs and line.role is Role.BODY else None
        if last and _continues(last, line.box):
            paragraphs[-1].append(line)
        else:
            paragraphs.append([line])
    return paragraphs


def _continues(last: Box, box: Box) -> bool:
    """Below it, and not only beside it."""
    overlap = min(last.right, box.right) - max(last.left, box.left)
    return overlap > 0 and -last.height < box.top - last.bottom < min(last.height, box.height)


def _text(role: Role, lines: Sequence[Line]) -> str:
    return indented(lines) if role is Role.CODE else "\n".join(line.text for line in lines)


def _title(lines: list[Line]) -> list[Line]:
    """The largest text where it stands in the upper half, with the lines of its size that follow it.

    Where all text is of one size, the first line if it stands apart, or everything on a page of up to three lines.
    """
    worded = [line for line in lines if says_words(line.text) and not _FORMULA.search(line.text)]
    middle = around(lines).top + 0.5 * around(lines).height if lines else 0.0
    high = [line for line in worded if line.box.top <= middle]
    if not high:
        return []
    size = max(line.size for line in high)
    first = next(line for line in high if line.size > 0.9 * size)
    title = [first]
    for line in lines[lines.index(first) + 1 :]:
        if line.size < 0.9 * size or line.box.top - title[-1].box.bottom > 0.6 * size:
            break
        title.append(line)
    if len(worded) <= _DIVIDER_LINES:
        return title
    larger = size > 1.1 * sorted(line.size for line in worded)[len(worded) // 2]
    apart = len(title) == 1 and first is worded[0]
    return title if larger or apart else []
