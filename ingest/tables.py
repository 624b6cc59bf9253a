"""Tables on pages that only have positions: cells that stand in rows and in aligned columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from statistics import median

from ingest.code_lines import rows as lines_of
from ingest.graphics import table_text
from ingest.layout import Box, columns_of, rows_of
from ingest.lines import Line, around, confidence_of
from kb.types import Role

Group = Sequence[Line]  # the lines of one text box or cell

_NUMBER = re.compile(r"\W*(?:\d{1,3}|[a-zA-Z])[.:)）]?$|[•●▪◦–·■-]$")  # of a list; beside it stands no second column
_FULL = 0.7  # of the cells of a table hold text
_WIDE = 0.25  # of the width of all texts: two columns of lines this long are running text
_ASKEW = 0.8  # heights of the text that a column may be out of line
_LEAST = ((3, 2), (2, 4))  # rows and columns; a smaller grid is texts side by side


def with_tables(groups: Sequence[Group], air: float = 0.0) -> list[Group]:
    """The groups, those that make up a table replaced by one line that holds it as Markdown.

    Args:
        air: share of a line's height that is empty above and below it.
    """
    found: list[Group] = []
    boxes = [around(group).trimmed(air) for group in groups]
    width = max((box.right for box in boxes), default=0.0) - min((box.left for box in boxes), default=0.0)
    for zone in _zones(groups, boxes):
        cells = [group for row in zone for group in row]
        if _is_table(zone, width):
            lines = [line for cell in cells for line in cell]
            size = median(line.size for line in lines)
            found.append([Line(_markdown(zone), around(lines), size, Role.TABLE, confidence_of(lines))])
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


def _is_table(rows: list[list[Group]], width: float) -> bool:
    cells = [group for row in rows for group in row]
    boxes = [around(group) for group in cells]
    columns = columns_of(boxes, range(len(boxes)))
    if not any(len(rows) >= least_rows and len(columns) >= least for least_rows, least in _LEAST):
        return False
    if len(columns) == 2 and all(_NUMBER.match(cells[i][0].text) for i in columns[0]):
        return False
    if len(columns) == 2 and all(median(boxes[i].width for i in column) > _WIDE * width for column in columns):
        return False
    if len(cells) < _FULL * len(rows) * len(columns) or any(len(row) < 2 for row in rows):
        return False
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


def _markdown(rows: list[list[Group]]) -> str:
    cells = [group for row in rows for group in row]
    columns = columns_of([around(group) for group in cells], range(len(cells)))
    place = {id(cells[i]): number for number, column in enumerate(columns) for i in column}
    table: list[list[str]] = []
    for row in rows:
        held: list[list[Line]] = [[] for _ in columns]
        for group in row:
            held[place[id(group)]] += group
        table.append([" ".join(line.text for line in lines_of(cell)) for cell in held])
    return table_text(table)
