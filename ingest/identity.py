"""Which source a file is, and whether it changed, without reading it as a document."""

from __future__ import annotations

import hashlib
import os
import stat
import time
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from kb.errors import UnreadableSource
from kb.text import printable, stable_id

_SETTLED_NS = 2_000_000_000  # file systems keep times to two seconds, at worst


class SourceKey(NamedTuple):
    """What tells a source apart (`id`, made from its `uri`) and its content (`sha256`, in hexadecimal)."""

    id: str
    uri: str
    sha256: str


def source_of(path: Path) -> SourceKey:
    """Identity and content hash of a file, without parsing it: the same hash needs no second reading.

    Links are followed and the path is put in NFC: a name is one name, however a file system spells it.

    Raises:
        UnreadableSource: if there is no such file, it is no file, or it may not be read.
    """
    where = printable(str(path))
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            enter(path)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableSource("this is no file", where=where, remedy="Name a file, or a folder of files")
        stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        # A file that was written a moment ago may change again without a new stamp.
        is_settled = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED_NS
        digest = (_digest if is_settled else _digest.__wrapped__)(path, stamp)
        uri = Path(unicodedata.normalize("NFC", str(path.resolve()))).as_uri()
    except OSError as error:
        raise inaccessible(error, where) from error
    return SourceKey(stable_id(uri), uri, digest)


@lru_cache(maxsize=100_000)
def _digest(path: Path, stamp: tuple[int, ...]) -> str:  # noqa: ARG001  the key under which a digest is remembered
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def enter(folder: Path) -> None:
    """
    Raises:
        OSError: if what the folder holds cannot be listed, or not be reached: a folder needs both rights.
    """
    os.scandir(folder).close()
    os.stat(os.path.join(folder, "."))  # noqa: PTH116, PTH118 - `Path` would take the dot away


def inaccessible(error: OSError, where: str) -> UnreadableSource:
    if isinstance(error, PermissionError):
        return UnreadableSource("no right to read it", where=where, remedy="Grant it: chmod +r, and +x on its folders")
    return UnreadableSource(f"it cannot be opened ({error.strerror})", where=where, remedy="Check the path")
