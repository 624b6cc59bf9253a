"""Corrections of transcripts: what was changed, and what people decide about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from api.base import checked_text
from api.models import Models
from index.catalog import Catalog
from index.library import Library
from ingest.recordings.correct import correct, replaced, standing, wording_id
from kb.errors import BadRequest, NotFound
from kb.files import path_of
from kb.text import printable
from kb.types import Change, Correction, Decision, Document, Kind, Outcome, SourceEntry, Status, Wording

_LONGEST = 80  # characters of a wording: a longer one is no mishearing


def wordings(document: Document, decisions: Sequence[Decision]) -> list[Wording]:
    """What was corrected in a source, with its places, then what was rejected for it."""
    judged = {_id(each): each for each in standing(decisions, document.source.id)}
    found: dict[str, list[Correction]] = {}
    for correction in document.corrections:
        found.setdefault(correction.id, []).append(correction)
    changed = [_changed(places, judged.get(name)) for name, places in found.items()]
    rest = [_decided(each) for name, each in judged.items() if name not in found and not each.accepted]
    return [*changed, *rest]


def decided(decisions: Sequence[Decision]) -> list[Wording]:
    """All that was decided in a library, the latest first; what a later decision replaced says so."""
    older = replaced(decisions)
    made = ((_decided(each), each in older) for each in decisions)
    return [wording.model_copy(update={"state": "replaced"}) if is_older else wording for wording, is_older in made]


def _changed(places: Sequence[Correction], decision: Decision | None) -> Wording:
    first = places[0]
    return Wording(
        id=first.id,
        heard=first.heard,
        corrected=first.corrected,
        rule=first.rule,
        state="accepted" if decision else "open",
        places=tuple(each.locator for each in places),
        source_id=decision.source_id if decision else None,
    )


def _decided(decision: Decision) -> Wording:
    return Wording(
        id=_id(decision),
        heard=decision.heard,
        corrected=decision.corrected,
        rule="source" if decision.source_id else "library",
        state="accepted" if decision.accepted else "rejected",
        source_id=decision.source_id,
    )


def _id(decision: Decision) -> str:
    return wording_id(decision.heard, decision.corrected)


def checked(heard: str, corrected: str) -> tuple[str, str]:
    """
    Raises:
        BadRequest: if this is no correction.
    """
    heard, corrected = (" ".join(checked_text(text, "the correction").split()) for text in (heard, corrected))
    if not heard or not corrected or max(len(heard), len(corrected)) > _LONGEST or heard == corrected:
        raise BadRequest(
            "this is no correction", where=f"{heard} → {corrected}", remedy="Give the words as heard, then as meant"
        )
    if not any(character.isalnum() for character in heard):
        raise BadRequest("there is no word in it", where=heard, remedy="Give the words as they were heard")
    return heard, corrected


class Corrections:
    """Decisions are kept, then the transcripts that they touch are corrected anew, from their raw text.

    `resume` goes before `add` and `judge`, which apply their own decision alone.
    """

    def __init__(self, library: Library, catalog: Catalog, models: Models) -> None:
        self._library = library
        self._catalog = catalog
        self._models = models

    def add(self, heard: str, corrected: str, source: SourceEntry | None) -> list[Change]:
        """From now on these words are written so, in one source or in the whole library."""
        heard, corrected = checked(heard, corrected)
        self._catalog.decide(_decision(heard, corrected, source, accepted=True))
        return self._apply(source)

    def judge(self, ids: Sequence[str], source: SourceEntry | None, *, accepted: bool) -> list[Change]:
        """
        Raises:
            NotFound: if no wording there has such an id.
        """
        known = {each.id: each for each in self._known(source)}
        unknown = [name for name in ids if name.casefold() not in known]
        if unknown:  # nothing is decided then: half of it would hold for what comes later alone
            raise NotFound(
                f"there is no correction {printable(unknown[0])}",
                where=source.source.title if source else "",
                remedy="`kb show --corrections SOURCE` and `kb corrections list` list them",
            )
        for wording in (known[name.casefold()] for name in ids):
            self._catalog.decide(_decision(wording.heard, wording.corrected, source, accepted=accepted))
            if source is None:
                self._override(wording.id, accepted=accepted)
        return self._apply(source)

    def resume(self) -> list[Change]:
        """Apply what was decided by a process that ended before it had applied it."""
        with self._catalog.applying() as waits:
            return self._corrected_all(None) if waits else []

    def _override(self, wording: str, *, accepted: bool) -> None:
        """What is decided for the whole library holds in its sources, too, whatever was decided there before."""
        for each in self._catalog.decisions():
            if each.source_id and _id(each) == wording and each.accepted != accepted:
                self._catalog.decide(each.model_copy(update={"accepted": accepted}))

    def _known(self, source: SourceEntry | None) -> Iterable[Wording]:
        decisions = self._catalog.decisions()
        yield from decided(decisions)
        for entry in [source] if source else self._spoken():
            yield from wordings(self._library.document(entry.source.id), decisions)

    def _apply(self, source: SourceEntry | None) -> list[Change]:
        with self._catalog.applying():
            return self._corrected_all(source)

    def _corrected_all(self, source: SourceEntry | None) -> list[Change]:
        decisions = self._catalog.decisions()
        changes = [self._corrected(entry, decisions) for entry in ([source] if source else self._spoken())]
        return [change for change in changes if change is not None]

    def _spoken(self) -> list[SourceEntry]:
        kinds = (Kind.RECORDING, Kind.CAPTIONS)
        entries = self._catalog.entries()
        return [entry for entry in entries if entry.source.kind in kinds and entry.status is Status.READY]

    def _corrected(self, entry: SourceEntry, decisions: Sequence[Decision]) -> Change | None:
        source_id = entry.source.id
        before = self._library.document(source_id)
        document = correct(before, decisions)
        if document == before:
            return None
        chunks = self._models.split(document)
        recipe = self._catalog.recipe(source_id)
        self._library.carry(source_id)
        self._library.replace(document, chunks, self._models.embed, recipe=recipe)
        return Change(
            path=str(path_of(entry.source.uri)),
            outcome=Outcome.UPDATED,
            source_id=source_id,
            segments=len(document.segments),
            chunks=len(chunks),
        )


def _decision(heard: str, corrected: str, source: SourceEntry | None, *, accepted: bool) -> Decision:
    source_id = source.source.id if source else None
    return Decision(heard=heard, corrected=corrected, accepted=accepted, source_id=source_id)
