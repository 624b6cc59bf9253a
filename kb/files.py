"""Files that are written whole or not at all, and the paths that uris of files stand for."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kb.errors import MissingDependency


def write_whole(path: Path, content: str | bytes, *, mode: int = 0o644) -> None:
    """Write a file so that whoever reads it finds the old content or the new, even if this process is killed.

    Text is written as UTF-8. The folder must exist. `mode` is what the process's umask may take rights away from.

    Raises:
        OSError: if it cannot be written; what was there stays.
    """
    beside = path.parent / f".{path.name[:40]}.{secrets.token_hex(8)}"
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def preparing(what: str, place: Path, lock: Path) -> Iterator[None]:
    """Only one process at a time makes `what` at `place`, in the cache.

    Raises:
        MissingDependency: if the operating system refuses to write there.
    """
    from filelock import FileLock

    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock):
            yield
    except OSError as error:
        raise MissingDependency(
            f"{what} could not be prepared ({error})",
            where=str(place),
            remedy="Make room there, or name another folder with KB_CACHE",
        ) from error


def path_of(uri: str) -> Path:
    """The path of a `file://` uri."""
    return Path(unquote(urlsplit(uri).path))
