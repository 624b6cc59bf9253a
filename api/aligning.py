"""Which slide was on the screen while something was said: worked out after changes, kept with the talk."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from pydantic import ValidationError

from index.library import Library
from kb.errors import KBError
from kb.files import write_whole
from kb.text import stable_id
from kb.types import (
    Change,
    Chunk,
    Document,
    Frozen,
    Hit,
    Kind,
    Outcome,
    Page,
    Screen,
    Shown,
    Source,
    Talk,
    Time,
    screen_at,
)

if TYPE_CHECKING:
    from api.models import Models
    from ingest.alignment.scenes import Scenes

_log = structlog.get_logger(__name__)


class Alignment(Frozen):
    """Of the transcripts of one talk, by their source ids; it holds as long as `rests_on` is what readers see."""

    recipe: str
    rests_on: tuple[tuple[str, str], ...]  # source ids of the talk, each with its revision
    shown: dict[str, tuple[Shown, ...]]
    decks: dict[str, Deck]


class Deck(Frozen):
    """What a screen tells of a deck: its source, its titles by page, other files of it with page images."""

    source: Source
    titles: dict[int, str]
    twins: tuple[str, ...]


class Aligner:
    """Alignments of the talks of a library, in `talks/<id>/alignment.json`.

    Args:
        library: where talks, documents and pictures are; its index is not needed.
        models: give the meanings of texts.
    """

    def __init__(self, library: Library, models: Models) -> None:
        self._library = library
        self._models = models

    def refresh(self) -> list[Change]:
        """Work out what changes have made stale. No media is read again.

        What was added stays so: a talk that cannot be laid, not even through a fault of ours, is told as skipped.
        """
        skipped = []
        for talk in self._library.catalog.talks():
            try:
                self._refresh(talk)
            except Exception as error:  # noqa: BLE001 - the change before it is done, and the other talks wait
                _log.warning("not_aligned", talk=talk.id, error=str(error), exc_info=not isinstance(error, KBError))
                reason = error.told if isinstance(error, KBError) else f"a fault of kb: {type(error).__name__}: {error}"
                told = f"its speech is not laid to its slides: {reason}"
                skipped.append(Change(path=talk.title, outcome=Outcome.SKIPPED, error=told))
        return skipped

    def shown(self, talk: str | None, source_id: str) -> tuple[Shown, ...]:
        """What was on the screen during a transcript of a talk; nothing where that is not known, or no longer true."""
        alignment = self._held(talk)
        return alignment.shown.get(source_id, ()) if alignment else ()

    def illustrated(self, hit: Hit) -> Hit:
        """The hit with what was on the screen while it was said."""
        if not isinstance(hit.locator, Time) or not (screens := self.screens(hit.source, _spoken(hit.chunk))):
            return hit
        at = screen_at(screens, hit.locator)
        return hit.model_copy(update={"screens": screens, "thumbnail": at.thumbnail if at else None})

    def screens(self, source: Source, spoken: Sequence[tuple[int, Time]]) -> tuple[Screen, ...]:
        """The pages that were on the screen during segments of a transcript, given by order and time; in order."""
        alignment = self._held(source.talk)
        if alignment is None or source.id not in alignment.shown:
            return ()
        shown = {one.order: one for one in alignment.shown[source.id]}
        seen = [(shown.get(order), time) for order, time in spoken]
        return tuple(
            self._screen(alignment, [(one, time) for one, time in run if one])
            for page, run in groupby(seen, key=lambda pair: (pair[0].deck, pair[0].page) if pair[0] else None)
            if page is not None
        )

    def _screen(self, alignment: Alignment, run: Sequence[tuple[Shown, Time]]) -> Screen:
        first = run[0][0]
        deck = alignment.decks[first.deck]
        files = (first.deck, *deck.twins)
        drawn = next((name for name in files if self._library.page_image(name, first.page)), None)
        return Screen(
            source_id=first.deck,
            page=first.page,
            title=deck.titles.get(first.page, ""),
            href=Page(number=first.page).href(deck.source),
            start_ms=run[0][1].start_ms,
            end_ms=max(time.end_ms for _, time in run),
            confidence=round(sum(one.confidence for one, _ in run) / len(run), 3),
            thumbnail=f"/v1/sources/{drawn}/pages/{first.page}.webp" if drawn else None,
        )

    def _held(self, talk: str | None) -> Alignment | None:
        if talk is None:
            return None
        path = self._path(talk)
        try:
            alignment = _read(path, path.stat().st_mtime_ns)
        except OSError:
            return None
        live = self._library.catalog.live_revisions()
        return alignment if alignment and all(live.get(s) == revision for s, revision in alignment.rests_on) else None

    def _refresh(self, talk: Talk) -> None:
        from ingest.alignment import align

        library, path = self._library, self._path(talk.id)
        live = library.catalog.live_revisions()
        rests_on = tuple((source_id, live[source_id]) for source_id in talk.sources if source_id in live)
        embedder = self._models.cross or self._models.embedder
        recipe = stable_id(align.VERSION, embedder.fingerprint, *(revision for _, revision in rests_on))
        held = self._held(talk.id)
        if held is not None and (held.recipe, held.rests_on) == (recipe, rests_on):
            return
        documents = [library.document(source_id) for source_id, _ in rests_on]
        decks = [document for document in documents if document.source.kind is Kind.DECK]
        scenes = next((found for document in documents if (found := self._scenes(document))), None)
        shown = {
            document.source.id: align.align(
                document,
                decks,
                terms=_terms,
                embed=lambda texts: embedder.embed_passages(texts),
                scenes=scenes,
                images=library.page_image,
            )
            for document in documents
            if document.source.kind in (Kind.RECORDING, Kind.CAPTIONS)
        }
        alignment = Alignment(recipe=recipe, rests_on=rests_on, shown=shown, decks=dict(_decks(decks)))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, alignment.model_dump_json())

    def _scenes(self, document: Document) -> Scenes | None:
        """What a recording shows. Captions of the talk run on its clock, too."""
        from ingest.alignment.scenes import Scenes
        from ingest.parsed import SCENES

        path = self._library.picture(document.source.id, SCENES)
        try:
            return Scenes.load(path) if path else None
        except (OSError, ValueError, KeyError) as error:
            _log.warning("scenes_damaged", source=document.source.id, error=str(error))
            return None

    def _path(self, talk: str) -> Path:
        return self._library.home / "talks" / talk / "alignment.json"


def _terms(text: str) -> Sequence[str]:
    from index.sparse import terms

    return terms(text)


def _decks(decks: Sequence[Document]) -> Iterator[tuple[str, Deck]]:
    from ingest.alignment.decks import distinct, pages, title_of

    for deck, twins in distinct(decks):
        titles = {number: title_of(segments) for number, segments in pages(deck)}
        yield deck.source.id, Deck(source=deck.source, titles=titles, twins=tuple(twin.source.id for twin in twins))


def _spoken(chunk: Chunk) -> list[tuple[int, Time]]:
    return [(span.order, span.locator) for span in chunk.spans if isinstance(span.locator, Time)]


@functools.lru_cache(maxsize=64)
def _read(path: Path, written: int) -> Alignment | None:  # noqa: ARG001 - another time is another file
    """None for a file that another version wrote, or that is damaged: it is worked out anew."""
    try:
        return Alignment.model_validate_json(path.read_bytes())
    except ValidationError:
        return None
