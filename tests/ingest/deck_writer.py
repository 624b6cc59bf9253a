"""PPTX fixtures: what python-pptx can write, and by XML what it cannot."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from lxml import etree
from PIL import Image, ImageDraw, ImageFont
from pptx import Presentation
from pptx.opc.constants import RELATIONSHIP_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.slide import Slide
from pptx.util import Inches, Pt

TITLE_ONLY, BLANK = 5, 6
_NAMESPACES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
)
ATTENTION = (
    "<m:oMath><m:r><m:t>softmax</m:t></m:r><m:d><m:e><m:f><m:num><m:sSup><m:e><m:r><m:t>QK</m:t></m:r></m:e><m:sup>"
    "<m:r><m:t>T</m:t></m:r></m:sup></m:sSup></m:num><m:den><m:rad><m:radPr/><m:deg/><m:e><m:sSub><m:e><m:r><m:t>d"
    "</m:t></m:r></m:e><m:sub><m:r><m:t>k</m:t></m:r></m:sub></m:sSub></m:e></m:rad></m:den></m:f></m:e></m:d><m:r>"
    "<m:t>V</m:t></m:r></m:oMath>"
)


def write_deck(path: Path, *builders: Callable[[Slide], None], title: str = "", layout: int = BLANK) -> Path:
    """A deck with one slide for each builder."""
    deck = Presentation()
    deck.core_properties.title = title
    for build in builders:
        build(deck.slides.add_slide(deck.slide_layouts[layout]))
    deck.save(str(path))
    return path


def say(words: str, *, left: float = 1, top: float = 2, font: str = "", size: float = 0) -> Callable[[Slide], None]:
    """A text box of 4 by 0.5 inches; each line of `words` a paragraph, its leading tabs the list level."""

    def build(slide: Slide) -> None:
        write(slide.shapes.add_textbox(Inches(left), Inches(top), Inches(4), Inches(0.5)).text_frame, words, font, size)

    return build


def write(frame: object, words: str, font: str = "", size: float = 0) -> None:
    for number, line in enumerate(words.split("\n")):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()  # type: ignore[attr-defined]
        paragraph.level = len(line) - len(line.lstrip("\t"))
        run = paragraph.add_run()
        run.text = line.lstrip("\t")
        run.font.name = font or None
        run.font.size = Pt(size) if size else None


def both(*builders: Callable[[Slide], None]) -> Callable[[Slide], None]:
    def build(slide: Slide) -> None:
        for builder in builders:
            builder(slide)

    return build


def append(slide: Slide, xml: str) -> None:
    """Put XML into the slide's tree as it is."""
    root = etree.fromstring(f"<root {_NAMESPACES}>{xml}</root>")
    for element in root:
        slide.shapes._spTree.append(element)


def formula_box(slide: Slide, before: str = "") -> None:
    """A formula as PowerPoint keeps it: in the branch for readers that know formulas, with a picture for the rest."""
    lead = f"<a:r><a:t>{before}</a:t></a:r>" if before else ""
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="90" name="F"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr><a:xfrm>'
        '<a:off x="914400" y="3000000"/><a:ext cx="3000000" cy="500000"/></a:xfrm></p:spPr><p:txBody><a:bodyPr/><a:p>'
        "{}</a:p></p:txBody></p:sp>"
    )
    known = shape.format(f"{lead}<a14:m>{ATTENTION}</a14:m>")
    fallback = shape.format("<a:r><a:t>a picture of it</a:t></a:r>")
    append(
        slide,
        f'<mc:AlternateContent><mc:Choice Requires="a14">{known}</mc:Choice><mc:Fallback>{fallback}</mc:Fallback>'
        "</mc:AlternateContent>",
    )


def diagram(slide: Slide, data: str | None) -> None:
    """A SmartArt graphic whose data part holds `data`; without it, the part is malformed."""
    content = (
        f"<dgm:dataModel {_NAMESPACES}><dgm:ptLst>{data}</dgm:ptLst></dgm:dataModel>".encode()
        if data is not None
        else b"<dgm:dataModel"
    )
    package = slide.part.package
    name = PackURI(f"/ppt/diagrams/data{slide.slide_id}.xml")
    part = Part(name, "application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml", package, content)
    relation = slide.part.relate_to(part, RELATIONSHIP_TYPE.DIAGRAM_DATA)
    append(
        slide,
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="80" name="D"/><p:cNvGraphicFramePr/><p:nvPr/>'
        '</p:nvGraphicFramePr><p:xfrm><a:off x="914400" y="3000000"/><a:ext cx="3000000" cy="900000"/></p:xfrm>'
        '<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/diagram">'
        f'<dgm:relIds r:dm="{relation}" r:lo="x" r:qs="x" r:cs="x"/></a:graphicData></a:graphic></p:graphicFrame>',
    )


def point(words: str, kind: str = "node") -> str:
    return f'<dgm:pt type="{kind}"><dgm:t><a:bodyPr/><a:p><a:r><a:t>{words}</a:t></a:r></a:p></dgm:t></dgm:pt>'


def rewrite(path: Path, change: Callable[[str, bytes], bytes | None]) -> None:
    """Change the parts of a deck, bytes for bytes; None takes a part away."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            changed = change(name, content)
            if changed is not None:
                archive.writestr(name, changed)


def link(slide: Slide, words: str, address: str) -> None:
    say(words)(slide)
    slide.shapes[-1].text_frame.paragraphs[0].runs[0].hyperlink.address = address


def hide(slide: Slide) -> None:
    slide.element.set("show", "0")


def picture_of(words: str, size: tuple[int, int] = (1000, 400), colour: str = "white") -> BytesIO:
    """A PNG on which `words` are written, a line each."""
    drawn, file = Image.new("RGB", size, colour), BytesIO()
    for number, line in enumerate(words.split("\n")):
        at = (40, 40 + 90 * number)
        ImageDraw.Draw(drawn).text(at, line, "black" if colour == "white" else "white", ImageFont.load_default(56))
    drawn.save(file, format="PNG")
    file.seek(0)
    return file
