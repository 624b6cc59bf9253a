"""First stage of an article: everything the talk's material says, as facts with evidence; nothing is written yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from generate.quotes import Quote, Slide, is_written, quote_of, slides_of, spoken
from generate.transcript import is_said
from kb.glossary import load_glossary
from kb.types import (
    Correction,
    Document,
    Dropped,
    Fact,
    Frozen,
    Kind,
    Role,
    Source,
    Support,
    Talk,
    Transcript,
)


class Word(Frozen):
    """A term of the glossary that the talk uses, and how often."""

    zh: str
    en: str
    abbr: str
    uses: int


class Ledger(Frozen):
    """Facts in the order of the talk; one fact for each quote, until someone merges them."""

    talk: Talk
    sources: tuple[Source, ...]
    slides: tuple[Slide, ...]
    quotes: tuple[Quote, ...]
    facts: tuple[Fact, ...]
    words: tuple[Word, ...]
    misheard: tuple[Correction, ...]
    aligned: float  # how sure it is, on average, which slide speech belongs to; 0 without any
    warnings: tuple[Dropped, ...]

    def quote_of(self, fact_id: str) -> Quote:
        evidence = next(fact.evidence[0] for fact in self.facts if fact.id == fact_id)
        return next(quote for quote in self.quotes if quote.evidence.id == evidence)

    def slide_of(self, page: int, quotes: Sequence[Quote]) -> Slide | None:
        """The slide on `page`; where several decks have one, that of the deck which `quotes` come from."""
        sources = {quote.evidence.source_id for quote in quotes}
        candidates = [slide for slide in self.slides if slide.number == page]
        return next((s for s in candidates if s.source_id in sources), candidates[0] if candidates else None)


def build(talk: Talk, documents: Sequence[Document], transcript: Transcript | None) -> Ledger:
    """The facts of a talk from its recording or captions, decks and notes.

    Of several transcripts, the given one is quoted; it knows which slides were on the screen.
    """
    decks = [document for document in documents if document.source.kind is Kind.DECK]
    notes = [document for document in documents if document.source.kind is Kind.NOTE]
    slides, on_slides = slides_of(decks)
    place = {(slide.source_id, slide.number): at for at, slide in enumerate(slides)}
    lines = transcript.lines if transcript else ()
    screens = {line.order: line.screen for line in lines if line.screen}
    heard = next((d for d in documents if transcript and d.source.id == transcript.source.id), None)
    speech = [segment for segment in heard.segments if is_said(segment)] if heard else []
    laid = [place.get((on.source_id, on.page)) if (on := screens.get(s.order)) else None for s in speech]
    quotes = [
        *on_slides,
        *spoken(speech, laid),
        *(quote_of(segment, None) for note in notes for segment in note.segments if is_written(segment)),
    ]
    quotes = list({quote.evidence.id: quote for quote in quotes}.values())
    return Ledger(
        talk=talk,
        sources=tuple(document.source for document in documents),
        slides=tuple(slides),
        quotes=tuple(quotes),
        facts=tuple(_facts(quotes)),
        words=tuple(_words(quotes)),
        misheard=tuple(_unreviewed(heard)) if heard else (),
        aligned=sum(on.confidence for on in screens.values()) / len(screens) if screens else 0.0,
        warnings=tuple(_warnings(documents, heard)),
    )


# --- facts ------------------------------------------------------------------------------------------------------


def _facts(quotes: Sequence[Quote]) -> Iterator[Fact]:
    for number, quote in enumerate(quotes, 1):
        claim = " ".join(quote.evidence.quote.split())
        yield Fact(id=f"F{number:03}", claim=claim, evidence=(quote.evidence.id,), support=Support.DIRECT)


def _words(quotes: Sequence[Quote]) -> Iterator[Word]:
    uses = Counter(term for quote in quotes for term in load_glossary().find(quote.evidence.quote))
    for term, count in sorted(uses.items(), key=lambda item: (-item[1], item[0].en)):
        abbr = term.abbr[0] if term.abbr else ""
        yield Word(zh=term.zh[0] if term.zh else "", en=term.en[0] if term.en else "", abbr=abbr, uses=count)


def _unreviewed(transcript: Document) -> Iterator[Correction]:
    """The first place of each wording that was corrected by the glossary alone."""
    seen: set[str] = set()
    for each in transcript.corrections:
        if each.rule in ("glossary", "sound") and each.id not in seen:
            seen.add(each.id)
            yield each


def _warnings(documents: Sequence[Document], transcript: Document | None) -> Iterator[Dropped]:
    for document in documents:
        title = document.source.title
        reasons = Counter((dropped.what, dropped.reason) for dropped in document.dropped)
        places = {key: [d.where for d in document.dropped if (d.what, d.reason) == key] for key in reasons}
        for (what, reason), count in reasons.items():
            where = ", ".join(places[what, reason][:5]) + (" …" if count > 5 else "")
            yield Dropped(what=f"{what} ({count}×)" if count > 1 else what, where=f"{title} {where}", reason=reason)
        if transcript and document is not transcript and any(s.role is Role.SPEECH for s in document.segments):
            yield Dropped(what="transcript", where=title, reason=f"{transcript.source.title} is quoted instead")
