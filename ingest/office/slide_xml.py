"""The XML of a slide, made plain for python-pptx, and what that library does not tell of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lxml import etree

from ingest.office.formula import linear
from kb.text import canonical

if TYPE_CHECKING:
    from lxml.etree import _Element
    from pptx.slide import Slide

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_FORMULA = "{http://schemas.microsoft.com/office/drawing/2010/main}m"
DIAGRAM_URI = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
EXTENDED_CHART_URI = "http://schemas.microsoft.com/office/drawing/2014/chartex"
FORMULA_FONT = "Cambria Math"  # PowerPoint sets formulas in it, and so do we when a formula becomes text


def unwrap_alternatives(root: _Element) -> None:
    """Put a branch of `mc:AlternateContent`, which python-pptx would skip, in its place.

    The first is the richer one, unless it is nothing that can be read here, such as ink or an object of another
    program: then the fallback has a picture of it.
    """
    for alternative in list(root.iter(f"{_MC}AlternateContent")):
        branch, fallback = alternative.find(f"{_MC}Choice"), alternative.find(f"{_MC}Fallback")
        if branch is None or (fallback is not None and not _is_readable(branch)):
            branch = fallback
        for child in () if branch is None else list(branch):
            alternative.addprevious(child)
        alternative.getparent().remove(alternative)


def _is_readable(branch: _Element) -> bool:
    data = branch.find(f".//{_A}graphicData")
    known = data is not None and data.get("uri") in (DIAGRAM_URI, EXTENDED_CHART_URI)
    return known or any(branch.find(f".//{_P}{kind}") is not None for kind in ("sp", "pic"))


def write_out_formulas(root: _Element) -> None:
    """Put each formula into a run of text, in the font that tells it apart."""
    for formula in list(root.iter(_FORMULA)):
        run = etree.SubElement(formula.getparent(), f"{_A}r")
        etree.SubElement(etree.SubElement(run, f"{_A}rPr"), f"{_A}latin", typeface=FORMULA_FONT)
        etree.SubElement(run, f"{_A}t").text = "".join(map(linear, formula))
        formula.getparent().replace(formula, run)


def links(slide: Slide) -> Iterator[tuple[str, str]]:
    """The words of each link, and the address that it leads to outside the deck."""
    for link in slide.element.iter(f"{_A}hlinkClick"):
        relation = slide.part.rels.get(link.get(f"{_R}id", ""))
        if relation is None or not relation.is_external:
            continue
        owner = link.getparent().getparent()  # a run, or the properties of a shape
        scope = owner if owner.tag in (f"{_A}r", f"{_A}fld") else owner.getparent()
        words = " ".join("".join(text.text or "" for text in p.iter(f"{_A}t")) for p in _paragraphs(scope))
        yield canonical(" ".join(words.split())), str(relation.target_ref)


def _paragraphs(scope: _Element) -> list[_Element]:
    return list(scope.iter(f"{_A}p")) or [scope]


def background(slide: Slide) -> str:
    """The file in the package of the picture that the slide has as its background; empty where it has none."""
    blip = slide.element.find(f"{_P}cSld/{_P}bg//{_A}blip")
    relation = slide.part.rels.get(blip.get(f"{_R}embed", "")) if blip is not None else None
    return str(relation.target_part.partname).lstrip("/") if relation and not relation.is_external else ""


def inherited_texts(slide: Slide) -> list[str]:
    """What the slide shows of its layout and its master, placeholders aside: those only say what to put there."""
    try:
        return _inherited(slide)
    except Exception:  # noqa: BLE001 - python-pptx raises anything on a broken layout; it is told with the package
        return []


def _inherited(slide: Slide) -> list[str]:
    if slide.element.get("showMasterSp", "1") in ("0", "false"):
        return []
    layout = slide.slide_layout
    above = [layout] if layout._element.get("showMasterSp", "1") in ("0", "false") else [layout.slide_master, layout]  # noqa: SLF001 - no interface
    shapes = [shape for level in above for shape in level.shapes if shape.has_text_frame and not shape.is_placeholder]
    texts = (canonical(shape.text_frame.text.replace("\v", "\n")).strip() for shape in shapes)
    return [text for text in texts if text]
