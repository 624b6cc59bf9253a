"""Which slide was on the screen while a sentence was spoken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.alignment import path
from ingest.alignment.decks import SlideText, slide_texts
from ingest.alignment.pictures import by_picture
from ingest.alignment.scenes import Scenes
from ingest.alignment.similarity import Embed, Terms, by_meaning, by_words
from ingest.alignment.turns import away, returns, turns
from kb.text import HAN
from kb.types import Document, Role, Segment, Shown, Time

VERSION = "align/2"  # raise it when the same talk is laid otherwise

Images = Callable[[str, int], Path | None]
"""The image of a deck's page, by source id and number, where there is one."""

Matrix = NDArray[np.float64]

_WORDS, _MEANING = 0.45, 0.18  # what the two kinds of evidence count
_PACE = 1.5  # nats that a whole deck's distance from an even pace costs a sentence
_OFF, _OFF_SHARE = 0.4, 0.25  # nats for no slide: as a share of what is usual for the best slide, at most the first
_COLUMNS, _PAUSE = 100, 2500  # of sentences whose meaning is read together, and the milliseconds that part them


def without_images(deck: str, page: int) -> Path | None:  # noqa: ARG001 - `Images` takes them
    """No page has an image."""
    return None


def align(
    transcript: Document,
    decks: Sequence[Document],
    *,
    terms: Terms,
    embed: Embed | None = None,
    scenes: Scenes | None = None,
    images: Images = without_images,
) -> tuple[Shown, ...]:
    """The slide of each segment of speech that has one, in order.

    Args:
        transcript: of a recording, or captions.
        decks: of the talk, in the order in which they are shown; a deck that is there as PPTX and as PDF counts once.
        terms: cuts texts into words.
        embed: gives meanings; without it, words and numbers alone decide.
        scenes: what the recording shows, on the clock of the transcript.
        images: the image of a deck's page, to hold the scenes against.
    """
    speech = [segment for segment in transcript.segments if _is_said(segment)]
    slides = slide_texts(decks)
    if not speech or not slides:
        return ()
    texts = [segment.text for segment in speech]
    on = _WORDS * by_words(texts, slides, terms)
    if embed is not None:
        on += _MEANING * by_meaning(_in_context(speech), slides, embed)
    on -= _PACE * _lag(speech, slides)
    spans = [_span(segment) for segment in speech]
    off = min(_OFF, _OFF_SHARE * float(np.median(on.max(axis=1)))) + away(texts)
    if scenes is not None:
        on += by_picture(scenes, [_image(slide, images) for slide in slides], spans)
    way = path.decode(path.Signs(on, off, turns(texts, spans, len(slides)), returns(texts)))
    return tuple(
        Shown(order=segment.order, deck=slides[at].deck, page=slides[at].page, confidence=round(sure, 3))
        for segment, at, sure in zip(speech, way.slides, way.confidence, strict=True)
        if at >= 0
    )


def _image(slide: SlideText, images: Images) -> Path | None:
    return next((path for deck in (slide.deck, *slide.twins) if (path := images(deck, slide.page))), None)


def _is_said(segment: Segment) -> bool:
    return segment.role is Role.SPEECH and isinstance(segment.locator, Time)


def _in_context(speech: Sequence[Segment]) -> list[str]:
    """Each segment with its neighbours, as far as they follow closely: captions are pieces of sentences."""
    groups: list[list[str]] = []
    last_end = 0
    for segment in speech:
        start, end = _span(segment)
        full = not groups or _columns("".join([*groups[-1], segment.text])) > _COLUMNS
        if full or start - last_end > _PAUSE:
            groups.append([])
        groups[-1].append(segment.text)
        last_end = end
    return [text for group in groups for text in [" ".join(group)] * len(group)]


def _columns(text: str) -> int:
    return len(text) + len(HAN.findall(text))


def _span(segment: Segment) -> tuple[int, int]:
    locator = segment.locator
    return (locator.start_ms, locator.end_ms) if isinstance(locator, Time) else (0, 0)


def _lag(speech: Sequence[Segment], slides: Sequence[SlideText]) -> Matrix:
    """Distance of each slide's place in the deck from the segment's place in the talk: from 0 to 1, squared."""
    spans = np.array([_span(segment) for segment in speech], dtype=np.float64).mean(axis=1)
    place = (spans - spans[0]) / max(1.0, spans[-1] - spans[0])
    columns = (np.arange(len(slides)) + 0.5) / len(slides)
    lag: Matrix = (place[:, None] - columns[None, :]) ** 2
    return lag
