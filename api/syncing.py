"""A library made equal to a folder: what is new is read, what is gone removed, what has another name renamed."""

from __future__ import annotations

import stat
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from api.base import OnProgress
from api.batch import Batch, removal
from index.library import Library
from ingest.discover import is_ignored
from kb.errors import NotFound
from kb.files import path_of
from kb.types import Change, Outcome, SourceEntry


def sync(library: Library, batch: Batch, folder: Path, on_progress: OnProgress) -> Iterator[Change]:
    """As `Batch.add`, and sources below `folder` go whose file is gone or listed in a `.kbignore`.

    Raises:
        NotFound: if there is no such folder, or it is empty but had sources: a disk that is not mounted looks like
            this.
    """
    root = folder.resolve()
    below = [entry for entry in library.catalog.entries() if path_of(entry.source.uri).is_relative_to(root)]
    _check_stands(folder, below)
    gone = [entry for entry in below if not _exists(entry)]
    for change in batch.add([folder], on_progress, gone=gone):
        if change.outcome is Outcome.FAILED:
            _check_stands(folder, below)
        yield change
    _check_stands(folder, below)
    known = {entry.source.id for entry in library.catalog.entries()} - set(batch.met)
    for entry in below:
        if entry.source.id in known and _is_to_go(entry, root, folder, below):
            yield removal(library.remove(entry.source.id))


def _is_to_go(entry: SourceEntry, root: Path, folder: Path, below: Sequence[SourceEntry]) -> bool:
    if is_ignored(path_of(entry.source.uri), root):
        return True
    if _exists(entry):
        return False
    _check_stands(folder, below)
    return not _exists(entry)  # the folder itself may have been gone for a moment


def _check_stands(folder: Path, below: Sequence[SourceEntry]) -> None:
    if not folder.is_dir():
        raise NotFound("there is no such folder", where=str(folder), remedy="Nothing was removed")
    try:
        is_empty = not any(folder.iterdir())
    except OSError:
        return  # reading it will tell
    if below and is_empty:
        remedy = "Nothing was removed. Mount the disk that it stands for, or remove the sources with `kb rm`"
        raise NotFound(
            f"the folder is empty, but the library has {len(below)} sources of it", where=str(folder), remedy=remedy
        )


def _exists(entry: SourceEntry) -> bool:
    """Whether the source has its file, however the file system spells the name."""
    path = path_of(entry.source.uri)
    try:
        return not stat.S_ISDIR(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return _is_spelled_otherwise(path)
    except OSError:
        return True  # it cannot be seen, which does not prove that it is gone


def _is_spelled_otherwise(path: Path) -> bool:
    """Whether there is a file whose path becomes `path` in NFC."""
    if str(path).isascii():
        return False
    reached = [Path(path.anchor)]
    for part in path.parts[1:]:
        reached = [entry for folder in reached for entry in _named(folder, part)]
    return any(entry.is_file() for entry in reached)


def _named(folder: Path, name: str) -> list[Path]:
    try:
        return [entry for entry in folder.iterdir() if unicodedata.normalize("NFC", entry.name) == name]
    except OSError:
        return []
