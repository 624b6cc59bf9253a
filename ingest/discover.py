"""Files to read below the given paths, in an order that is the same everywhere."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.formats import KINDS
from ingest.identity import enter
from ingest.talk import TALK_FILE
from kb.text import printable
from kb.types import Dropped

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".kbignore"
_LIBRARY_FILES = ("catalog.db", "writer.lock")  # whatever the folder is called


def discover(paths: Iterable[Path]) -> Iterator[Path | Dropped]:
    """Files to load, each once, and what a folder holds besides, with the reason why it is left out.

    A path that is no folder is given back whatever it is: someone named it, so `load` shall say what is wrong with it.
    So is a folder that cannot be opened, because nobody knows what is lost with it. In folders, hidden entries,
    libraries, other kinds of files and what `.kbignore` lists (in the language of `.gitignore`, in any folder) are left
    out. Links are followed where they stay inside the given folder.
    """
    seen: set[Path] = set()
    for path in paths:
        if _is_folder(path):
            yield from _Walk(_real(path), seen).folder(path, ())
        elif (real := _real(path)) not in seen:
            seen.add(real)
            yield path


@dataclass
class _Walk:
    root: Path
    seen: set[Path] = field(default_factory=set)  # real paths of files and folders

    def folder(self, folder: Path, rules: tuple[tuple[Path, GitIgnoreSpec], ...]) -> Iterator[Path | Dropped]:
        if (real := _real(folder)) in self.seen:
            yield _dropped(folder, "the same folder as one already read")
            return
        self.seen.add(real)
        try:
            entries = sorted(folder.iterdir(), key=lambda entry: (unicodedata.normalize("NFC", entry.name), entry.name))
            enter(folder)
        except OSError:
            yield folder
            return
        if {entry.name for entry in entries}.issuperset(_LIBRARY_FILES):
            yield _dropped(folder, "a library: what it was made from is read, not what it made of that")
            return
        if (ignore := folder / IGNORE_FILE).is_file():
            try:
                lines = ignore.read_text(encoding="utf-8", errors="replace").splitlines()
            except OSError as error:
                reason = f"its {IGNORE_FILE} cannot be read ({error.strerror}); grant the right to read it"
                yield _dropped(folder, reason)
                return
            spec, invalid = _rules(lines)
            rules = (*rules, (folder, spec))
            yield from (_dropped(ignore, f"line {number} is no pattern and leaves nothing out") for number in invalid)
        for entry in entries:
            if entry.name not in (IGNORE_FILE, TALK_FILE):
                yield from self._entry(entry, rules)

    def _entry(self, path: Path, rules: tuple[tuple[Path, GitIgnoreSpec], ...]) -> Iterator[Path | Dropped]:
        if reason := self._reason_to_leave(path, rules):
            yield _dropped(path, reason)
        elif _is_folder(path):
            yield from self.folder(path, rules)
        else:
            self.seen.add(_real(path))
            yield path

    def _reason_to_leave(self, path: Path, rules: tuple[tuple[Path, GitIgnoreSpec], ...]) -> str | None:
        if path.name.startswith("."):
            return "hidden"
        if path.name.startswith("~$"):
            return "an office program's mark that the file is open"
        if _ignored(path, rules):
            return f"listed in {IGNORE_FILE}"
        try:
            real = _real(path, strict=True)
        except OSError:
            return "a link that leads nowhere" if path.is_symlink() else None  # gone since: its reader will tell
        if not real.is_relative_to(self.root):
            return "a link that leads out of the folder; add its target by its own path"
        if real.is_dir():
            return None
        if not real.is_file():
            return "neither a file nor a folder"
        if path.suffix.lower() not in KINDS:
            return f"no reader for {printable(path.suffix) or 'a file without a suffix'}"
        return "the same file as one already read" if real in self.seen else None


def _is_folder(path: Path) -> bool:
    """`Path.is_dir`, which raises on names that are too long and below folders that are closed, without raising."""
    return os.path.isdir(path)  # noqa: PTH112


def _real(path: Path, *, strict: bool = False) -> Path:
    """`Path.resolve` without its RuntimeError on a link to itself."""
    return Path(os.path.realpath(path, strict=strict))


def _rules(lines: Sequence[str]) -> tuple[GitIgnoreSpec, list[int]]:
    """The patterns, and the numbers of the lines that are none."""
    from pathspec import GitIgnoreSpec

    invalid = []
    for number, line in enumerate(lines, 1):
        try:
            GitIgnoreSpec.from_lines([line])
        except (ValueError, re.error):
            invalid.append(number)
    return GitIgnoreSpec.from_lines(line for number, line in enumerate(lines, 1) if number not in invalid), invalid


def _ignored(path: Path, rules: tuple[tuple[Path, GitIgnoreSpec], ...]) -> bool:
    """The deepest `.kbignore` that says something about `path` decides, as in Git."""
    slash = "/" if _is_folder(path) else ""
    for folder, spec in reversed(rules):
        verdict = spec.check_file(path.relative_to(folder).as_posix() + slash).include
        if verdict is not None:
            return verdict
    return False


def _dropped(path: Path, reason: str) -> Dropped:
    return Dropped(what=printable(path.name), where=printable(str(path)), reason=reason)


def is_ignored(path: Path, root: Path) -> bool:
    """Whether a `.kbignore` in `root` or between it and `path` lists `path` or a folder above it."""
    rules: tuple[tuple[Path, GitIgnoreSpec], ...] = ()
    folder = root
    for part in path.relative_to(root).parts:
        try:
            lines = (folder / IGNORE_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        rules = (*rules, (folder, _rules(lines)[0]))
        folder = folder / part
        if _ignored(folder, rules):
            return True
    return False


def vanished(path: Path, error: BaseException | None) -> bool:
    """Whether `error` says that the file went after it was found, or it is gone now; it may have come back since."""
    while error is not None:
        is_missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        if is_missing and str(getattr(error, "filename", None) or path) == str(path):
            return True
        error = error.__cause__
    return not os.path.lexists(path)
