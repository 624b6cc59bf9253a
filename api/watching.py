"""`kb sync --watch`: a folder is synced again whenever something in it has changed and come to rest."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from api.session import library_of, settings_of
from kb.errors import KBError, NotFound
from kb.types import Change, Outcome

if TYPE_CHECKING:
    import typer

_QUIET_MS = 1_000  # without an event: whoever was writing has finished
_PATIENCE = 30.0  # seconds; a file that is written to all the time keeps the others waiting no longer
_RETRY_S = 5.0  # after a sync that could not be done
_GONE_S = 1.0  # between two looks for a folder that has gone
_SCRATCH = ("~", ".tmp", ".swp", ".swx", ".part", ".partial", ".crdownload", ".download")  # of editors and browsers


class Watch:
    """The moments at which a folder should be synced: at once, and after every change below it.

    The folder may go and come back, as that of a disk or of a branch does: while it is gone there are no moments.
    """

    def __init__(self, folder: Path, home: Path) -> None:
        """
        Args:
            folder: what to watch.
            home: the library's folder, whose changes are our own.

        Raises:
            NotFound: if there is no such folder.
        """
        if not folder.is_dir():
            raise NotFound("there is no such folder", where=str(folder), remedy="Name a folder to watch")
        self._folder = folder.resolve()
        self._home = home.resolve()
        self._since: float | None = 0.0  # when the oldest change came that was not acted on

    def again(self) -> None:
        """Bring another moment soon, though nothing changes: this one could not be used."""
        self._since = time.monotonic() + _RETRY_S

    def stands(self) -> bool:
        """Whether the folder is there."""
        return self._folder.is_dir()

    def moments(self) -> Iterator[None]:
        """Ends never; Ctrl-C raises KeyboardInterrupt."""
        while True:
            if self.stands():
                yield from self._while_it_stands()
                self._since = 0.0
            else:
                time.sleep(_GONE_S)

    def _while_it_stands(self) -> Iterator[None]:
        from watchfiles import watch

        number = self._folder.stat().st_ino
        events = watch(
            self._folder,
            watch_filter=None,
            rust_timeout=_QUIET_MS,
            debounce=_QUIET_MS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        for changes in events:
            if not self._is_still(number):
                return
            if any(self.matters(Path(path)) for _, path in changes):
                self._since = time.monotonic() if self._since is None else self._since
                is_due = time.monotonic() - self._since > _PATIENCE
            else:
                is_due = self._since is not None and time.monotonic() >= self._since
            if is_due:
                self._since = None
                yield

    def _is_still(self, number: int) -> bool:
        try:
            return self._folder.stat().st_ino == number
        except OSError:
            return False

    def matters(self, path: Path) -> bool:
        """Whether a change of `path` can be one of a source: not ours, not hidden, not an editor's own file."""
        if path.is_relative_to(self._home) or not path.is_relative_to(self._folder):
            return False
        names = path.relative_to(self._folder).parts
        is_hidden = any(name.startswith((".", "~$", "#")) and name != ".kbignore" for name in names)
        return not is_hidden and not path.name.endswith(_SCRATCH)


class News:
    """Tells of each change once: what is passed over or fails at every sync is told when it is new."""

    def __init__(self, show: Callable[[Change], None]) -> None:
        self._show = show
        self._told: dict[str, tuple[Outcome, str | None]] = {}

    def tell(self, change: Change) -> None:
        state = change.outcome, change.error
        is_news = change.outcome is not Outcome.UNCHANGED and self._told.get(change.path) != state
        self._told.pop(change.path, None)
        if change.outcome in (Outcome.SKIPPED, Outcome.FAILED):
            self._told[change.path] = state
        if is_news:
            self._show(change)


def follow(
    watch: Watch, sync: Callable[[], Iterator[Change]], show: Callable[[Change], None], note: Callable[[str], None]
) -> None:
    """Sync at every moment of `watch`, until Ctrl-C. What is wrong with the library now may be right at the next."""
    news = News(show)
    trouble, is_first = "", True
    for _ in watch.moments():
        try:
            for change in sync():
                if change.outcome is not Outcome.SKIPPED or watch.matters(Path(change.path)):
                    news.tell(change)
            trouble = ""
            if is_first:
                note("What was there has been looked at; changes follow.")
                is_first = False
        except KBError as error:
            if watch.stands() and str(error) != trouble:
                note(f"{error} (trying again)")
            trouble = str(error)
            watch.again()


def run(context: typer.Context, folder: Path, *, json: bool) -> None:
    """Watch until Ctrl-C or a request to terminate, and tell of each change in a line.

    The library is opened for each sync alone, through its service where one runs, so that other commands can use it
    meanwhile and a service can start and stop.
    """
    from api import progress
    from api.console import note

    watch = Watch(folder, settings_of(context).home)

    def sync() -> Iterator[Change]:
        with library_of(context, new=True) as library, progress.bar("Syncing") as report:
            yield from library.sync(folder, report)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    note(f"Watching {folder}; Ctrl-C ends it. What is there comes first, once the models are loaded.")
    try:
        follow(watch, sync, _show_json if json else progress.show_change, note)
    except KeyboardInterrupt:
        note("Stopped watching.")


def _show_json(change: Change) -> None:
    sys.stdout.buffer.write(change.model_dump_json().encode() + b"\n")
    sys.stdout.flush()
