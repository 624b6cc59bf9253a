"""Parts of a page that are read for themselves: what stands on both sides of a wide gutter and shares no lines.

Rows across the page are right for slides, which are grids; a table beside a chart is none, and a line of the one that
happens to stand at the height of a line of the other says nothing about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from ingest.pages.layout import Box, columns_of, rows_of
from ingest.pages.lines import Line, around, arranged
from ingest.pages.tables import Group, with_tables
from kb.types import Role

_GUTTER = 1.5  # heights of the text
_LEVEL = 0.25  # heights of the text between middles of lines that stand on one baseline
_LARGE = 1.3  # times the height of other lines
_SHARED = 0.5  # of the lines of the side with fewer of them: from here on the sides are rows of one grid
_LEAST_LINES = 2  # on each side; one line beside others is a label


def laid_out(groups: Sequence[Group], air: float = 0.0) -> list[Line]:
    """Lines in the order of reading, tables among them, the page cut into its regions.

    Recognised text is not cut: its boxes are not exact enough to tell whether lines stand on one baseline.

    Args:
        groups: the lines of each text box or cell.
        air: of recognised text, share of a line's height that is empty above and below it.
    """
    boxes = [around(group) for group in groups]
    width = max((box.right for box in boxes), default=0.0) - min((box.left for box in boxes), default=0.0)
    regions = [groups] if air else _regions(groups)
    return [line for region in regions for line in arranged(with_tables(region, air, width), air)]


def _regions(groups: Sequence[Group]) -> Iterator[list[Group]]:
    """From the top; the left before the right side of a gutter."""
    boxes = [around(group) for group in groups]
    rows = rows_of(boxes, range(len(boxes)))
    whole: list[Group] = []
    while rows:
        taken = 1
        while taken < len(rows) and len(columns_of(boxes, [i for row in rows[: taken + 1] for i in row])) > 1:
            taken += 1
        zone = [i for row in rows[:taken] for i in row]
        columns = [[groups[i] for i in column] for column in columns_of(boxes, zone)]
        place = _cut(columns)
        if place:
            if whole:
                yield whole
            whole = []
            for side in (columns[:place], columns[place:]):
                yield from _regions([group for column in side for group in column])
        else:
            whole += [groups[i] for i in zone]
        rows = rows[taken:]
    if whole:
        yield whole


def _cut(columns: Sequence[Sequence[Group]]) -> int:
    """Number of columns to the left of the widest gutter whose sides share no lines; 0 where there is none."""
    boxes = [around([line for group in column for line in group]) for column in columns]
    gutters = {place: boxes[place].left - max(b.right for b in boxes[:place]) for place in range(1, len(boxes))}
    for place in sorted(gutters, key=lambda place: -gutters[place]):
        left, right = ([group for column in side for group in column] for side in (columns[:place], columns[place:]))
        wide = gutters[place] >= _GUTTER * median(line.size for group in (*left, *right) for line in group)
        if wide and _foreign(left, right):
            return place
    return 0


def _foreign(left: Sequence[Group], right: Sequence[Group]) -> bool:
    """A drawn table stands on one side, or the lines of the two stand at heights of their own."""
    if any(group[0].role is Role.TABLE for group in (*left, *right)):
        return True
    few, many = sorted((left, right), key=lambda side: sum(map(len, side)))
    lines = [line.box for group in few for line in group]
    others = [box for group in many for box in (around(group), *(line.box for line in group))]
    shared = sum(any(_level(line, other) for other in others) for line in lines)
    return len(lines) >= _LEAST_LINES and shared < _SHARED * len(lines)


def _level(line: Box, other: Box) -> bool:
    """On one baseline; or a large sign, such as a number, before lines of text, or one beside the middle of a text."""
    off = abs(line.top + line.bottom - other.top - other.bottom) / 2
    low, high = sorted((line.height, other.height))
    return off <= _LEVEL * low or (high > _LARGE * low and line.shares_line_with(other))
