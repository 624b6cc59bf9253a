"""The XML of a Word document, made plain for unstructured: what that library skips becomes paragraphs of text.

Listings, formulas, pictures and charts, which are more than text, are replaced by a token in a paragraph of its own.
"""

from __future__ import annotations

import re
import uuid
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO

from lxml import etree

from ingest.office.archive import DOCUMENT
from ingest.office.charts import chart_text
from ingest.office.formula import linear
from ingest.office.graphics import diagram_lines, parse
from ingest.office.package import relation_targets
from kb.errors import UnreadableSource
from kb.types import Role

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_TRANSPARENT = ("sdt", "ins", "moveTo", "smartTag", "customXml", "fldSimple")  # their content is seen, they are not
_CODE_FONT = re.compile(r"mono|courier|consol|menlo|code|typewriter|terminal", re.IGNORECASE)
_CODE_STYLE = re.compile(r"code|preformatted|listing|代码", re.IGNORECASE)


@dataclass(frozen=True)
class Replaced:
    """What a token stands for: a text with its role, a picture's file in the package with its description, or the name
    of what cannot be read."""

    text: str = ""
    role: Role = Role.BODY
    picture: str = ""
    unread: str = ""


def plain_document(file: IO[bytes], path: Path) -> tuple[BytesIO, dict[str, Replaced]]:
    """A copy that unstructured reads whole, and what the tokens in it stand for.

    Raises:
        UnreadableSource: if it has no body.
    """
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    root = parse(parts[DOCUMENT])
    body = root.find(f"{_W}body")
    if body is None:
        raise UnreadableSource("the document has no body", where=str(path), remedy="Open it in Word and save it again")
    plain = _Plain(body, parts, relation_targets(parts, DOCUMENT))
    plain.make()
    parts[DOCUMENT] = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
    copy = BytesIO()
    with zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as target:
        for name, content in parts.items():
            target.writestr(name, content)
    copy.seek(0)
    return copy, plain.replaced


@dataclass
class _Plain:
    body: etree._Element
    parts: dict[str, bytes]
    targets: dict[str, str]  # relation → part
    replaced: dict[str, Replaced] = field(default_factory=dict)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)  # no document has it

    def make(self) -> None:
        for alternative in list(self.body.iter(f"{_MC}AlternateContent")):
            _unwrap(alternative, alternative.find(f"{_MC}Choice"))
        for name in _TRANSPARENT:
            for element in list(self.body.iter(f"{_W}{name}")):
                _unwrap(element, element.find(f"{_W}sdtContent") if name == "sdt" else element)
        for page_break in list(self.body.iter(f"{_W}lastRenderedPageBreak")):
            page_break.getparent().remove(page_break)
        self._formulas()
        self._notes("footnotes", "footnoteReference", "")
        self._notes("endnotes", "endnoteReference", "e")
        for drawing in [*self.body.iter(f"{_W}drawing"), *self.body.iter(f"{_W}pict"), *self.body.iter(f"{_W}object")]:
            self._drawing(drawing)
        self._listings()

    def _token(self, replaced: Replaced) -> str:
        token = f"{self.mark}{len(self.replaced)}"
        self.replaced[token] = replaced
        return token

    def _formulas(self) -> None:
        """A formula that fills its paragraph is mathematics, another is text in its sentence."""
        for formula in [f for f in self.body.iter(f"{_M}oMathPara", f"{_M}oMath") if f.getparent() is not None]:
            if formula.getparent().tag == f"{_M}oMathPara":
                continue
            paragraph = next(formula.iterancestors(f"{_W}p"), None)
            text = linear(formula)
            alone = paragraph is not None and not _words(paragraph).strip() and len(list(_formulas_of(paragraph))) == 1
            run = _run(self._token(Replaced(text, Role.MATH)) if alone else text)
            formula.getparent().replace(formula, run)

    def _notes(self, part: str, reference: str, prefix: str) -> None:
        """Footnotes and endnotes at the end of the document, by their number."""
        notes = self.parts.get(f"word/{part}.xml")
        if notes is None:
            return
        texts = {note.get(f"{_W}id"): _words(note).strip() for note in parse(notes)}
        for number, mark in enumerate(list(self.body.iter(f"{_W}{reference}")), start=1):
            label = f"[{prefix}{number}]"
            mark.getparent().replace(mark, _text(label))
            if text := texts.get(mark.get(f"{_W}id")):
                self._append(_paragraph(f"{label} {text}"))

    def _append(self, paragraph: etree._Element) -> None:
        last = self.body.find(f"{_W}sectPr")
        self.body.append(paragraph) if last is None else last.addprevious(paragraph)

    def _drawing(self, drawing: etree._Element) -> None:
        """What is in a drawing, as paragraphs after the paragraph or the table that it is anchored in."""
        place = next(iter([*drawing.iterancestors(f"{_W}tbl")][-1:] or drawing.iterancestors(f"{_W}p")), None)
        if place is None:
            return
        added = [p for content in drawing.iter(f"{_W}txbxContent") for p in content]
        added += [_paragraph(self._token(one)) for one in self._graphics(drawing)]
        drawing.getparent().remove(drawing)
        for paragraph in reversed(added):
            place.addnext(paragraph)

    def _graphics(self, drawing: etree._Element) -> Iterator[Replaced]:
        described = next((p.get("descr", "") for p in drawing.iter("{*}docPr")), "")
        for blip in drawing.iter(f"{_A}blip", "{urn:schemas-microsoft-com:vml}imagedata"):
            part = self.targets.get(blip.get(f"{_R}embed") or blip.get(f"{_R}id") or "", "")
            yield Replaced(described, picture=part or "missing")
        for chart in drawing.iter("{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"):
            if content := self.parts.get(self.targets.get(chart.get(f"{_R}id", ""), "")):
                yield _chart(content)
        for diagram in drawing.iter("{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"):
            if content := self.parts.get(self.targets.get(diagram.get(f"{_R}dm", ""), "")):
                yield Replaced("\n".join(diagram_lines(parse(content))))

    def _listings(self) -> None:
        """Paragraphs of code that follow each other are one listing."""
        listing: list[etree._Element] = []
        for paragraph in [*self.body.iter(f"{_W}p"), None]:
            follows = bool(listing) and paragraph is not None and paragraph.getprevious() is listing[-1]
            blank = paragraph is not None and not _words(paragraph).strip()
            if paragraph is not None and (_is_code(paragraph) or (follows and blank)) and (follows or not listing):
                listing.append(paragraph)
                continue
            self._listing(listing)
            listing = [paragraph] if paragraph is not None and _is_code(paragraph) else []

    def _listing(self, listing: list[etree._Element]) -> None:
        if not listing or next(listing[0].iterancestors(f"{_W}tc"), None) is not None:
            return
        text = "\n".join(map(_words, listing)).rstrip()
        listing[0].addprevious(_paragraph(self._token(Replaced(text, Role.CODE))))
        for paragraph in listing:
            paragraph.getparent().remove(paragraph)


