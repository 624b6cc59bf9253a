"""What changes a library: one batch at a time, each opening it when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from api.aligning import Aligner
from api.base import OnProgress
from api.models import Models
from api.transcripts import RememberedTranscriber
from index.catalog import Catalog
from index.library import Library
from kb.errors import LibraryBusy
from kb.files import path_of
from kb.settings import Settings
from kb.types import Change, SourceEntry

if TYPE_CHECKING:  # readers take a tenth of a second to load, and who only asks needs none
    from api.batch import Batch
    from api.corrections import Corrections


class Opened:
    """The library, opened when it is first asked for, once. Safe to share between threads."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._lock = threading.Lock()
        self._is_open = False

    def __call__(self) -> Library:
        """
        Raises:
            LibraryBusy: if another process owns the index.
            IndexMismatch: if another recipe built it.
        """
        with self._lock:
            if not self._is_open:
                self.library.open()
                self._is_open = True
        return self.library

    def was_rebuilt(self) -> None:
        """The index was built anew, which opens it."""
        self._is_open = True


class Changes:
    """The changing half of `KnowledgeBase`; changes exclude each other, and speech is laid to slides after each."""

    def __init__(self, opened: Opened, catalog: Catalog, settings: Settings, models: Models, aligner: Aligner) -> None:
        self._opened = opened
        self._aligner = aligner
        self._catalog = catalog
        self._settings = settings
        self._models = models
        self._transcriber = RememberedTranscriber(models.transcriber, settings.home / "cache" / "speech")
        self._changing = threading.Lock()

    def add(self, paths: Sequence[Path], on_progress: OnProgress) -> Iterator[Change]:
        with self._turn():
            yield from self._corrections.resume()
            yield from self._batch(self._opened()).add(paths, on_progress)
            yield from self._aligner.refresh()

    def sync(self, folder: Path, on_progress: OnProgress) -> Iterator[Change]:
        from api.syncing import sync

        with self._turn():
            library = self._opened()
            yield from self._corrections.resume()
            yield from sync(library, self._batch(library), folder, on_progress)
            yield from self._aligner.refresh()

    def rebuild(self, on_progress: OnProgress) -> Iterator[Change]:
        with self._turn():
            library = self._opened.library
            changes = library.rebuild(self._models.split, self._models.embed, on_progress=on_progress)
            self._opened.was_rebuilt()
            skipped = self._aligner.refresh()
        yield from (change.model_copy(update={"path": str(path_of(change.path))}) for change in changes)
        yield from skipped

    def remove(self, name: str) -> Change:
        from api.batch import removal

        with self._turn():
            change = removal(self._opened().remove(self._catalog.find(name).source.id))
            self._aligner.refresh()
        return change

    def resume(self) -> None:
        """Apply the corrections that a process left when it was stopped."""
        with self._turn():
            if self._corrections.resume():
                self._aligner.refresh()

    def correct(self, heard: str, corrected: str, source: str | None) -> list[Change]:
        with self._turn():
            changes = self._corrections.resume()
            changes += self._corrections.add(heard, corrected, self._entry(source))
            self._aligner.refresh()
        return changes

    def judge(self, ids: Sequence[str], source: str | None, *, accepted: bool) -> list[Change]:
        with self._turn():
            changes = self._corrections.resume()
            changes += self._corrections.judge(ids, self._entry(source), accepted=accepted)
            self._aligner.refresh()
        return changes

    @property
    def _corrections(self) -> Corrections:
        from api.corrections import Corrections

        return Corrections(self._opened(), self._catalog, self._models)

    def _entry(self, source: str | None) -> SourceEntry | None:
        return None if source is None else self._catalog.find(source)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._changing.acquire(blocking=False):
            raise LibraryBusy("another command is changing the library", remedy="Try again when it has ended")
        try:
            yield
        finally:
            self._changing.release()

    def _batch(self, library: Library) -> Batch:
        from api.batch import Batch

        return Batch(
            library,
            self._settings,
            split=self._models.split,
            embed=self._models.embed,
            transcriber=self._transcriber,
            remember_talk=self._catalog.put_talk,
        )
