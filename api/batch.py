"""The line that every file goes through: known? read, cut, embed, store. One bad file never stops the others."""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import structlog

from api.base import OnProgress
from api.pace import Pace
from api.reading import recipe_of, taken_in
from index.library import Embed, Library, Split
from ingest.describe import renamed
from ingest.discover import discover
from ingest.formats import KINDS
from ingest.identity import SourceKey, source_of
from ingest.load import load
from ingest.parsed import SCENES, Reading, Transcriber
from ingest.recordings.correct import correct
from ingest.talk import check_alone, folder_of, talk_of
from kb.errors import IndexMismatch, KBError, LibraryBusy, NotFound, StorageFailed, UnreadableSource
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
        self.met: dict[str, Path] = {}  # the files that `add` has seen, by the ids of their sources

    def add(self, paths: Sequence[Path], on_progress: OnProgress, gone: Sequence[SourceEntry] = ()) -> Iterator[Change]:
        """One change per file, and one for every entry of a folder that was passed over.

        Args:
            gone: sources without a file. A new file with the content of one of them is that source under a new name.

        Raises:
            IndexMismatch, LibraryBusy, StorageFailed: what is wrong with the library is wrong for every file.
        """
        for entry in gone:
            self._gone[entry.source.sha256, path_of(entry.source.uri).suffix].append(entry)
        found = list(discover(paths))
        # Captions last: a recording takes its own in.
        files = sorted((item for item in found if isinstance(item, Path)), key=_is_captions)
        written = False
        for done, path in enumerate(files):
            report = Pace(_shown(path), done, len(files), on_progress)
            report("checking", 0.0)
            change = self._add(path, report)
            written |= change.outcome in (Outcome.ADDED, Outcome.UPDATED, Outcome.RENAMED)
            yield change
        for item in found:
            if isinstance(item, Dropped):
                yield Change(path=item.where, outcome=Outcome.SKIPPED, error=item.reason)
        if written:
            Pace(".", len(files), len(files), on_progress)("optimizing", 0.0)
            self._library.optimize()

    def _add(self, path: Path, report: Pace) -> Change:
        """The boundary of a file: whatever goes wrong with it becomes a failed change."""
        source: Source | None = None
        try:
            key = source_of(path)
            self._meet(key.id, path)
            talk = talk_of(path)
            source = _stub(path, key)
            self._claim(talk, path)
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
            return self._failed(path, source, f"it cannot be read: {error}. Grant the right to read it, and its folder")
        except KBError as error:
            return self._failed(path, source, error.told)
        except Exception as error:  # noqa: BLE001 - one bad file never stops a batch, not even through a fault of ours
            _log.exception("adding failed", path=_shown(path))
            return self._failed(path, source, f"a fault of kb: {type(error).__name__}: {error}")

    def _meet(self, source_id: str, path: Path) -> None:
        known = self.met.setdefault(source_id, path.absolute())
        if known != path.absolute():
            same = f"{known.name} has the same name, in another Unicode form"
            raise UnreadableSource(same, remedy="Rename one of the two")

    def _is_of_library(self, error: OSError) -> bool:
        """Whether it is wrong for every file: the error names the library's folder, or no file at all."""
        name = error.filename
        return not isinstance(name, str) or Path(name).absolute().is_relative_to(self._library.home.absolute())

    def _claim(self, talk: Talk | None, path: Path) -> None:
        """
        Raises:
            UnreadableSource: if another folder has a talk of this title.
        """
        folder = folder_of(path)
        if talk is not None and folder is not None:
            check_alone(talk, folder, self._talk_folders[talk.id])
            self._talk_folders[talk.id].add(folder)

    @cached_property
    def _talk_folders(self) -> defaultdict[str, set[Path]]:
        """The folders of each talk, by its id: of those in the library and of those met."""
        folders: defaultdict[str, set[Path]] = defaultdict(set)
        for source in (entry.source for entry in self._library.catalog.entries()):
            if source.talk and (folder := folder_of(path_of(source.uri))):
                folders[source.talk].add(folder)
        return folders

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
        """The same bytes, read by the same recipe, under another name: nothing is read, heard or embedded again."""
        before = self._library.document(old.source.id)
        document = renamed(before, path_of(old.source.uri), path, key)
        pages = self._library.begin(document.source)
        for number in range(1, before.pages + 1):
            if image := self._library.page_image(old.source.id, number):
                shutil.copyfile(image, pages / image.name)
        if scenes := self._library.picture(old.source.id, SCENES):
            shutil.copyfile(scenes, pages / scenes.name)
        # The name may be the title, which stands above every chunk: the old one, so that no vector is made anew.
        same_title = document.source.model_copy(update={"title": before.source.title})
        chunks = self._split(document.model_copy(update={"source": same_title}))
        self._library.catalog.hand_on(old.source.id, key.id)  # first: who finds the new name known asks for no more
        self._library.replace(document, chunks, self._embed, recipe=recipe)
        self._library.remove(old.source.id)
        self._gone[key.sha256, path.suffix].remove(old)
        return Change(
            path=_shown(path),
            outcome=Outcome.RENAMED,
            source_id=key.id,
            segments=len(document.segments),
            chunks=len(chunks),
            previous=str(path_of(old.source.uri)),
        )

    def _failed(self, path: Path, source: Source | None, error: str) -> Change:
        if source is not None:
            self._library.fail(source, error)
        return Change(
            path=_shown(path), outcome=Outcome.FAILED, source_id=source.id if source else None, error=printable(error)
        )


def removal(entry: SourceEntry) -> Change:
    return Change(
        path=str(path_of(entry.source.uri)),
        outcome=Outcome.REMOVED,
        source_id=entry.source.id,
        segments=entry.segments,
        chunks=entry.chunks,
    )


def _is_captions(path: Path) -> bool:
    return KINDS.get(path.suffix.lower()) is Kind.CAPTIONS


def _stub(path: Path, key: SourceKey) -> Source | None:
    """What is known of a source before it is read; None where no reader will know the file."""
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        return None
    return Source(id=key.id, kind=kind, uri=key.uri, sha256=key.sha256, title=printable(path.name))


def _shown(path: Path) -> str:
    """A path as JSON can hold it: bytes of a name that are no UTF-8 become `�`."""
    return os.fsencode(path).decode(errors="replace")
