"""Written sources: Markdown, MDX, plain text, reStructuredText, notebooks, web pages and gettext catalogues."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from ingest.decode import read_text
from ingest.markup import directives, html, includes, markdown, notebook, restructured, translations
from ingest.markup.outline import Outline, paragraphs
from ingest.parsed import Block, Parsed, Reading
from kb.errors import KBError, UnreadableSource
from kb.text import printable
from kb.types import Role

MARKDOWN = (".md", ".markdown", ".mdx")


def read(path: Path, reading: Reading) -> Parsed:  # noqa: ARG001  every reader takes both
    """A note as blocks, each with its heading path and its lines in the file, counted from 1.

    Raises:
        UnreadableSource: if the file holds no text, or is not what its suffix says.
    """
    where = printable(path.name)
    parsed = _FORMATS[path.suffix.lower()](path, where)
    if not parsed.blocks:
        raise UnreadableSource(
            "it holds no text", where=where, remedy="Write something in it, or list it in .kbignore to pass it over"
        )
    return parsed


def means(path: Path) -> str:
    """Names what decides on a note besides its own bytes: the text of the files that it includes."""
    suffix = path.suffix.lower()
    if suffix not in _INCLUDING or not _INCLUDING[suffix][0].search(path.read_bytes()):
        return ""
    try:
        expanded = _INCLUDING[suffix][1](read_text(path).split("\n"), path, "")
    except KBError:
        return ""  # reading it will tell
    return hashlib.sha256("\n".join(expanded.lines).encode()).hexdigest()


def _markdown(path: Path, where: str) -> Parsed:
    expanded = includes.expand(read_text(path).split("\n"), path, where)
    return markdown.read_lines(
        expanded.lines, expanded.numbers, where, mdx=path.suffix.lower() == ".mdx", dropped=expanded.dropped
    )


def _restructured(path: Path, where: str) -> Parsed:
    expanded = directives.expand(read_text(path).split("\n"), path, where)
    return restructured.read_lines(expanded.lines, expanded.numbers, where, dropped=expanded.dropped)


def _plain(path: Path, where: str) -> Parsed:  # noqa: ARG001
    lines = read_text(path).split("\n")
    place = Outline()
    return Parsed(
        tuple(
            Block("\n".join(lines[start:end]), place.mark(start + 1, end), Role.BODY)
            for start, end in paragraphs(lines)
        )
    )


_FORMATS: dict[str, Callable[[Path, str], Parsed]] = {
    **dict.fromkeys(MARKDOWN, _markdown),
    ".txt": _plain,
    ".rst": _restructured,
    **dict.fromkeys((".html", ".htm"), html.read),
    ".ipynb": lambda path, where: notebook.read(read_text(path), where),
    ".po": lambda path, where: translations.read(read_text(path), where),
}
_INCLUDING = {
    **dict.fromkeys(MARKDOWN, (includes.MARKERS, includes.expand)),
    ".rst": (directives.MARKERS, directives.expand),
}
