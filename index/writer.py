"""One writer of a library at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from kb.errors import LibraryBusy

_PATIENCE = 60.0  # seconds; a writer holds the lock for less than one, a rebuild for longer


@contextmanager
def writing(home: Path) -> Iterator[None]:
    """Write to the library in `home`, alone among threads and processes; a process that dies frees the lock.

    Raises:
        LibraryBusy: if another one writes for longer than a minute.
    """
    home.mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / "writer.lock", timeout=_PATIENCE)
    try:
        lock.acquire()
    except Timeout:
        raise LibraryBusy(
            "another process is writing", where=str(home), remedy="Wait until it ends, then try again"
        ) from None
    try:
        yield
    finally:
        lock.release()
