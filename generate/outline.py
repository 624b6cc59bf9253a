"""Second stage: the order of the argument, from the titles of the slides, the course of the speech, and the notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from generate.ledger import Ledger
from generate.question import content_terms
from generate.quotes import Quote
from generate.transcript import moment
from generate.wording import Wording, wording
from kb.glossary import load_glossary
from kb.text import HAN, folded
from kb.types import Flag, Kind, Lang, Mark, Outline, Role, Section, Time

MOST_SECTIONS = 12
_STRETCH_MS = 180_000  # of a section of speech without slides
_PART = re.compile(
    r"\s*(?:[（(]\s*(?:\d+|[一二三四五六七八九十]|续|cont(?:inued|'d)?\.?)(?:\s*/\s*\d+)?\s*[）)]|[-–]\s*\d+)\s*$"
)
_THIN = 120  # columns; a section with less evidence has a gap; a hanzi takes two


def plan(ledger: Ledger, lang: Lang) -> Outline:
    """Sections in the order of the talk, then the notes that belong to no slide."""
    words = wording(lang)
    slots = [*_merged(_by_slide(ledger, words, lang)), *_by_time(ledger, words), *_by_heading(ledger, words)]
    talk_title = _talk_title(ledger, lang)
    kinds = {source.kind for source in ledger.sources}
    return Outline(
        title=talk_title,
        kicker=words.kicker,
        abstract=words.abstract.format(title=talk_title, kinds=_kinds(kinds, lang)),
        sections=tuple(
            _section(ledger, words.opening if title == talk_title else title, facts, slides, words)
            for title, facts, slides in slots
            if facts or slides
        ),
    )


Slot = tuple[str, list[str], list[int]]
"""Title, fact ids, and slides (counted from 0)."""


def _section(ledger: Ledger, title: str, facts: Sequence[str], slides: Sequence[int], words: Wording) -> Section:
    return Section(
        title=title,
        question=words.question.format(title=title),
        facts=tuple(facts),
        figures=tuple(ledger.slides[slide].number for slide in slides),
        gaps=tuple(_gaps(ledger, facts, slides, words)),
    )


def _gaps(ledger: Ledger, facts: Sequence[str], slides: Sequence[int], words: Wording) -> Iterator[str]:
    for slide in slides:
        if ledger.slides[slide].unread:
            yield words.gap_unread.format(page=ledger.slides[slide].number)
    quotes = [ledger.quote_of(fact) for fact in facts]
    has_speech = any(quote.role is Role.SPEECH for quote in ledger.quotes)
    if slides and has_speech and not any(quote.role is Role.SPEECH for quote in quotes):
        yield words.gap_silent
    text = "".join(quote.evidence.quote for quote in quotes)
    if len(text) + len(HAN.findall(text)) < _THIN:
        yield words.gap_thin
    if any(Flag.LOW_CONFIDENCE in quote.flags for quote in quotes):
        yield words.gap_doubtful


# --- by slide ---------------------------------------------------------------------------------------------------


def _talk_title(ledger: Ledger, lang: Lang) -> str:
    """As its own cover puts it in `lang`, else as it is."""
    title = ledger.talk.title
    covers = (slide for slide in ledger.slides if folded(slide.title) == folded(title))
    return next((slide.title_in(lang) for slide in covers), title)


def _by_slide(ledger: Ledger, words: Wording, lang: Lang) -> Iterator[Slot]:
    """Slides that follow each other under one title make one section."""
    numbered = list(enumerate(ledger.slides))
    facts = _facts_by_slide(ledger)
    for title, group in groupby(numbered, key=lambda pair: _PART.sub("", pair[1].title)):
        slides = [number for number, _ in group]
        first = ledger.slides[slides[0]]
        shown = _PART.sub("", first.title_in(lang)) if title else words.page.format(page=first.number)
        yield shown, [fact for slide in slides for fact in facts.get(slide, [])], slides


def _facts_by_slide(ledger: Ledger) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    quotes = {quote.evidence.id: quote for quote in ledger.quotes}
    for fact in ledger.facts:
        slide = quotes[fact.evidence[0]].slide
        if slide is not None:
            found.setdefault(slide, []).append(fact.id)
    return found


def _merged(slots: Iterator[Slot]) -> list[Slot]:
    """At most `MOST_SECTIONS`: neighbours whose titles share most words join first, then the shortest ones."""
    merged = list(slots)
    while len(merged) > MOST_SECTIONS:
        at = min(range(len(merged) - 1), key=lambda n: (-_alike(merged[n], merged[n + 1]), _size(merged[n : n + 2]), n))
        left, right = merged[at], merged[at + 1]
        merged[at : at + 2] = [(left[0], left[1] + right[1], left[2] + right[2])]
    return merged


def _alike(left: Slot, right: Slot) -> int:
    return len(content_terms(left[0]) & content_terms(right[0]))


def _size(slots: Sequence[Slot]) -> int:
    return sum(len(facts) + len(slides) for _, facts, slides in slots)


# --- by time and by heading -------------------------------------------------------------------------------------


def _by_time(ledger: Ledger, words: Wording) -> Iterator[Slot]:
    """Speech without slides, in stretches of about three minutes that end where the speaker pauses."""
    facts = [fact for fact in ledger.facts if _loose(ledger.quote_of(fact.id), Time)]
    stretch: list[str] = []
    for fact in facts:
        if stretch and _start(ledger, fact.id) - _start(ledger, stretch[0]) >= _STRETCH_MS:
            yield _stretch(ledger, stretch, words)
            stretch = []
        stretch.append(fact.id)
    if stretch:
        yield _stretch(ledger, stretch, words)


def _stretch(ledger: Ledger, facts: list[str], words: Wording) -> Slot:
    text = "\n".join(ledger.quote_of(fact).evidence.quote for fact in facts)
    names = [(term.names(ledger.talk.lang) or term.names("und"))[0] for term in load_glossary().find(text)[:3]]
    start = moment(_start(ledger, facts[0]))
    title = words.stretch.format(start=start, words=", ".join(names)) if names else start
    return title, facts, []


def _start(ledger: Ledger, fact: str) -> int:
    locator = ledger.quote_of(fact).evidence.locator
    return locator.start_ms if isinstance(locator, Time) else 0


def _by_heading(ledger: Ledger, words: Wording) -> Iterator[Slot]:
    titles = {source.id: source.title for source in ledger.sources}
    loose = [fact.id for fact in ledger.facts if _loose(ledger.quote_of(fact.id), Mark)]
    for title, group in groupby(loose, key=lambda fact: _heading(ledger.quote_of(fact), titles)):
        yield words.notes.format(title=title), list(group), []


def _heading(quote: Quote, titles: dict[str, str]) -> str:
    locator = quote.evidence.locator
    path = locator.heading_path if isinstance(locator, Mark) else ()
    return path[min(1, len(path) - 1)] if path else titles[quote.evidence.source_id]


def _loose(quote: Quote, kind: type[Time] | type[Mark]) -> bool:
    return quote.slide is None and isinstance(quote.evidence.locator, kind)


def _kinds(kinds: set[Kind], lang: Lang) -> str:
    names = {
        Kind.RECORDING: ("录音", "the recording"),
        Kind.CAPTIONS: ("字幕", "captions"),
        Kind.DECK: ("幻灯片", "slides"),
        Kind.NOTE: ("笔记", "notes"),
    }
    chosen = [names[kind][0 if lang == "zh" else 1] for kind in Kind if kind in kinds]
    if lang == "zh":
        return "、".join(chosen)
    return " and ".join(filter(None, [", ".join(chosen[:-1]), *chosen[-1:]]))
