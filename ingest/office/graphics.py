"""Tables and diagrams of slides as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lxml import etree

from kb.text import canonical

if TYPE_CHECKING:
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


def diagram_text(frame: etree._Element, slide_part: Part) -> str:
    """The texts of a SmartArt graphic, a line each: from its data, else from its drawing (PITFALLS 12)."""
    relations = frame.find(f".//{_DGM}relIds")
    data = parse(slide_part.related_part(relations.get(f"{_R}dm")).blob)
    lines = diagram_lines(data)
    extension = data.find(".//{*}dataModelExt")
    if not lines and extension is not None and extension.get("relId"):
        lines = _lines(parse(slide_part.related_part(extension.get("relId")).blob))
    return canonical("\n".join(lines))


def diagram_lines(data: etree._Element) -> list[str]:
    """The texts of the data of a SmartArt graphic (`dgm:dataModel`)."""
    points = (point for point in data.iter(f"{_DGM}pt") if point.get("type", "node") not in _CONNECTING_POINTS)
    return [line for point in points for line in _lines(point)]


def _lines(element: etree._Element) -> list[str]:
    paragraphs = ("".join(text.text or "" for text in p.iter(f"{_A}t")).strip() for p in element.iter(f"{_A}p"))
    return [paragraph for paragraph in paragraphs if paragraph]


def parse(content: bytes) -> etree._Element:
    """XML of the file, without anything that it would fetch or expand."""
    return etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
