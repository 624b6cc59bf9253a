"""A slide in the style of the sample deck, drawn with python-pptx."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pptx.chart.data import CategoryChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE, XL_LABEL_POSITION, XL_LEGEND_POSITION
from pptx.enum.shapes import MSO_CONNECTOR, MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.util import Inches, Pt

INK, MUTED, PAPER, LINE = (RGBColor.from_string(code) for code in ("16232B", "5C6B73", "FBFAF7", "D9DEDC"))
TEAL, TINT, AMBER, SAND = (RGBColor.from_string(code) for code in ("0B6E6E", "DCEDEA", "C4611A", "F7E6D6"))
FONT, MONO = "Noto Sans CJK SC", "DejaVu Sans Mono"


class Slide:
    """A slide under a title in both languages; places and sizes are inches from the top left corner."""

    def __init__(self, deck: Any, title: str, english: str, notes: str) -> None:  # noqa: ANN401 - untyped library
        self._slide = deck.slides.add_slide(deck.slide_layouts[5])
        self._shapes = self._slide.shapes
        self._slide.background.fill.solid()
        self._slide.background.fill.fore_color.rgb = PAPER
        heading = self._shapes.title
        heading.left, heading.top, heading.width, heading.height = Inches(0.75), Inches(0.5), Inches(11.8), Inches(0.8)
        self._write(heading, title, size=32, bold=True)
        self.text(0.75, 1.22, 11.8, english, size=16, color=MUTED)
        self._slide.notes_slide.notes_text_frame.text = notes

    def _write(
        self,
        shape: Any,  # noqa: ANN401
        text: str,
        *,
        size: int,
        bold: bool = False,
        color: RGBColor = INK,
        font: str = FONT,
        align: PP_ALIGN = PP_ALIGN.LEFT,
    ) -> None:
        frame = shape.text_frame
        frame.word_wrap, frame.vertical_anchor = True, MSO_ANCHOR.MIDDLE
        frame.margin_left = frame.margin_right = Inches(0.08)
        frame.margin_top = frame.margin_bottom = Inches(0.03)
        frame.text = text
        for paragraph in frame.paragraphs:
            paragraph.alignment, paragraph.line_spacing = align, 1.15
            for run in paragraph.runs:
                run.font.size, run.font.bold, run.font.name = Pt(size), bold, font
                run.font.color.rgb = color
                east_asian = run.font._rPr.makeelement(  # noqa: SLF001 - python-pptx has no name for it
                    "{http://schemas.openxmlformats.org/drawingml/2006/main}ea", {"typeface": FONT}
                )
                run.font._rPr.append(east_asian)  # noqa: SLF001

    def text(self, left: float, top: float, width: float, text: str, *, size: int = 18, **style: Any) -> None:  # noqa: ANN401
        height = 0.42 * size / 18 * (text.count("\n") + 1)
        box = self._shapes.add_textbox(Inches(left), Inches(top), Inches(width), Inches(height))
        self._write(box, text, size=size, **style)

    def box(
        self,
        left: float,
        top: float,
        width: float,
        height: float,
        text: str,
        *,
        fill: RGBColor = TINT,
        size: int = 16,
        **style: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        shape = self._shapes.add_shape(MSO_SHAPE.RECTANGLE, Inches(left), Inches(top), Inches(width), Inches(height))
        shape.shadow.inherit = False
        shape.fill.solid()
        shape.fill.fore_color.rgb = fill
        shape.line.color.rgb = LINE if fill == PAPER else fill
        self._write(shape, text, size=size, **({"align": PP_ALIGN.CENTER} | style))
        return shape

    def arrow(self, x1: float, y1: float, x2: float, y2: float, color: RGBColor = MUTED) -> None:
        line = self._shapes.add_connector(MSO_CONNECTOR.STRAIGHT, Inches(x1), Inches(y1), Inches(x2), Inches(y2))
        line.line.color.rgb, line.line.width = color, Pt(1.75)
        tail = line.line._get_or_add_ln()  # noqa: SLF001 - python-pptx draws no arrow heads
        tail.append(
            tail.makeelement("{http://schemas.openxmlformats.org/drawingml/2006/main}tailEnd", {"type": "triangle"})
        )

    def table(
        self, left: float, top: float, widths: Sequence[float], rows: Sequence[Sequence[str]], *, size: int = 18
    ) -> None:
        """The first row is the header, the first column is set left, the rest right."""
        height = Inches(0.54 * len(rows))
        frame = self._shapes.add_table(len(rows), len(widths), Inches(left), Inches(top), Inches(sum(widths)), height)
        for column, width in zip(frame.table.columns, widths, strict=True):
            column.width = Inches(width)
        for y, row in enumerate(rows):
            for x, text in enumerate(row):
                cell = frame.table.cell(y, x)
                cell.fill.solid()
                cell.fill.fore_color.rgb = TEAL if y == 0 else (PAPER if y % 2 else TINT)
                self._write(
                    cell,
                    text,
                    size=size,
                    bold=y == 0,
                    color=PAPER if y == 0 else INK,
                    align=PP_ALIGN.RIGHT if x else PP_ALIGN.LEFT,
                )
                cell.vertical_anchor = MSO_ANCHOR.MIDDLE

    def chart(
        self, left: float, top: float, width: float, height: float, title: str, bars: Sequence[str],
        series: Sequence[tuple[str, Sequence[float], RGBColor]], number: str,
    ) -> None:  # fmt: skip
        data = CategoryChartData()
        data.categories = bars
        for name, values, _ in series:
            data.add_series(name, values)
        place = (Inches(left), Inches(top), Inches(width), Inches(height))
        chart = self._shapes.add_chart(XL_CHART_TYPE.COLUMN_STACKED, *place, data).chart
        chart.has_title, chart.has_legend = True, True
        chart.chart_title.text_frame.text = title
        chart.chart_title.text_frame.paragraphs[0].runs[0].font.size = Pt(16)
        chart.legend.position, chart.legend.include_in_layout = XL_LEGEND_POSITION.BOTTOM, False
        chart.font.size, chart.font.name = Pt(13), FONT
        chart.value_axis.visible = chart.value_axis.has_major_gridlines = False
        chart.plots[0].gap_width, chart.plots[0].overlap = 45, 100
        for plotted, (_, _, color) in zip(chart.plots[0].series, series, strict=True):
            plotted.format.fill.solid()
            plotted.format.fill.fore_color.rgb = color
            labels = plotted.data_labels
            labels.show_value, labels.number_format, labels.number_format_is_linked = True, number, False
            labels.position = XL_LABEL_POSITION.CENTER
            labels.font.size, labels.font.color.rgb = Pt(13), (INK if color in (SAND, TINT) else PAPER)

    def hide(self) -> None:
        self._slide._element.set("show", "0")  # noqa: SLF001 - python-pptx cannot hide
