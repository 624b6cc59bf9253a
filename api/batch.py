"""The line that every file goes through: known? read, cut, embed, store. One bad file never stops the others."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

import structlog

from api.base import OnProgress
from api.claims import Claims
from api.pace import Pace
from api.reading import recipe_of, taken_in
from api.renaming import rename
from index.library import Embed, Library, Split
from ingest.describe import undescribed
from ingest.discover import discover, vanished
from ingest.formats import KINDS
from ingest.identity import SourceKey, source_of
from ingest.load import load
from ingest.parsed import Reading, Transcriber
from ingest.recordings.correct import correct
from ingest.talk import talk_of
from kb.errors import IndexMismatch, KBError, LibraryBusy, NotFound, StorageFailed
from kb.files import path_of
from kb.settings import Settings
from kb.text import printable
from kb.types import Change, Dropped, Kind, Outcome, Source, SourceEntry, Talk

_READ_SHARE = 0.5  # of a file's progress bar

_log = structlog.get_logger(__name__)


class Batch:
    """Adds files to a library, one by one, so that memory holds one document at a time.

    Args:
        split: a document's chunks.
        embed: chunks to vectors.
        transcriber: for recordings; loads its model when it is first used.
        remember_talk: keeps what a `talk.yaml` says.
    """

    def __init__(
        self,
        library: Library,
        settings: Settings,
        *,
        split: Split,
        embed: Embed,
        transcriber: Transcriber,
        remember_talk: Callable[[Talk], None],
    ) -> None:
        self._library = library
        self._settings = settings
        self._split = split
        self._embed = embed
        self._transcriber = transcriber
        self._remember_talk = remember_talk
        self._gone: defaultdict[tuple[str, str], list[SourceEntry]] = defaultdict(list)  # by content and suffix
        self._vanished: dict[Path, tuple[Change, Source | None]] = {}  # what went after it was found
        self._claims = Claims(library.catalog)

    @property
    def met(self) -> Collection[str]:
        """Ids of the sources whose files `add` has seen."""
        return self._claims.met.keys()

    def add(self, paths: Sequence[Path], on_progress: OnProgress, gone: Sequence[SourceEntry] = ()) -> Iterator[Change]:
        """One change per file, and one for every entry of a folder that was passed over.

        Args:
            gone: sources without a file. A new file with the content of one of them is that source under a new name.

        Raises:
            IndexMismatch, LibraryBusy, StorageFailed: what is wrong with the library is wrong for every file.
        """
        for entry in gone:
            self._gone[entry.source.sha256, path_of(entry.source.uri).suffix].append(entry)
        written = False
        for change in chain(self._found(discover(paths), on_progress), self._again(paths, on_progress)):
            written |= change.outcome in (Outcome.ADDED, Outcome.UPDATED, Outcome.RENAMED)
            yield change
        if written:
            Pace(".", 1, 1, on_progress)("optimizing", 0.0)
            self._library.optimize()

    def _found(self, entries: Iterable[Path | Dropped], on_progress: OnProgress) -> Iterator[Change]:
        found = list(entries)
        # Captions last: a recording takes its own in.
        files = sorted((item for item in found if isinstance(item, Path)), key=_is_captions)
        for done, path in enumerate(files):
            report = Pace(_shown(path), done, len(files), on_progress)
            report("checking", 0.0)
            change = self._add(path, report)
            if path not in self._vanished:
                yield change
        for item in found:
            if isinstance(item, Dropped):
                yield Change(path=item.where, outcome=Outcome.SKIPPED, error=item.reason)

    def _again(self, paths: Sequence[Path], on_progress: OnProgress) -> Iterator[Change]:
        """A second look for what vanished while it was looked at. Of what stays away, only a name that was given is a
        failure: a folder may lose a file at any time."""
        gone, self._vanished = self._vanished, {}
        if not gone:
            return
        found = [one for one in discover(paths) if {_place(one), *_place(one).parents} & gone.keys()]
        yield from self._found(found, on_progress)
        back = {_place(one) for one in found} - self._vanished.keys()
        for path, (change, source) in (self._vanished | gone).items():
            if path in back or path.is_dir():
                continue
            if source is not None:
                self._let_go(source, change)
            if path in paths:
                yield change

    def _let_go(self, source: Source, change: Change) -> None:
        if self._library.catalog.live(source.id):
            self._library.fail(source, change.error or "")
        else:
            with suppress(NotFound):
                self._library.remove(source.id)

    def _add(self, path: Path, report: Pace) -> Change:
        """The boundary of a file: whatever goes wrong with it becomes a failed change."""
        source: Source | None = None
        try:
            key = source_of(path)
            self._claims.meet(key.id, path)
            talk = talk_of(path)
            source = undescribed(path, key)
            self._claims.claim(talk, path)
            means = (talk, self._settings, self._transcriber)
            recipe = recipe_of(path, source.kind if source else None, *means)
            if recording := taken_in(path, talk, self._library, self._settings, self._transcriber):
                return self._take_in(path, key, recording)
            if self._library.is_current(key.id, key.sha256, recipe):
                return Change(path=_shown(path), outcome=Outcome.UNCHANGED, source_id=key.id)
            for old in self._gone[key.sha256, path.suffix]:
                if old.source.id not in self.met and self._library.is_current(old.source.id, key.sha256, recipe):
                    return self._rename(old, path, key, recipe)
            return self._read(path, source, talk, recipe, report)
        except (LibraryBusy, IndexMismatch, StorageFailed):
            raise
        except OSError as error:
            if self._is_of_library(error):
                raise StorageFailed.of(error) from error
            told = f"it cannot be read: {error}. Grant the right to read it, and its folder"
            return self._failed(path, source, error, told)
        except KBError as error:
            return self._failed(path, source, error, error.told)
        except Exception as error:  # noqa: BLE001 - one bad file never stops a batch, not even through a fault of ours
            _log.exception("adding failed", path=_shown(path))
            return self._failed(path, source, error, f"a fault of kb: {type(error).__name__}: {error}")

    def _is_of_library(self, error: OSError) -> bool:
        """Whether it is wrong for every file: the error names the library's folder, or no file at all."""
        name = error.filename
        return not isinstance(name, str) or Path(name).absolute().is_relative_to(self._library.home.absolute())

    def _read(self, path: Path, source: Source | None, talk: Talk | None, recipe: str, report: Pace) -> Change:
        reading = Reading(
            settings=self._settings,
            talk=talk,
            transcriber=self._transcriber,
            images=self._library.begin(source) if source else None,
            on_progress=lambda share: report("reading", share * _READ_SHARE, of=_READ_SHARE),
        )
        document = correct(load(path, reading), self._library.catalog.decisions())
        report("cutting", _READ_SHARE)
        chunks = self._split(document)
        outcome = self._library.replace(
            document,
            chunks,
            self._embed,
            recipe=recipe,
            on_progress=lambda share: report("embedding", _READ_SHARE + share * (1 - _READ_SHARE)),
        )
        if talk is not None:
            self._remember_talk(talk)
        return Change(
            path=_shown(path),
            outcome=outcome,
            source_id=document.source.id,
            segments=len(document.segments),
            chunks=len(chunks),
            dropped=document.dropped,
        )

    def _take_in(self, path: Path, key: SourceKey, recording: Path) -> Change:
        """Captions that are the text of a recording are no source beside it: nothing shall be found twice."""
        with suppress(NotFound):
            self._library.remove(key.id)
        reason = f"its text is that of {printable(recording.name)}"
        return Change(path=_shown(path), outcome=Outcome.SKIPPED, error=reason)

    def _rename(self, old: SourceEntry, path: Path, key: SourceKey, recipe: str) -> Change:
        document, chunks = rename(old, path, key, recipe, library=self._library, split=self._split, embed=self._embed)
        self._gone[key.sha256, path.suffix].remove(old)
        return Change(
            path=_shown(path),
            outcome=Outcome.RENAMED,
            source_id=key.id,
            segments=len(document.segments),
            chunks=chunks,
            previous=str(path_of(old.source.uri)),
        )

    def _failed(self, path: Path, source: Source | None, error: Exception, told: str) -> Change:
        known = source.id if source else None
        change = Change(path=_shown(path), outcome=Outcome.FAILED, source_id=known, error=printable(told))
        if vanished(path, error):
            self._vanished[path] = change, source
            self._claims.forget(path)
        elif source is not None:
            self._library.fail(source, told)
        return change


def removal(entry: SourceEntry) -> Change:
    return Change(
        path=str(path_of(entry.source.uri)),
        outcome=Outcome.REMOVED,
        source_id=entry.source.id,
        segments=entry.segments,
        chunks=entry.chunks,
    )


def _place(item: Path | Dropped) -> Path:
    return item if isinstance(item, Path) else Path(item.where)


def _is_captions(path: Path) -> bool:
    return KINDS.get(path.suffix.lower()) is Kind.CAPTIONS


def _shown(path: Path) -> str:
    """A path as JSON can hold it: bytes of a name that are no UTF-8 become `�`."""
    return os.fsencode(path).decode(errors="replace")
