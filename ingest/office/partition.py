"""unstructured's `partition_pptx` and `partition_docx`, made to work without a network and told what to read."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from ingest.office.graphics import table_text
from kb.errors import MissingDependency
from kb.text import canonical

if TYPE_CHECKING:
    from lxml.etree import _Element
    from spacy.language import Language
    from unstructured.documents.elements import Element

_DEEPEST = 8  # level of a list; PowerPoint has no deeper ones
_WIDEST = 200  # columns that a cell may span
_POSITION = "{*}spPr/{*}xfrm"


class Part(NamedTuple):
    """A paragraph or a table of a document; `margin` for what stands in a header or a footer, `item` of a list, `flat`
    for the text of a table whose cells cannot be told."""

    text: str
    style: str
    table: bool
    margin: bool
    item: bool
    flat: bool
    links: tuple[tuple[str, str], ...]  # words and address


def shape_texts(shapes: Sequence[_Element]) -> list[str]:
    """The text of each `p:sp`: a line for each paragraph, list levels as indents of two blanks.

    The shapes go into a plain deck, one a slide, so that the page number of an element names its shape. It has nothing
    else in it: no broken part, no hidden position and no relation can get in the way.

    Raises:
        MissingDependency: if the installed unstructured cannot be kept from downloading a model.
    """
    if not shapes:
        return []
    _prepare()
    try:
        return _partitioned(shapes)
    except Exception:  # noqa: BLE001 - one shape that it cannot read shall not cost the texts of a whole deck
        return [_plain_text(shape) for shape in shapes]


def _plain_text(shape: _Element) -> str:
    paragraphs = ("".join(text.text or "" for text in p.iter("{*}t")) for p in shape.iterfind(".//{*}txBody/{*}p"))
    return canonical("\n".join(paragraphs))


def _partitioned(shapes: Sequence[_Element]) -> list[str]:
    from unstructured.partition.pptx import partition_pptx

    lines: list[list[str]] = [[] for _ in shapes]
    for element in partition_pptx(file=_plain_deck(shapes), languages=[""], include_page_breaks=False):
        level = element.metadata.category_depth or 0
        if element.category == "Title":  # counts titles from their shape's title, not from the margin
            level = max(0, level - 1)
        text = "  " * min(level, _DEEPEST) + canonical(element.text).strip("\n").rstrip()
        lines[element.metadata.page_number - 1].append(text)
    return ["\n".join(paragraphs) for paragraphs in lines]


def _plain_deck(shapes: Sequence[_Element]) -> BytesIO:
    from pptx import Presentation

    deck, file = Presentation(), BytesIO()
    blank = deck.slide_layouts.get_by_name("Blank")
    for shape in shapes:
        position = shape.find(_POSITION)
        if position is not None:  # text beyond the slide's edge would be skipped
            position.getparent().remove(position)
        deck.slides.add_slide(blank).shapes.element.append(shape)
    deck.save(file)
    file.seek(0)
    return file


def document_parts(document: IO[bytes]) -> list[Part]:
    """The headings, paragraphs, list items and tables of a DOCX file, in order.

    Raises:
        MissingDependency: if the installed unstructured cannot be kept from downloading a model.
    """
    _prepare()
    from unstructured.partition.docx import partition_docx

    with _quiet():
        return [_part(element) for element in partition_docx(file=document, languages=[""], include_page_breaks=False)]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what unstructured says on the logger of everyone; what it leaves out is told by what it gives."""
    root, silent = logging.getLogger(), logging.NullHandler()

    def passes(record: logging.LogRecord) -> bool:
        return "unstructured" not in Path(record.pathname).parts

    root.addFilter(passes)
    root.addHandler(silent)  # without any, the first warning sets up one that stays
    try:
        yield
    finally:
        root.removeHandler(silent)
        root.removeFilter(passes)


def _part(element: Element) -> Part:
    metadata, margin = element.metadata, element.category in ("Header", "Footer")
    if element.category == "Table":
        table = _table(metadata.text_as_html or "")
        text = table or canonical(element.text)
        return Part(text, "", table=bool(table), margin=False, item=False, flat=bool(text and not table), links=())
    item = element.category == "ListItem"
    indent = "  " * (metadata.category_depth or 0) if item else ""
    links = tuple((link["text"] or "", link["url"]) for link in metadata.links or ())
    text, style = indent + canonical(element.text), metadata.style_name or ""
    return Part(text, style, table=False, margin=margin, item=item, flat=False, links=links)


def _table(html: str) -> str:
    """The table as Markdown; a cell that spans others stands in the first of them."""
    if not html:
        return ""
    from lxml import html as parser

    rows: list[list[str]] = []
    for row in parser.fragment_fromstring(html).iterchildren("tr", "thead", "tbody"):
        for line in [row] if row.tag == "tr" else row.iterchildren("tr"):
            cells: list[str] = []
            for cell in line.iterchildren("td", "th"):
                words = canonical(" ".join(" ".join(cell.itertext()).split()))
                cells += [words, *[""] * (min(int(cell.get("colspan", 1)), _WIDEST) - 1)]
            rows.append(cells)
    width = max(map(len, rows), default=0)
    return table_text([row + [""] * (width - len(row)) for row in rows])


def _prepare() -> None:
    """
    Raises:
        MissingDependency: if the installed unstructured cannot be kept from downloading a model.
    """
    os.environ["DO_NOT_TRACK"] = "1"
    os.environ["UNSTRUCTURED_DISABLE_NOTICE"] = "1"
    from unstructured.nlp import tokenize

    if not hasattr(tokenize, "_load_spacy_model"):
        what = "this version of unstructured would download a language model"
        raise MissingDependency(what, remedy="Install the version that constraints.txt names")
    tokenize._load_spacy_model = _blank_pipeline  # noqa: SLF001 - there is no public way


def _blank_pipeline() -> Language:
    """Splits sentences by their stops; unstructured only asks whether a text has any."""
    import spacy

    pipeline = spacy.blank("xx")
    pipeline.add_pipe("sentencizer", config={"punct_chars": [".", "!", "?", "。", "！", "？"]})
    return pipeline
