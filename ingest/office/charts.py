"""Charts as text, from the values that their XML keeps: those of every kind, also of kinds that python-pptx lacks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from ingest.office.graphics import table_text
from kb.text import canonical

if TYPE_CHECKING:
    from lxml.etree import _Element

_MOST_POINTS = 5000  # of a series; the rest of a longer one is left out


def chart_text(space: _Element) -> str:
    """The titles of a chart (`c:chartSpace`) and its axes, and a Markdown table of the series of each plot."""
    titles = [_rich(title) for title in space.iterfind("{*}chart/{*}title")]
    titles += [_rich(title) for title in space.iterfind("{*}chart/{*}plotArea/*/{*}title")]
    plots = [plot for plot in space.iterfind("{*}chart/{*}plotArea/*") if plot.find("{*}ser") is not None]
    tables = [_plot(plot.findall("{*}ser")) for plot in plots]
    labels = [_rich(label) for label in space.iterfind(".//{*}dLbl/{*}tx")]
    parts = ["\n".join(filter(None, titles)), *tables, "\n".join(filter(None, labels))]
    return canonical("\n\n".join(part for part in parts if part))


def extended_chart_text(space: _Element) -> str:
    """The same of a `cx:chartSpace`: waterfalls, funnels, treemaps, box plots, histograms."""
    titles = [_rich(title) for title in space.iterfind(".//{*}title")]
    columns = []
    for dimension in space.iterfind(".//{*}data/*"):
        levels = [_extended_level(level) for level in dimension.iterfind("{*}lvl")]
        columns.append([" / ".join(filter(None, parts)) for parts in zip_longest(*reversed(levels), fillvalue="")])
    names = [_rich(name) for name in space.iterfind(".//{*}series/{*}tx")]
    rows = list(zip_longest(*columns, fillvalue=""))
    header = ([""] * len(columns) + names)[-len(columns) :] if columns else []
    return canonical("\n\n".join(filter(None, ["\n".join(filter(None, titles)), table_text([header, *rows])])))


def _plot(series: list[_Element]) -> str:
    """A column for each series, for bubbles two: their place and their size."""
    header, columns = [""], []
    categories: dict[int, str] = {}
    for one in series:
        categories = categories or _points(one.find("{*}cat")) or _points(one.find("{*}xVal"))
        for kind, values in ((kind, one.find(f"{{*}}{kind}")) for kind in ("val", "yVal", "bubbleSize")):
            if values is not None:
                columns.append(_points(values))
                header.append(f"{_first(one.find('{*}tx'))}{' (size)' if kind == 'bubbleSize' else ''}")
    last = max((number for column in (categories, *columns) for number in column), default=-1)
    numbers = range(min(last + 1, _MOST_POINTS))
    rows = [[categories.get(n, ""), *(column.get(n, "") for column in columns)] for n in numbers]
    return table_text([header, *rows]) if rows else ""


def _points(values: _Element | None) -> dict[int, str]:
    """The cached points by their number; the levels of a category from the outermost, with ` / ` between."""
    if values is None:
        return {}
    levels = values.findall(".//{*}lvl")
    if not levels:
        return _numbered(values)
    innermost, *outer = map(_numbered, levels)
    held = [list(_held(level)) for level in reversed(outer)]
    return {n: " / ".join([level[n] for level in held] + [text]) for n, text in innermost.items()}


def _numbered(values: _Element) -> dict[int, str]:
    found = {int(point.get("idx", 0)): _number(point.findtext("{*}v", "")) for point in values.iter("{*}pt")}
    return {number: text for number, text in found.items() if number < _MOST_POINTS}


def _held(level: dict[int, str]) -> Iterator[str]:
    """What each point belongs to: an outer category is told once, for the points that follow it."""
    current = ""
    for number in range(_MOST_POINTS):
        current = level.get(number, current)
        yield current


def _extended_level(level: _Element) -> list[str]:
    points = {int(point.get("idx", 0)): _number(point.text or "") for point in level.iter("{*}pt")}
    return [points.get(number, "") for number in range(min(max(points, default=-1), _MOST_POINTS) + 1)]


def _first(element: _Element | None) -> str:
    return "" if element is None else " ".join(filter(None, (v.text for v in element.iter("{*}v"))))


def _rich(element: _Element) -> str:
    """The words of a title or a label, a line for each paragraph."""
    paragraphs = ["".join(text.text or "" for text in p.iter("{*}t")).strip() for p in element.iter("{*}p")]
    return "\n".join(filter(None, paragraphs)) or _first(element)


def _number(text: str) -> str:
    """A number without the noise of binary fractions: `2400.5`, `1200`."""
    try:
        value = float(text)
    except ValueError:
        return text
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.12g}"
