"""Lines of a page: put in the order of reading, then into a title and paragraphs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ingest.layout import Box, reading_order
from ingest.parsed import Block
from kb.text import HAN
from kb.types import Flag, Page, Role

_COLUMN_SHARE = 0.25  # of the page's width: lines of columns of text are at least this wide
_WORD = re.compile(r"[^\W\d_]{2}|" + HAN.pattern)
_FORMULA = re.compile("[\U0001d400-\U0001d7ff]")  # fonts for formulas claim several times the height of their letters
_DIVIDER_LINES = 3  # a page with no more lines has only titles


@dataclass(frozen=True, slots=True)
class Line:
    """Text with its place; `size` is the height of its tallest character, without what a raised index adds."""

    text: str
    box: Box
    size: float


def arranged(groups: Sequence[Sequence[Line]]) -> list[Line]:
    """Visual lines in the order of reading; the lines of a group, such as a text box, stay together."""
    boxes = [around(group) for group in groups]
    width = max((box.right for box in boxes), default=0) - min((box.left for box in boxes), default=0)
    order = reading_order(boxes, column_width=_COLUMN_SHARE * width)
    return _joined([line for i in order for line in groups[i]])


def around(lines: Sequence[Line]) -> Box:
    """The box of all of them."""
    box = lines[0].box
    for line in lines[1:]:
        box |= line.box
    return box


def _joined(runs: list[Line]) -> list[Line]:
    """Runs that stand beside each other put into one line, with a blank between, as indices and table cells do."""
    lines: list[Line] = []
    for run in runs:
        if lines and run.box.left > lines[-1].box.left and run.box.shares_line_with(lines[-1].box):
            last = lines[-1]
            lines[-1] = Line(f"{last.text} {run.text}", last.box | run.box, max(last.size, run.size))
        else:
            lines.append(run)
    return lines


def text_blocks(
    lines: list[Line], locator: Page, flags: frozenset[Flag] = frozenset(), *, untitled: bool = False
) -> list[Block]:
    """A block for the title, unless it is known already, and one for each paragraph; a line of text for each line."""
    title = [] if untitled else _title(lines)
    rest = [line for line in lines if line not in title]
    paragraphs: list[list[Line]] = []
    for line in rest:
        last = paragraphs[-1][-1].box if paragraphs else None
        if last and -last.height < line.box.top - last.bottom < min(last.height, line.box.height):
            paragraphs[-1].append(line)
        else:
            paragraphs.append([line])
    parts = [(Role.TITLE, title)] if title else []
    parts += [(Role.BODY, paragraph) for paragraph in paragraphs]
    return [Block("\n".join(line.text for line in part), locator, role, flags) for role, part in parts]


def _title(lines: list[Line]) -> list[Line]:
    """The largest text where it stands in the upper half, with the lines of its size that follow it.

    Where all text is of one size, the first line if it stands apart, or everything on a page of up to three lines.
    """
    worded = [line for line in lines if _WORD.search(line.text) and not _FORMULA.search(line.text)]
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