def _chart(content: bytes) -> Replaced:
    try:
        return Replaced(chart_text(parse(content)), Role.TABLE)
    except (ValueError, etree.XMLSyntaxError):  # a point without a number, or no XML
        return Replaced(unread="chart")


def _unwrap(element: etree._Element, content: etree._Element | None) -> None:
    for child in [] if content is None else list(content):
        element.addprevious(child)
    element.getparent().remove(element)


def _formulas_of(paragraph: etree._Element) -> Iterator[etree._Element]:
    return (f for f in paragraph.iter(f"{_M}oMath") if next(f.iterancestors(f"{_M}oMath"), None) is None)


def _words(element: etree._Element) -> str:
    """The text of a paragraph or of several, without that of formulas and of boxes anchored in it."""
    signs = {"tab": "    ", "br": "\n", "cr": "\n"}
    parts: list[str] = []
    for each in element.iter(f"{_W}t", f"{_W}tab", f"{_W}br", f"{_W}cr", f"{_W}p"):
        name = etree.QName(each).localname
        if name == "p":
            parts.append("\n" if parts else "")
        elif each.getparent().tag == f"{_W}r":
            parts.append(signs.get(name) or each.text or "")
    return "".join(parts)


def _is_code(paragraph: etree._Element) -> bool:
    """All its runs are set in a font of fixed width, or its style says so."""
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    if style is not None and _CODE_STYLE.search(style.get(f"{_W}val", "")):
        return True
    runs = [run for run in paragraph.iter(f"{_W}r") if (run.findtext(f"{_W}t") or "").strip()]
    fonts = [run.find(f"{_W}rPr/{_W}rFonts") for run in runs]
    return bool(runs) and all(font is not None and _CODE_FONT.search(font.get(f"{_W}ascii", "")) for font in fonts)


def _text(words: str) -> etree._Element:
    text = etree.Element(f"{_W}t")
    text.text = words
    text.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    return text


def _run(words: str) -> etree._Element:
    run = etree.Element(f"{_W}r")
    run.append(_text(words))
    return run


def _paragraph(words: str) -> etree._Element:
    paragraph = etree.Element(f"{_W}p")
    paragraph.append(_run(words))
    return paragraph
