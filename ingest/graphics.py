"""Tables, charts and diagrams of slides as text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from lxml import etree

from kb.text import canonical

if TYPE_CHECKING:
    from pptx.chart.axis import AxisTitle
    from pptx.chart.chart import Chart, ChartTitle
    from pptx.chart.series import _BaseSeries
    from pptx.opc.package import Part

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_CONNECTING_POINTS = ("pres", "parTrans", "sibTrans")


def table_text(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose first row is the header; empty for a table without text."""
    if not any(cell.strip() for row in rows for cell in row):
        return ""
    cells = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    lines.insert(1, "|" + " --- |" * len(cells[0]))
    return "\n".join(lines)


def chart_text(chart: Chart) -> str:
    """The chart's title, the titles of its axes, and a Markdown table of its series.

    Raises:
        ValueError: for a kind of chart that python-pptx does not know.
    """
    titles = [canonical(title.text_frame.text).strip() for title in _titles(chart) if title.has_text_frame]
    tables = []
    for plot in chart.plots:
        series = list(plot.series)
        categories = [str(category) for category in plot.categories] or _x_values(series)
        header = ["", *(one.name for one in series)]
        rows = zip_longest(categories, *(map(_number, one.values) for one in series), fillvalue="")
        tables.append(table_text([header, *rows]))
    return canonical("\n\n".join(part for part in ["\n".join(titles), *tables] if part))


def _titles(chart: Chart) -> list[ChartTitle | AxisTitle]:
    titles = [chart.chart_title] if chart.has_title else []
    for name in ("category_axis", "value_axis"):
        try:
            axis = getattr(chart, name)
        except ValueError:  # a pie has none
            continue
        if axis.has_title:
            titles.append(axis.axis_title)
    return titles


def _x_values(series: Sequence[_BaseSeries]) -> list[str]:
    """Of a scatter chart: the x of each point of its first series."""
    points = series[0]._element.iterfind(".//{*}xVal//{*}pt/{*}v") if series else ()  # noqa: SLF001 - no interface
    return [point.text or "" for point in points]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if float(value).is_integer() else repr(value)


def diagram_text(frame: etree._Element, slide_part: Part) -> str:
    """The texts of a SmartArt graphic, a line each: from its data, else from its drawing (PITFALLS 12)."""
    relations = frame.find(f".//{_DGM}relIds")
    data = etree.fromstring(slide_part.related_part(relations.get(f"{_R}dm")).blob, _parser())
    points = (point for point in data.iter(f"{_DGM}pt") if point.get("type", "node") not in _CONNECTING_POINTS)
    lines = [line for point in points for line in _lines(point)]
    extension = data.find(".//{*}dataModelExt")
    if not lines and extension is not None and extension.get("relId"):
        lines = _lines(etree.fromstring(slide_part.related_part(extension.get("relId")).blob, _parser()))
    return canonical("\n".join(lines))


def _lines(element: etree._Element) -> list[str]:
    paragraphs = ("".join(text.text or "" for text in p.iter(f"{_A}t")).strip() for p in element.iter(f"{_A}p"))
    return [paragraph for paragraph in paragraphs if paragraph]


def _parser() -> etree.XMLParser:
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
