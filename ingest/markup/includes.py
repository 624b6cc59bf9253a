"""What a Markdown note includes, put in its place as the built page does: snippets (`--8<--`), `{% include %}`, and
partials of MDX. Each included line carries the line of the note that asks for it.

A note is data, whoever wrote it: only files of its own documentation are read, never hidden ones, never through a link
that leads out, and nothing from the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ingest.decode import read_text
from ingest.markup import frontmatter
from kb.errors import KBError
from kb.text import printable
from kb.types import Dropped

_ROOT_FILES = ("mkdocs.yml", "mkdocs.yaml", "zensical.toml", "conf.py", "docusaurus.config.js", "docusaurus.config.ts")
_MOST_DEEP = 6  # includes inside includes
MOST_LINES = 20_000  # a note with all that it includes
_MOST_FILES = 500
_MOST_CHARACTERS = 4_000_000  # included: a line may be as long as a file
_SNIPPET = re.compile(r"(?P<indent>[ \t]*)-+8<-+[ \t]+[\"'](?P<target>[^\"']+)[\"'][ \t]*$")
_SNIPPETS = re.compile(r"[ \t]*-+8<-+[ \t]*$")  # opens and closes a list of them
_TEMPLATE = re.compile(r"(?P<indent>[ \t]*)\{%-?\s*include(?:-markdown)?\s+[\"'](?P<target>[^\"']+)[\"'].*%\}[ \t]*$")
_IMPORT = re.compile(r"import\s+(?P<name>[A-Z]\w*)\s+from\s+[\"'](?P<target>[^\"']+\.mdx?)[\"'];?\s*$")
_ELEMENT = re.compile(r"(?P<indent>[ \t]*)<(?P<name>[A-Z]\w*)\s*/>\s*$")
_MARK = re.compile(r"-8<-+[ \t]+\[ *(?P<edge>start|end) *: *(?P<name>[\w.-]+) *\]")
_CHOICE = re.compile(r"(?P<file>.+?)(?::(?P<first>\d{0,9})(?::(?P<last>\d{0,9}))?|:(?P<section>[A-Za-z_][\w.-]*))?$")
# One of these stands in every note that includes.
MARKERS = re.compile(rb"8<|\{%-?\s*include|import\s[^\n]*\.mdx?[\"']")


@dataclass
class Expanded:
    """A note's lines with those that it includes, and the line of the note, counted from 1, that each belongs to."""

    lines: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    where: str = ""
    files: int = 0
    characters: int = 0  # of the files that are included
    is_full: bool = False  # nothing more is included: told once

    def add(self, line: str, number: int) -> None:
        self.lines.append(line)
        self.numbers.append(number)

    def has_room(self, target: str, number: int, lines: Sequence[str]) -> bool:
        """Whether another file, of these lines, may be included; the first one that may not is told."""
        self.files += 1
        self.characters += sum(map(len, lines))
        total = len(self.lines) + len(lines)
        if self.files > _MOST_FILES or total > MOST_LINES or self.characters > _MOST_CHARACTERS:
            self.is_full = True
            most = f"{_MOST_FILES} files, {MOST_LINES:,} lines or {_MOST_CHARACTERS:,} characters"
            self.miss(target, number, f"more than {most}: no more is included")
        return not self.is_full

    def miss(self, target: str, number: int, reason: str) -> None:
        what = f"included file {printable(target)!r}"
        missed = Dropped(what=what, where=f"{self.where}, line {number}", reason=reason)
        if missed not in self.dropped:
            self.dropped.append(missed)


class Include(NamedTuple):
    target: str
    indent: str = ""


def expand(lines: Sequence[str], path: Path, where: str) -> Expanded:
    """`lines` of the note at `path` with all that they include; what cannot be is told, and its line stays."""
    expanded = Expanded(where=where)
    _expand(list(zip(lines, range(1, len(lines) + 1), strict=True)), (path,), "", expanded)
    return expanded


def _expand(lines: Sequence[tuple[str, int]], chain: tuple[Path, ...], indent: str, into: Expanded) -> None:
    partials = {found["name"]: found["target"] for line, _ in lines if (found := _IMPORT.match(line))}
    for line, number, includes in _asked(lines, partials):
        read = [_read(include, number, chain, into) for include in includes]
        if not includes or not any(read):
            into.add(indent + line if line.strip() else line, number)
        for include, file in zip(includes, read, strict=True):
            if file:
                _expand([(text, number) for text in file.lines], (*chain, file.path), indent + include.indent, into)


