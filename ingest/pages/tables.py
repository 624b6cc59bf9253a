"""Tables on pages that only have positions: cells that stand in rows and in aligned columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from ingest.office.graphics import table_text
from ingest.pages.code_lines import rows as lines_of
from ingest.pages.layout import Box, columns_of, rows_of
from ingest.pages.lines import Line, around, confidence_of
from kb.types import Role

Group = Sequence[Line]  # the lines of one text box or cell

_NUMBER = re.compile(r"\W*(?:\d{1,3}|[a-zA-Z])[.:)）]?$|[•●▪◦–·■-]$")  # of a list; beside it stands no second column
_FIGURE = re.compile(r"\W*\d[\d.,]*\s*\S{0,4}$")  # a number and its unit
_HALF = 0.5  # of the cells of a drawn table hold text
_FULL, _FULL_SEEN = 0.7, 0.85  # of the cells of a table hold text; of one in a picture, where labels stand in rows, too
_WIDE = 0.25  # of the width of all texts: two columns of lines this long are running text
_ASKEW = 0.8  # heights of the text that a column may be out of line
_LEAST = ((3, 2), (2, 4))  # rows and columns; a smaller grid is texts side by side


def ruled_table(cells: Mapping[tuple[int, int], Group], box: Box) -> Line | None:
    """The table that is drawn around the texts; None where it shows few, or where its rules part no rows.

    Args:
        cells: lines by row and column; rows and columns without any are left out.
        box: of the rules.
    """
    rows, columns = (sorted({place[axis] for place in cells}) for axis in (0, 1))
    if min(len(rows), len(columns)) < 2 or len(cells) < _HALF * len(rows) * len(columns):
        return None
    table = [[cells.get((row, column), ()) for column in columns] for row in rows]
    if any(_bundles(row) for row in table):
        return None
    return _line(table, box)


def _bundles(row: Sequence[Group]) -> bool:
    """Several rows were taken for one: numbers stand below each other, and beside them other lines do."""
    tall = [texts for cell in row if len(texts := [line.text for line in lines_of(cell)]) > 1]
    return len(tall) > 1 and any(all(_FIGURE.match(text) for text in texts) for texts in tall)


def with_tables(groups: Sequence[Group], air: float, width: float) -> list[Group]:
    """The groups, those that make up a table replaced by one line that holds it as Markdown.

    Args:
        air: share of a line's height that is empty above and below it.
        width: of all texts of the page.
    """
    found: list[Group] = [group for group in groups if group[0].role is Role.TABLE]
    groups = [group for group in groups if group[0].role is not Role.TABLE]
    boxes = [around(group).trimmed(air) for group in groups]
    for zone in _zones(groups, boxes):
        cells = [group for row in zone for group in row]
        if _is_table(zone, width, _FULL_SEEN if air else _FULL):
            table = [[_flat(cell) for cell in row] for row in _by_column(zone)]
            found.append([_line(table, around(_flat(cells)))])
        else:
            found += cells
    return found


def _zones(groups: Sequence[Group], boxes: Sequence[Box]) -> Iterator[list[list[Group]]]:
    """Rows that follow each other and share their columns."""
    zone: list[list[int]] = []
    columns = 0
    for row in rows_of(boxes, range(len(boxes))):
        wider = len(columns_of(boxes, [i for r in (*zone, row) for i in r]))
        if zone and (min(len(row), len(zone[0])) < 2 or wider < max(columns, 2)):
            yield [[groups[i] for i in r] for r in zone]
            zone, wider = [], len(columns_of(boxes, row))
        zone, columns = [*zone, row], wider
    if zone:
        yield [[groups[i] for i in r] for r in zone]


def _is_table(rows: list[list[Group]], width: float, full: float) -> bool:
    cells = [group for row in rows for group in row]
    boxes = [around(group) for group in cells]
    columns = columns_of(boxes, range(len(boxes)))
    if not any(len(rows) >= least_rows and len(columns) >= least for least_rows, least in _LEAST):
        return False
    if len(columns) == 2 and all(_NUMBER.match(cells[i][0].text) for i in columns[0]):
        return False
    if len(columns) == 2 and all(median(boxes[i].width for i in column) > _WIDE * width for column in columns):
        return False
    if len(cells) < full * len(rows) * len(columns) or any(len(row) < 2 for row in rows):
        return False
    held = _by_column(rows)
    if any(_bundles([_flat(cell) for cell in row]) or sum(map(_stacked, row)) > 1 for row in held):
        return False
    if all(_FIGURE.match(line.text) for row in rows[:2] for cell in row for line in cell):
        return False  # the labels of a chart
    slack = _ASKEW * median(line.size for cell in cells for line in cell)
    return all(_aligned([boxes[i] for i in column], slack) for column in columns)


def _aligned(column: list[Box], slack: float) -> bool:
    """Flush left, flush right or centred, the cell that differs most left aside, as a header may."""
    for x in (0.0, 0.5, 1.0):
        places = [box.left + x * box.width for box in column]
        middle = median(places)
        off = sorted(abs(place - middle) for place in places)
        if off[max(0, len(off) - 2)] <= slack:
            return True
    return False


def _by_column(rows: list[list[Group]]) -> list[list[list[Group]]]:
    """The groups of each cell."""
    cells = [group for row in rows for group in row]
    columns = columns_of([around(group) for group in cells], range(len(cells)))
    place = {id(cells[i]): number for number, column in enumerate(columns) for i in column}
    table: list[list[list[Group]]] = []
    for row in rows:
        table.append([[] for _ in columns])
        for group in row:
            table[-1][place[id(group)]].append(group)
    return table


def _stacked(cell: list[Group]) -> bool:
    """Texts stand below each other in it that are no lines of one text."""
    boxes = [around(group) for group in cell]
    return any(not box.shares_line_with(boxes[0]) for box in boxes)


def _flat(cell: Sequence[Group]) -> list[Line]:
    return [line for group in cell for line in group]


def _line(table: Sequence[Sequence[Group]], box: Box) -> Line:
    text = table_text([[" ".join(line.text for line in lines_of(cell)) for cell in row] for row in table])
    lines = [line for row in table for cell in row for line in cell]
    return Line(text, box, median(line.size for line in lines), Role.TABLE, confidence_of(lines))
