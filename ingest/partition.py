"""unstructured's `partition_pptx`, made to work without a network and told exactly what to read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from kb.errors import MissingDependency
from kb.text import canonical

if TYPE_CHECKING:
    from lxml.etree import _Element
    from spacy.language import Language
    from unstructured.documents.elements import Element

_POSITION = "{*}spPr/{*}xfrm"


def shape_texts(shapes: Sequence[_Element]) -> list[str]:
    """The text of each `p:sp`: a line for each paragraph, list levels as indents of two blanks.

    The shapes go into a plain deck, one a slide, so that the page number of an element names its shape. It has nothing
    else in it: no broken part, no hidden position and no relation can get in the way.

    Raises:
        MissingDependency: if the installed unstructured cannot be kept from downloading a model.
    """
    if not shapes:
        return []
    lines: list[list[str]] = [[] for _ in shapes]
    for element in _partitioner()(file=_plain_deck(shapes), languages=[""], include_page_breaks=False):
        level = element.metadata.category_depth or 0
        if element.category == "Title":  # counts titles from their shape's title, not from the margin
            level = max(0, level - 1)
        text = "  " * level + canonical(element.text).strip("\n").rstrip()
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


def _partitioner() -> Callable[..., list[Element]]:
    os.environ["DO_NOT_TRACK"] = "1"
    os.environ["UNSTRUCTURED_DISABLE_NOTICE"] = "1"
    from unstructured.nlp import tokenize
    from unstructured.partition.pptx import partition_pptx

    if not hasattr(tokenize, "_load_spacy_model"):
        what = "this version of unstructured would download a language model"
        raise MissingDependency(what, remedy="Install the version that constraints.txt names")
    tokenize._load_spacy_model = _blank_pipeline  # noqa: SLF001 - there is no public way
    reader: Callable[..., list[Element]] = partition_pptx
    return reader


def _blank_pipeline() -> Language:
    """Splits sentences by their stops; unstructured only asks whether a text has any."""
    import spacy

    pipeline = spacy.blank("xx")
    pipeline.add_pipe("sentencizer", config={"punct_chars": [".", "!", "?", "。", "！", "？"]})
    return pipeline
