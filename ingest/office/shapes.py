"""What stands on a slide, shape by shape, in the order of reading: texts, tables, charts, diagrams, pictures.

Works on python-pptx slides and adds what that library has no interface for: formulas, alternative content, positions
inside groups. The texts themselves are read later, all at once (`ingest.office.partition`).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING

from ingest.office.charts import chart_text, extended_chart_text
from ingest.office.graphics import diagram_text, parse, table_text
from ingest.office.placement import Placed, in_reading_order
from ingest.office.slide_xml import (
    DIAGRAM_URI,
    EXTENDED_CHART_URI,
    FORMULA_FONT,
    unwrap_alternatives,
    write_out_formulas,
)
from ingest.pages.layout import Box
from kb.text import canonical
from kb.types import Role

if TYPE_CHECKING:
    from lxml.etree import _Element
    from pptx.shapes.base import BaseShape
    from pptx.slide import Slide
    from pptx.table import _Cell
    from pptx.text.text import _Paragraph

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MONOSPACE = re.compile(r"mono|courier|consol|menlo|code|typewriter|terminal|fixedsys|hack", re.IGNORECASE)
_FILE_NAME = re.compile(r"\S+\.\w{3,4}$|.*[\\/].*\.\w{3,4}$")
_MACHINE_MADE = re.compile(r"automatically generated|AI-generated content|描述已自动生成|AI 生成的内容")
_TITLE_CHARACTERS = 100  # a longer text is no title, however large
_DIVIDER_PARAGRAPHS = 2  # a slide with no more has only a title
_PLAIN_SIZE = 18.0  # points


@dataclass(frozen=True)
class Piece:
    """A part of a slide: `text` as it is, or a `shape` (`p:sp`) whose paragraphs are still to be read."""

    role: Role
    text: str = ""
    shape: _Element | None = None
    alternative: bool = False  # said by the alternative text of a graphic
    confidence: float | None = None  # 0 to 1, of text that was read from pixels
    repeats: bool = False  # stands on many slides, as footers do


@dataclass(frozen=True)
class Unread:
    """A graphic without readable text; `share` of the slide's area, or the whole of it where that does not matter."""

    what: str
    reason: str
    share: float = 1.0
    part: str = ""  # of a picture: its file in the package
    crop: tuple[float, float, float, float] = (0, 0, 0, 0)  # shares cut off at its left, top, right and bottom
    box: Box | None = None  # of a picture: where it stands, in shares of the slide
    described: bool = False  # its alternative text says what it shows


def pieces(slide: Slide, width: int, height: int) -> list[Piece | Unread]:
    """Everything on the slide that carries meaning, the title first.

    Args:
        slide: a python-pptx slide; its tree is changed in place.
        width, height: of the slide, in EMU.
    """
    unwrap_alternatives(slide.element)
    write_out_formulas(slide.element)
    ordered = in_reading_order(slide.shapes, width, height)
    said = {canonical(each.shape.text_frame.text).strip() for each in ordered if each.shape.has_text_frame}
    title, count = _title(slide, ordered, height)
    found: list[Piece | Unread] = []
    if title is not None:
        found.append(Piece(Role.TITLE, shape=_cut(title.element, 0, count)))
        title.element.find(f"{_P}txBody")[:] = _cut(title.element, count).find(f"{_P}txBody")[:]
    for each in ordered:
        try:
            found += _read(each, slide)
        except Exception as error:  # noqa: BLE001 - python-pptx raises anything on a broken part, and it costs that part
            found.append(Unread("shape", f"{each.shape.name!r} cannot be read ({error!r})"))
    return [piece for piece in found if not (isinstance(piece, Piece) and piece.alternative and piece.text in said)]


def _title(slide: Slide, ordered: list[Placed], height: int) -> tuple[BaseShape | None, int]:
    """The shape that holds the title, and how many of its paragraphs are the title; (None, 0) where there is none.

    It is the title placeholder; without one, the short text in the upper half that is set larger than most or that
    stands at the top alone.
    """
    texts = [each for each in ordered if each.shape.has_text_frame and each.shape.text_frame.text.strip()]
    declared = slide.shapes.title
    for each in texts:
        if declared is not None and each.shape.element is declared.element:
            return each.shape, len(each.shape.text_frame.paragraphs)
    paragraphs = [
        (each, count, paragraph)
        for each in texts
        for count, (paragraph, role) in enumerate(_with_roles(each.shape), start=1)
        if role is Role.BODY
    ]
    if not paragraphs:
        return None, 0
    only = sum(role is not None for each in texts for _, role in _with_roles(each.shape)) <= _DIVIDER_PARAGRAPHS
    sizes = [_size(paragraph) for _, _, paragraph in paragraphs]
    for at in (sizes.index(max(sizes)), 0):
        placed, count, paragraph = paragraphs[at]
        leads = count == next(number for each, number, _ in paragraphs if each is placed)
        alone = at == 0 and sum(each is placed for each, _, _ in paragraphs) == 1
        larger = only or sizes[at] > 1.1 * median(sizes)
        short = len(paragraph.text.strip()) <= _TITLE_CHARACTERS
        if leads and short and (larger or alone) and placed.box.top < height / 2:
            return placed.shape, count
    return None, 0


def _size(paragraph: _Paragraph) -> float:
    """The largest font size that the paragraph states, in points; that of a plain text box where it states none."""
    return max((run.font.size.pt for run in paragraph.runs if run.font.size), default=_PLAIN_SIZE)


