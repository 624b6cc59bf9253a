"""Lines of a page, put in the order of reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingest.pages.layout import Box, reading_order
from ingest.pages.layout import around as boxes_around
from kb.types import Role

_COLUMN_SHARE = 0.25  # of the page's width: lines of columns of text are at least this wide


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
    """Runs that stand beside each other put into one line, with a blank between, as indices and table cells do."""
    lines: list[Line] = []
    for run in runs:
        alike = bool(lines) and run.role is lines[-1].role is not Role.TABLE
        if alike and run.box.left > lines[-1].box.left and run.box.shares_line_with(lines[-1].box):
            lines[-1] += run
        else:
            lines.append(run)
    return lines
