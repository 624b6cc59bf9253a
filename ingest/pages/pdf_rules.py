"""Tables that are drawn on a PDF page: the grids that rules and the borders of filled cells make up.

Source: A. Nurminen, "Algorithmic extraction of data in tables in PDF documents", Tampere 2013: edges are put on common
lines, lines that meet make up a table, the places where they stand bound its cells.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from ctypes import byref, c_float, c_int
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from ingest.pages.layout import Box, around, clusters

if TYPE_CHECKING:
    from pypdfium2 import PdfObject, PdfPage

_DEEPEST = 8  # forms inside forms
_MOST_SEGMENTS = 200  # of one path; more are a curve
_MOST_PARTS = 20_000  # segments of a page, and
_MOST_LINES = 400  # that its edges make up; more are a drawing
_SLACK = 2.5  # points between edges that are meant to meet
_SHORTEST = 6.0  # points; shorter edges are ends of thick rules
_BLANK = 0.15  # heights of the text: less is no blank
_DRAWN = 0.7  # of the borders between the cells of a table


@dataclass(frozen=True, slots=True)
class Grid:
    """A drawn table: where its columns and rows begin and end, and the rules that part them."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    rules: tuple[Box, ...]

    def cell(self, box: Box) -> tuple[int, int] | None:
        """Row and column of a text, of merged cells the first; None outside of the table."""
        x, y = box.left + 0.1 * box.width, (box.top + box.bottom) / 2  # it may run on into the next cell
        row, column = bisect_right(self.ys, y) - 1, bisect_right(self.xs, x) - 1
        if not (0 <= row < len(self.ys) - 1 and 0 <= column < len(self.xs) - 1):
            return None
        while row and not self._drawn(Box(self.xs[column], self.ys[row], self.xs[column + 1], self.ys[row])):
            row -= 1
        while column and not self._drawn(Box(self.xs[column], self.ys[row], self.xs[column], self.ys[row + 1])):
            column -= 1
        return row, column

    @property
    def box(self) -> Box:
        return Box(self.xs[0], self.ys[0], self.xs[-1], self.ys[-1])

    def is_table(self) -> bool:
        """Most of the borders between its cells are drawn."""
        level = chain.from_iterable((Box(a, y, b, y) for a, b in pairwise(self.xs)) for y in self.ys[1:-1])
        upright = chain.from_iterable((Box(x, a, x, b) for a, b in pairwise(self.ys)) for x in self.xs[1:-1])
        borders = [*level, *upright]
        drawn = sum(map(self._drawn, borders))
        return len(self.xs) > 2 and len(self.ys) > 2 and drawn >= _DRAWN * len(borders)

    def _drawn(self, border: Box) -> bool:
        return any(_lies_on(border, rule) for rule in self.rules)

    def parts(self, left: Box, right: Box) -> bool:
        """An upright rule stands between two characters of a line that do not touch."""
        return right.left - left.right > _BLANK * right.height and parts(self.rules, left, right)


def parts(rules: Sequence[Box], left: Box, right: Box) -> bool:
    """Whether an upright one of the rules stands between two characters of a line."""
    y = (right.top + right.bottom) / 2
    return any(
        rule.width < rule.height
        and rule.top <= y <= rule.bottom
        and left.right - _SLACK <= rule.left <= right.left + _SLACK
        for rule in rules
    )


def edges(page: PdfPage) -> list[Box]:
    """Upright and level edges of what is drawn, as boxes without width or height; y runs upwards.

    Edges along the border of the page bound its background and are left out; so are all of a page that is a drawing.
    """
    from pypdfium2 import raw

    bounds = page.get_bbox()
    found: list[Box] = []
    looked_at = 0
    for part in page.get_objects(filter=(raw.FPDF_PAGEOBJ_PATH,), max_depth=_DEEPEST):
        segments = raw.FPDFPath_CountSegments(part)
        if segments <= _MOST_SEGMENTS and _is_seen(part):
            found += (edge for edge in _edges(part) if not _on_border(edge, bounds))
            looked_at += segments
        if looked_at > _MOST_PARTS:
            return []
    return found