def _read(placed: Placed, slide: Slide) -> Iterator[Piece | Unread]:
    shape = placed.shape
    properties = shape.element.find(f".//{_P}cNvPr")
    alternative = canonical(properties.get("descr", "") if properties is not None else "").strip()
    if alternative and not _FILE_NAME.match(alternative) and not _MACHINE_MADE.search(alternative):
        yield Piece(Role.BODY, alternative, alternative=True)
        alternative = "said"
    if shape.has_text_frame:
        placeholder = shape.element.find(f".//{_P}ph")
        kind = "" if placeholder is None else placeholder.get("type", "")
        if kind in ("ftr", "dt", "hdr"):
            yield Piece(Role.BODY, canonical(shape.text_frame.text.replace("\v", "\n")).strip(), repeats=True)
        elif kind != "sldNum":
            yield from _paragraphs(shape)
    elif shape.element.tag == f"{_P}graphicFrame":
        yield from _graphic(placed, slide)
        return
    if picture := _picture(placed):
        yield replace(picture, described=alternative == "said")


def _picture(placed: Placed, what: str = "picture", reason: str = "it has no alternative text") -> Unread | None:
    """The picture that a shape shows, or that an object of another program left of itself."""
    shape = placed.shape
    blip = shape.element.find(f".//{_A}blip")
    relation = None if blip is None else blip.get(f"{_R}embed")
    if relation is None and shape.element.tag != f"{_P}pic":
        return None
    try:
        part = str(shape.part.related_part(relation).partname).lstrip("/") if relation else ""
    except KeyError:  # reported where the package is repaired
        part = ""
    cut = None if blip is None else blip.find(f"../{_A}srcRect")
    crop = tuple(0.0 if cut is None else int(cut.get(side, 0)) / 100_000 for side in "ltrb")
    return Unread(what, reason, placed.share, part, (crop[0], crop[1], crop[2], crop[3]), placed.on_slide)


def _graphic(placed: Placed, slide: Slide) -> Iterator[Piece | Unread]:
    shape = placed.shape
    uri = shape.element.find(f".//{_A}graphicData").get("uri")
    if shape.has_table:
        if text := table_text([[_cell(cell) for cell in row.cells] for row in shape.table.rows]):
            yield Piece(Role.TABLE, text)
    elif shape.has_chart:
        text = chart_text(shape.chart_part._element)  # noqa: SLF001 - python-pptx has no interface for every kind
        yield Piece(Role.TABLE, text) if text else Unread("chart", "its values are not in the file")
    elif uri == EXTENDED_CHART_URI:
        relation = shape.element.find(".//{*}chart").get(f"{_R}id")
        text = extended_chart_text(parse(slide.part.related_part(relation).blob))
        yield Piece(Role.TABLE, text) if text else Unread("chart", "its values are not in the file")
    elif uri == DIAGRAM_URI:
        text = diagram_text(shape.element, slide.part)
        yield Piece(Role.BODY, text) if text else Unread("diagram", "its text is not in the file")
    else:
        reason = "objects of other programs are not read"
        yield _picture(placed, "embedded object", reason) or Unread("embedded object", reason)


def _cell(cell: _Cell) -> str:
    return "" if cell.is_spanned else canonical(cell.text.replace("\v", "\n"))


def _paragraphs(shape: BaseShape) -> Iterator[Piece]:
    """Runs of paragraphs of one role; blank ones go with those before them, so that code keeps its blank lines."""
    roles: list[Role] = []
    texts: list[str] = []
    for paragraph, role in _with_roles(shape):
        roles.append(role or (roles[-1] if roles else Role.BODY))
        texts.append(paragraph.text.replace("\v", "\n").rstrip())
    for role, group in groupby(range(len(roles)), key=roles.__getitem__):
        members = list(group)
        text = canonical("\n".join(texts[i] for i in members)).strip("\n")
        if not text.strip():
            continue
        if role is Role.BODY:
            yield Piece(role, shape=_cut(shape.element, members[0], members[-1] + 1))
        else:
            yield Piece(role, text)


def _with_roles(shape: BaseShape) -> Iterator[tuple[_Paragraph, Role | None]]:
    yield from zip(shape.text_frame.paragraphs, map(_role, shape.element.findall(f"{_P}txBody/{_A}p")), strict=True)


def _cut(shape: _Element, start: int, end: int | None = None) -> _Element:
    """A copy of the shape with some of its paragraphs."""
    part = copy.deepcopy(shape)
    body = part.find(f"{_P}txBody")
    paragraphs = body.findall(f"{_A}p")
    for paragraph in paragraphs[:start] + (paragraphs[end:] if end is not None else []):
        body.remove(paragraph)
    return part


def _role(paragraph: _Element) -> Role | None:
    """Code where all is set in a monospaced font, mathematics where all is formula; None for a blank paragraph."""
    runs = [run for run in paragraph.iter(f"{_A}r", f"{_A}fld") if (run.findtext(f"{_A}t") or "").strip()]
    if not runs:
        return None
    level = int(paragraph.find(f"{_A}pPr").get("lvl", 0)) if paragraph.find(f"{_A}pPr") is not None else 0
    inherited = paragraph.find(f"../{_A}lstStyle/{_A}lvl{level + 1}pPr/{_A}defRPr/{_A}latin")
    fonts = []
    for run in runs:
        font = run.find(f"{_A}rPr/{_A}latin")
        font = inherited if font is None else font
        fonts.append("" if font is None else font.get("typeface", ""))
    if all(font == FORMULA_FONT for font in fonts):
        return Role.MATH
    return Role.CODE if all(_MONOSPACE.search(font) for font in fonts) else Role.BODY