def _asked(
    lines: Sequence[tuple[str, int]], partials: dict[str, str]
) -> Iterator[tuple[str, int, tuple[Include, ...]]]:
    """Every line with what it includes; a list of snippets comes as the line that opens it."""
    closing = -1
    for at, (line, number) in enumerate(lines):
        if at <= closing:
            continue
        if _SNIPPETS.match(line):
            closing = next((end for end in range(at + 1, len(lines)) if _SNIPPETS.match(lines[end][0])), -1)
            names = (text.strip() for text, _ in lines[at + 1 : max(closing, at)])
            indent = line[: len(line) - len(line.lstrip())]
            yield line, number, tuple(Include(name, indent) for name in names if name and not name.startswith(";"))
        elif found := _SNIPPET.match(line) or _TEMPLATE.match(line):
            yield line, number, (Include(found["target"], found["indent"]),)
        elif (found := _ELEMENT.match(line)) and found["name"] in partials:
            yield line, number, (Include(partials[found["name"]], found["indent"]),)
        else:
            yield line, number, ()


class Found(NamedTuple):
    path: Path
    lines: list[str]


def _read(include: Include, number: int, chain: tuple[Path, ...], into: Expanded) -> Found | None:
    choice = _CHOICE.fullmatch(include.target)
    assert choice is not None
    path = locate(choice["file"], number, chain, into)
    if path is None:
        return None
    try:
        lines = read_text(path).split("\n")
    except (KBError, OSError) as error:
        into.miss(include.target, number, f"it cannot be read: {error}")
        return None
    if path.suffix.lower() in (".md", ".mdx", ".markdown"):
        lines = lines[frontmatter.read(lines, "").lines :]
    chosen = _chosen(lines, choice)
    if chosen is None:
        into.miss(include.target, number, f"it has no section {choice['section']}")
        return None
    if not into.has_room(include.target, number, chosen):
        return None
    while chosen and not chosen[-1].strip():
        chosen.pop()
    return Found(path, chosen)


def _chosen(lines: list[str], choice: re.Match[str]) -> list[str] | None:
    """The lines of a file that are asked for: by numbers, by the name of a section, or all. Marks are left out."""
    if choice["section"]:
        edges = {found["edge"]: at for at, line in enumerate(lines) if (found := _is_mark(line, choice["section"]))}
        if "start" not in edges:
            return None
        lines = lines[edges["start"] + 1 : edges.get("end", len(lines))]
    elif choice["first"] is not None:
        first, last = int(choice["first"] or 1), int(choice["last"] or len(lines))
        lines = lines[max(first - 1, 0) : last]
    return [line for line in lines if not _MARK.search(line)]


def _is_mark(line: str, section: str) -> re.Match[str] | None:
    found = _MARK.search(line)
    return found if found and found["name"] == section else None


def locate(target: str, number: int, chain: tuple[Path, ...], into: Expanded) -> Path | None:
    """The file that a note includes, if it may; else the reason is told in `into`, once where it is full.

    Args:
        target: as the note names it, relative to itself or to a folder above it inside its documentation.
        chain: the note and the files through which it got here.
    """
    if into.is_full:
        return None
    path = None
    if "://" in target:
        reason = "nothing is fetched from the network"
    elif len(chain) > _MOST_DEEP:
        reason = "too many files deep"
    elif (path := _find(target, chain)) is None:
        reason = "there is no such file in the note's documentation; its text is not read here"
    elif path in (each.resolve() for each in chain):
        reason = "it includes itself"
    else:
        return path
    into.miss(target, number, reason)
    return None


def _find(target: str, chain: tuple[Path, ...]) -> Path | None:
    root = documentation_of(chain[0])
    for folder in (start for path in reversed(chain) for start in (path.resolve().parent, *path.resolve().parents)):
        if not folder.is_relative_to(root):
            continue
        try:
            found = (folder / target.lstrip("/")).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            continue
        inside = found.is_relative_to(root) and found.is_file()
        if inside and not any(part.startswith(".") for part in found.relative_to(root).parts):
            return found
    return None


def documentation_of(note: Path) -> Path:
    """The folder that a note's documentation is built from; without a sign of one, the note's own folder."""
    folder = note.resolve().parent
    for above in (folder, *folder.parents):
        if any((above / name).is_file() for name in _ROOT_FILES):
            return above
    return folder