def _is_seen(part: PdfObject) -> bool:
    from pypdfium2 import raw

    fill, stroke = c_int(), c_int()
    raw.FPDFPath_GetDrawMode(part, byref(fill), byref(stroke))
    return bool(fill.value or stroke.value)


def _edges(part: PdfObject) -> Iterator[Box]:
    for (x1, y1), (x2, y2) in _segments(part):
        width, height = abs(x2 - x1), abs(y2 - y1)
        if min(width, height) < 0.5 and max(width, height) >= _SHORTEST:
            yield Box(min(x1, x2), max(y1, y2), max(x1, x2), min(y1, y2))


def _segments(part: PdfObject) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """Straight parts of a path, from point to point on the page."""
    from pypdfium2 import raw

    matrix, holder = part.get_matrix(), part.container
    while holder is not None:
        matrix, holder = matrix.multiply(holder.get_matrix()), holder.container
    start = last = (0.0, 0.0)
    x, y = c_float(), c_float()
    for index in range(raw.FPDFPath_CountSegments(part)):
        segment = raw.FPDFPath_GetPathSegment(part, index)
        raw.FPDFPathSegment_GetPoint(segment, byref(x), byref(y))
        point = matrix.on_point(x.value, y.value)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield last, point
        last = point
        if raw.FPDFPathSegment_GetClose(segment):
            yield last, start


def _on_border(edge: Box, bounds: tuple[float, float, float, float]) -> bool:
    left, bottom, right, top = bounds
    if edge.width > abs(edge.height):
        return not bottom + _SLACK < edge.top < top - _SLACK
    return not left + _SLACK < edge.left < right - _SLACK


def grids(found: Sequence[Box]) -> list[Grid]:
    """Tables of two or more rows and columns that the edges make up; y runs downwards."""
    upright = _lines([Box(e.top, e.left, e.bottom, e.right) for e in found if e.width <= e.height])
    lines = _lines([e for e in found if e.width > e.height])
    lines += [Box(e.top, e.left, e.bottom, e.right) for e in upright]
    if len(lines) > _MOST_LINES:
        return []
    tables = (_grid(group) for group in clusters(lines, lambda one, other: one.lies_near(other, _SLACK)))
    return [table for table in tables if table.is_table()]


def _lines(level: Sequence[Box]) -> list[Box]:
    """Level edges put together where they continue each other at the same height."""
    found: list[Box] = []
    for height in _places([edge.top for edge in level]):
        at = sorted((e for e in level if 0 <= e.top - height <= 2 * _SLACK), key=lambda e: e.left)
        start = len(found)
        for edge in at:
            if len(found) > start and edge.left <= found[-1].right + _SLACK:
                found[-1] = Box(found[-1].left, height, max(found[-1].right, edge.right), height)
            else:
                found.append(Box(edge.left, height, edge.right, height))
    return found


def _places(values: Sequence[float]) -> list[float]:
    """The values in order, of those that lie within the slack of each other only the first."""
    found: list[float] = []
    for value in sorted(values):
        if not found or value - found[-1] > 2 * _SLACK:
            found.append(value)
    return found


def _grid(lines: Sequence[Box]) -> Grid:
    box = around(lines)
    xs = _places([box.left, *(line.left for line in lines if line.width < line.height), box.right])
    ys = _places([box.top, *(line.top for line in lines if line.width > line.height), box.bottom])
    return Grid(tuple(xs), tuple(ys), tuple(lines))


def _lies_on(border: Box, line: Box) -> bool:
    slack = 2 * _SLACK
    across = line.left - slack <= border.left and border.right <= line.right + slack
    down = line.top - slack <= border.top and border.bottom <= line.bottom + slack
    return across and down and (border.width > border.height) == (line.width > line.height)
