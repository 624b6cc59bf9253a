"""Reading order of boxes on a page: recursive XY-cut.

Source: G. Nagy, S. Seth, M. Viswanathan, "A prototype document image analysis system for technical journals", 1992.
Rows are cut before columns, because slides are grids; columns of running text, whose lines would be taken for rows, are
found first by the gutter that their lines share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import or_
from statistics import median

_FEW_CHARACTERS = 16  # a page with less text than this, and a picture, says what it says in the picture
_PICTURE_SHARE = 0.2  # of the page's area
_COLUMN_ROWS = 3  # fewer rows side by side are a grid, not columns of text


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; x runs to the right and y downwards, in any unit."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def __and__(self, other: Box) -> Box:
        """What the two share; without any extent where they share nothing."""
        left, top = max(self.left, other.left), max(self.top, other.top)
        return Box(left, top, max(left, min(self.right, other.right)), max(top, min(self.bottom, other.bottom)))

    def __or__(self, other: Box) -> Box:
        return Box(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )

    def shares_line_with(self, other: Box) -> bool:
        """True where the two overlap in height by half of the lower one, as words of one line do."""
        overlap = min(self.bottom, other.bottom) - max(self.top, other.top)
        return overlap > 0.5 * min(self.height, other.height)

    def scaled(self, x: float, y: float) -> Box:
        return Box(x * self.left, y * self.top, x * self.right, y * self.bottom)

    def trimmed(self, share: float) -> Box:
        """Lower by `share` of its height at the top and at the bottom."""
        return Box(self.left, self.top + share * self.height, self.right, self.bottom - share * self.height)

    def moved(self, x: float, y: float) -> Box:
        return Box(self.left + x, self.top + y, self.right + x, self.bottom + y)

    def covers(self, other: Box, share: float) -> bool:
        """True where it takes more than that share of the other's area."""
        common = self & other
        return common.width * common.height > share * other.width * other.height

    def abuts(self, other: Box, slack: float) -> bool:
        """True where the two share a whole side, as strips of one picture do."""
        row = abs(self.top - other.top) <= slack and abs(self.bottom - other.bottom) <= slack
        column = abs(self.left - other.left) <= slack and abs(self.right - other.right) <= slack
        return (row or column) and self.lies_near(other, slack)

    def lies_near(self, other: Box, distance: float) -> bool:
        across = max(self.left, other.left) - min(self.right, other.right)
        down = max(self.top, other.top) - min(self.bottom, other.bottom)
        return across <= distance and down <= distance


def around(boxes: Sequence[Box]) -> Box:
    """The box of all of them."""
    return reduce(or_, boxes)


def clusters(boxes: Sequence[Box], together: Callable[[Box, Box], bool]) -> list[list[Box]]:
    """Boxes that belong together, directly or through others."""
    found: list[list[Box]] = []
    for box in boxes:
        near: list[list[Box]] = []
        far: list[list[Box]] = []
        for group in found:
            (near if any(together(box, other) for other in group) else far).append(group)
        found = [*far, [*chain.from_iterable(near), box]]
    return found


def mostly_picture(characters: int, share: float) -> bool:
    """True for a page with hardly more than a title above a picture that takes `share` of its area."""
    return characters < _FEW_CHARACTERS and share >= _PICTURE_SHARE


def rows_of(boxes: Sequence[Box], ids: Iterable[int]) -> list[list[int]]:
    """Those of `ids` whose boxes stand side by side, put together, from the top."""
    return _cut(list(ids), lambda i: boxes[i].top, lambda i: boxes[i].bottom)


def columns_of(boxes: Sequence[Box], ids: Iterable[int]) -> list[list[int]]:
    """Those of `ids` whose boxes stand above each other, put together, from the left."""
    return _cut(list(ids), lambda i: boxes[i].left, lambda i: boxes[i].right)


def reading_order(boxes: Sequence[Box], column_width: float = float("inf")) -> list[int]:
    """Indices of `boxes` in the order of reading: from the top, from the left.

    Args:
        boxes: what stands on the page; a box is never split.
        column_width: rows of boxes at least this wide that share a gutter are columns of text and are read one
            column after the other; without it, side by side always means one row.
    """
    return _order(boxes, list(range(len(boxes))), column_width)


def _order(boxes: Sequence[Box], ids: list[int], column_width: float) -> list[int]:
    if len(ids) < 2:
        return ids
    rows = rows_of(boxes, ids)
    if len(rows) > 1:
        zones = _columns(boxes, rows, column_width)
        return [i for zone in zones for i in _order(boxes, zone, column_width)]
    columns = columns_of(boxes, ids)
    if len(columns) > 1:
        return [i for column in columns for i in _order(boxes, column, column_width)]
    return sorted(ids, key=lambda i: (boxes[i].top, boxes[i].left, i))


def _cut(ids: list[int], start: Callable[[int], float], end: Callable[[int], float]) -> list[list[int]]:
    """Groups of ids whose intervals overlap, in order. A touch within a tenth of the smaller one still is a gap."""
    groups: list[list[int]] = []
    reach = length = 0.0
    for i in sorted(ids, key=lambda i: (start(i), i)):
        slack = 0.1 * min(length, end(i) - start(i))
        if groups and start(i) < reach - slack:
            groups[-1].append(i)
            length = min(length, end(i) - start(i))
        else:
            groups.append([i])
            length = end(i) - start(i)
        reach = max(reach, end(i)) if len(groups[-1]) > 1 else end(i)
    return groups


def _columns(boxes: Sequence[Box], rows: list[list[int]], column_width: float) -> list[list[int]]:
    """Rows as they are, except that rows of columns of text are put together, one column after the other."""
    zones: list[list[int]] = []
    position = 0
    while position < len(rows):
        zone, gutter = list(rows[position]), _gutter(boxes, rows[position])
        taken = 1
        while gutter and position + taken < len(rows):
            wider = zone + rows[position + taken]
            if not _gutter(boxes, wider):
                break
            zone, taken = wider, taken + 1
        gutter = _gutter(boxes, zone)
        if gutter and taken >= _COLUMN_ROWS and _wide(boxes, zone, gutter, column_width):
            zones.append([i for i in zone if boxes[i].right <= gutter])
            zones.append([i for i in zone if boxes[i].right > gutter])
        else:
            zones += rows[position : position + taken]
        position += taken
    return zones


def _gutter(boxes: Sequence[Box], ids: list[int]) -> float | None:
    """The left edge of the first gap between the boxes' widths, None where they close it."""
    columns = columns_of(boxes, ids)
    return max(boxes[i].right for i in columns[0]) if len(columns) > 1 else None


def _wide(boxes: Sequence[Box], ids: list[int], gutter: float, column_width: float) -> bool:
    sides = ([i for i in ids if boxes[i].right <= gutter], [i for i in ids if boxes[i].right > gutter])
    return all(
        len(side) >= _COLUMN_ROWS and median(boxes[i].right - boxes[i].left for i in side) >= column_width
        for side in sides
    )
