"""The slides of a talk: each deck once, and of each page what it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from kb.types import Document, Flag, Page, Role, Segment


@dataclass(frozen=True)
class SlideText:
    """A page that is shown; `title` in one line, `parts` are its other texts, speaker notes included."""

    deck: str  # source id
    page: int
    title: str
    parts: tuple[str, ...]
    twins: tuple[str, ...] = ()  # other files of the same deck, which may have its page images


def distinct(decks: Sequence[Document]) -> Iterator[tuple[Document, tuple[Document, ...]]]:
    """Each deck once, with its twins: as PPTX where it is there as PDF, too, since that one has the speaker notes."""
    left = sorted(decks, key=lambda deck: (not deck.source.uri.lower().endswith(".pptx"), deck.source.uri))
    while left:
        deck = left.pop(0)
        twins = tuple(other for other in left if _same_deck(deck, other))
        left = [other for other in left if other not in twins]
        yield deck, twins


def pages(deck: Document) -> Iterator[tuple[int, list[Segment]]]:
    """Page numbers with their segments, in order."""
    paged = ((s.locator.number, s) for s in deck.segments if isinstance(s.locator, Page))
    for number, group in groupby(paged, key=lambda pair: pair[0]):
        yield number, [segment for _, segment in group]


def title_of(segments: Sequence[Segment]) -> str:
    title = next((s.text for s in segments if s.role is Role.TITLE and s.text.strip()), "")
    return " ".join(title.split())


def slide_texts(decks: Sequence[Document]) -> list[SlideText]:
    """The pages that are shown, deck by deck; hidden ones are not."""
    found = []
    for deck, twins in distinct(decks):
        for number, segments in pages(deck):
            if not any(Flag.HIDDEN in segment.flags for segment in segments):
                parts = tuple(s.text for s in segments if s.role is not Role.TITLE and s.text.strip())
                others = tuple(twin.source.id for twin in twins)
                found.append(SlideText(deck.source.id, number, title_of(segments), parts, others))
    return found


def _same_deck(one: Document, other: Document) -> bool:
    left, right = ({" ".join(s.text.split()) for s in d.segments if s.role is Role.TITLE} for d in (one, other))
    return one.pages == other.pages and bool(left) and len(left & right) >= 0.6 * len(left)
