"""The line that every file goes through: known? read, cut, embed, store. One bad file never stops the others."""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import structlog

from api.base import OnProgress
from index.library import Embed, Library, Split
from ingest.describe import SourceKey, renamed
from ingest.discover import discover
from ingest.load import KINDS, load, source_of
from ingest.parsed import Reading, Transcriber
from ingest.talk import check_alone, folder_of, talk_of
from kb.errors import IndexMismatch, KBError, LibraryBusy, StorageFailed
from kb.files import path_of
from kb.settings import Settings
from kb.text import printable, stable_id
from kb.types import Change, Dropped, Kind, Outcome, Progress, Source, SourceEntry, Talk

_READING = "reading/2"  # raise it when a reader's output changes, so that unchanged files are read again
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
        self.met: set[str] = set()  # ids of the sources whose files `add` has seen

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
        files = [item for item in found if isinstance(item, Path)]
        written = False
        for done, path in enumerate(files):
            report = _report_of(path, done, len(files), on_progress)
            report("checking", 0.0)
            change = self._add(path, report)
            written |= change.outcome in (Outcome.ADDED, Outcome.UPDATED, Outcome.RENAMED)
            yield change
        for item in found:
            if isinstance(item, Dropped):
                yield Change(path=item.where, outcome=Outcome.SKIPPED, error=item.reason)
        if written:
            _report_of(Path(), len(files), len(files), on_progress)("optimizing", 0.0)
            self._library.optimize()

    def _add(self, path: Path, report: Callable[[str, float], None]) -> Change:
        """The boundary of a file: whatever goes wrong with it becomes a failed change."""
        source: Source | None = None
        try:
            key = source_of(path)
            self.met.add(key.id)
            talk = talk_of(path)
            source = _stub(path, key)
            if talk is not None:
                self._claim(talk, path)
            recipe = self._recipe(path, source.kind if source else None, talk)
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
            return self._failed(path, source, str(error))
        except Exception as error:  # noqa: BLE001 - one bad file never stops a batch, not even through a fault of ours
            _log.exception("adding failed", path=_shown(path))
            return self._failed(path, source, f"a fault of kb: {type(error).__name__}: {error}")

    def _is_of_library(self, error: OSError) -> bool:
        """Whether it is wrong for every file: the error names the library's folder, or no file at all."""
        name = error.filename
        return not isinstance(name, str) or Path(name).absolute().is_relative_to(self._library.home.absolute())

    def _claim(self, talk: Talk, path: Path) -> None:
        """
        Raises:
            UnreadableSource: if another folder has a talk of this title.
        """
        folder = folder_of(path)
        if folder is not None:
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

    def _read(
        self, path: Path, source: Source | None, talk: Talk | None, recipe: str, report: Callable[[str, float], None]
    ) -> Change:
        reading = Reading(
            settings=self._settings,
            talk=talk,
            transcriber=self._transcriber,
            images=self._library.begin(source) if source else None,
            on_progress=lambda share: report("reading", share * _READ_SHARE),
        )
        document = load(path, reading)
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

    def _rename(self, old: SourceEntry, path: Path, key: SourceKey, recipe: str) -> Change:
        """The same bytes, read by the same recipe, under another name: nothing is read, heard or embedded again."""
        before = self._library.document(old.source.id)
        document = renamed(before, path_of(old.source.uri), path, key)
        pages = self._library.begin(document.source)
        for number in range(1, before.pages + 1):
            if image := self._library.page_image(old.source.id, number):
                shutil.copyfile(image, pages / image.name)
        # The name may be the title, which stands above every chunk: the old one, so that no vector is made anew.
        same_title = document.source.model_copy(update={"title": before.source.title})
        chunks = self._split(document.model_copy(update={"source": same_title}))
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

    def _recipe(self, path: Path, kind: Kind | None, talk: Talk | None) -> str:
        """Names what decides on a document besides the file: the readers, the talk, who heard the speech or drew the
        slides, what a note includes."""
        means = ""
        if kind is Kind.RECORDING:
            means = self._transcriber.fingerprint
        elif kind is Kind.DECK:
            from ingest import slides

            means = slides.means(self._settings)
        elif kind is Kind.NOTE:
            from ingest import notes

            means = notes.means(path)
        return stable_id(_READING, talk.model_dump_json() if talk else "", means)


def removal(entry: SourceEntry) -> Change:
    return Change(
        path=str(path_of(entry.source.uri)),
        outcome=Outcome.REMOVED,
        source_id=entry.source.id,
        segments=entry.segments,
        chunks=entry.chunks,
    )


def _stub(path: Path, key: SourceKey) -> Source | None:
    """What is known of a source before it is read; None where no reader will know the file."""
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        return None
    return Source(id=key.id, kind=kind, uri=key.uri, sha256=key.sha256, title=printable(path.name))


def _report_of(path: Path, done: int, total: int, on_progress: OnProgress) -> Callable[[str, float], None]:
    shown = _shown(path)

    def report(stage: str, share: float) -> None:
        on_progress(Progress(done=done, total=total, path=shown, stage=stage, share=share))

    return report


def _shown(path: Path) -> str:
    """A path as JSON can hold it: bytes of a name that are no UTF-8 become `�`."""
    return os.fsencode(path).decode(errors="replace")
