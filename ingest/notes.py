"""Written sources: Markdown, plain text, reStructuredText and gettext catalogues."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ingest import markdown, restructured, translations
from ingest.decode import read_text
from ingest.markdown import Outline, paragraphs
from ingest.parsed import Block, Parsed, Reading
from kb.errors import UnreadableSource
from kb.text import printable
from kb.types import Role


def read(path: Path, reading: Reading) -> Parsed:  # noqa: ARG001  every reader takes both
    """A note as verbatim blocks, each with its heading path and its lines in the file, counted from 1.

    Raises:
        UnreadableSource: if the file holds no text, or is not what its suffix says.
    """
    where = printable(path.name)
    parsed = _FORMATS[path.suffix.lower()](read_text(path), where)
    if not parsed.blocks:
        raise UnreadableSource("it holds no text", where=where)
    return parsed


def _plain(text: str) -> Parsed:
    lines = text.split("\n")
    place = Outline()
    return Parsed(
        tuple(
            Block("\n".join(lines[start:end]), place.mark(start + 1, end), Role.BODY)
            for start, end in paragraphs(lines)
        )
    )


_FORMATS: dict[str, Callable[[str, str], Parsed]] = {
    ".md": markdown.read,
    ".markdown": markdown.read,
    ".txt": lambda text, _: _plain(text),
    ".rst": lambda text, _: restructured.read(text),
    ".po": translations.read,
}
