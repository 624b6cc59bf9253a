"""Lines of a page, put in the order of reading."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingest.pages.layout import Box, reading_order
from ingest.pages.layout import around as boxes_around
from kb.text import HAN
from kb.types import Role

_COLUMN_SHARE = 0.25  # of the page's width: lines of columns of text are at least this wide
BLANK = 0.8  # heights of the text; a blank of code is 0.7 wide: a wider gap may part two texts
_BLANK_SEEN = 1.5  # as much, between lines that were recognised: recognition leaves blanks at both ends
_WORD = re.compile(r"[^\W\d_]{2}|" + HAN.pattern)


@dataclass(frozen=True, slots=True)
class Line:
    """Text with its place; `size` is the height of its tallest character, without what a raised index adds."""

    text: str
    box: Box
    size: float
    role: Role = Role.BODY
    confidence: float | None = None  # of text that was recognised

    def __add__(self, other: Line) -> Line:
        """The two in one line, with a blank between."""
        text, box, size = f"{self.text} {other.text}", self.box | other.box, max(self.size, other.size)
        return Line(text, box, size, self.role, confidence_of((self, other)))

    def placed(self, area: Box, width: float) -> Line:
        """The line with its box on the page, where it was seen in a picture `width` pixels wide that fills `area`."""
        scale = area.width / width
        box = self.box.scaled(scale, scale).moved(area.left, area.top)
        return replace(self, box=box, size=scale * self.size)


def arranged(groups: Sequence[Sequence[Line]], air: float = 0.0) -> list[Line]:
    """Visual lines in the order of reading; the lines of a group, such as a text box, stay together.

    Args:
        air: share of a line's height that is empty above and below it.
    """
    boxes = [around(group).trimmed(air) for group in groups]
    width = max((box.right for box in boxes), default=0) - min((box.left for box in boxes), default=0)
    order = reading_order(boxes, column_width=_COLUMN_SHARE * width)
    return _joined([line for i in order for line in groups[i]])


def around(lines: Sequence[Line]) -> Box:
    """The box of all of them."""
    return boxes_around([line.box for line in lines])


def confidence_of(lines: Sequence[Line]) -> float | None:
    """The mean over the characters that were recognised; None where none was."""
    seen = [(len(line.text), line.confidence) for line in lines if line.confidence is not None]
    characters = sum(length for length, _ in seen)
    return round(sum(length * sure for length, sure in seen) / characters, 3) if characters else None


def _joined(runs: list[Line]) -> list[Line]:
    """Runs that stand beside each other put into one line, with a blank between, as indices and signs do."""
    lines: list[Line] = []
    for run in runs:
        if lines and _goes_on(lines[-1], run):
            lines[-1] += run
        else:
            lines.append(run)
    return lines


def _goes_on(line: Line, run: Line) -> bool:
    """Whether the run is the rest of the line: two texts that a gap parts are neighbours, such as labels."""
    if run.role is not line.role or run.role is Role.TABLE:
        return False
    if run.box.left <= line.box.left or not run.box.shares_line_with(line.box):
        return False
    blank = BLANK if run.confidence is None else _BLANK_SEEN
    is_near = run.box.left - line.box.right <= blank * min(line.size, run.size)
    return is_near or run.role is not Role.BODY or not (says_words(line.text) and says_words(run.text))


def says_words(text: str) -> bool:
    """Whether a text says something for itself, as single letters, signs and numbers do not."""
    return bool(_WORD.search(text))
