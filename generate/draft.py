"""Third stage: what each section shows. Without a model, that is quotes and figures, in the order of the talk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from generate.ledger import Ledger
from generate.question import content_terms
from generate.quotes import Quote, Slide
from kb.glossary import load_glossary
from kb.text import HAN, folded
from kb.types import Frozen, Lang, Outline, Role, Section

_MOST_SPOKEN = 6  # quotes of speech under one slide, or in a section without slides
_MOST_WRITTEN = 10  # quotes of a slide, or of the notes in a section
_NUMBER = re.compile(r"\d")


class Figure(Frozen):
    source_id: str
    page: int
    title: str
    twins: tuple[str, ...] = ()


class Part(Frozen):
    """A slide with what it says and what was said to it; or quotes that belong to no slide. Evidence ids."""

    figure: Figure | None
    quotes: tuple[str, ...]


class Written(Frozen):
    title: str
    question: str
    parts: tuple[Part, ...]
    gaps: tuple[str, ...]
    left_out: tuple[str, ...]  # fact ids


class Draft(Frozen):
    title: str
    kicker: str
    abstract: str
    sections: tuple[Written, ...]


def write(ledger: Ledger, outline: Outline, lang: Lang) -> Draft:
    """The sections of `outline` with quotes only from the facts that each was given; titles of figures in `lang`."""
    return Draft(
        title=outline.title,
        kicker=outline.kicker,
        abstract=outline.abstract,
        sections=tuple(_section(ledger, section, outline.title, lang) for section in outline.sections),
    )


def _section(ledger: Ledger, section: Section, talk_title: str, lang: Lang) -> Written:
    headings = {folded(section.title), folded(talk_title)}
    quotes = {fact: ledger.quote_of(fact) for fact in section.facts}
    quotes = {fact: quote for fact, quote in quotes.items() if folded(quote.evidence.quote) not in headings}
    parts = list(_parts(ledger, section, list(quotes.values()), lang))
    shown = {evidence for part in parts for evidence in part.quotes}
    return Written(
        title=section.title,
        question=section.question,
        parts=tuple(parts),
        gaps=section.gaps,
        left_out=tuple(fact for fact, quote in quotes.items() if quote.evidence.id not in shown),
    )


def _parts(ledger: Ledger, section: Section, quotes: Sequence[Quote], lang: Lang) -> Iterator[Part]:
    rest = list(quotes)
    for page in section.figures:
        if slide := ledger.slide_of(page, quotes):
            own = [quote for quote in rest if quote.slide == ledger.slides.index(slide)]
            rest = [quote for quote in rest if quote not in own]
            yield Part(figure=_figure(slide, section, lang), quotes=_chosen(own))
    if rest:
        yield Part(figure=None, quotes=_chosen(rest))


def _figure(slide: Slide, section: Section, lang: Lang) -> Figure:
    title = slide.title_in(lang) or section.title
    return Figure(source_id=slide.source_id, page=slide.number, title=title, twins=slide.twins)


def _chosen(quotes: Sequence[Quote]) -> tuple[str, ...]:
    """Written quotes first, then spoken ones, each in their order; of many, those that say most."""
    written = [quote for quote in quotes if quote.role is not Role.SPEECH]
    spoken = [quote for quote in quotes if quote.role is Role.SPEECH]
    topic = frozenset().union(*(content_terms(quote.evidence.quote) for quote in written))
    best = [*_best(written, _MOST_WRITTEN, topic), *_best(spoken, _MOST_SPOKEN, topic)]
    return tuple(quote.evidence.id for quote in best)


def _best(quotes: Sequence[Quote], most: int, topic: frozenset[str]) -> list[Quote]:
    ranked = sorted(quotes, key=lambda quote: -_weight(quote, topic))[:most]
    return [quote for quote in quotes if quote in ranked]


def _weight(quote: Quote, topic: frozenset[str]) -> float:
    """Terms of the field, numbers, words of the slide; a formula, table or code counts as much as a term-rich quote."""
    text = quote.evidence.quote
    weight = len(load_glossary().find(text)) + 0.5 * len(content_terms(text) & topic) + bool(_NUMBER.search(text))
    if quote.role in (Role.TABLE, Role.CODE, Role.MATH):
        weight += 5
    width = len(text) + len(HAN.findall(text))
    return weight if width > 24 else weight - 2
