"""The titles above a chunk: what its source, section or slide is called, as far as its own text does not say so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from ingest.chunking.pieces import Piece, is_boundary
from kb.types import Document, Mark, Page, Role

_JOINT = " > "


class Titles:
    """The contexts of one document's chunks.

    Args:
        count: tokens of a text, without prefix and special tokens.
        limit: tokens that a context may have.
    """

    def __init__(self, document: Document, count: Callable[[str], int], limit: int) -> None:
        self._source = _one_line(document.source.title)
        self._count = count
        self._limit = limit
        self._trimmed: dict[tuple[str, ...], str] = {}
        self._slides: dict[int, str] = {}
        for segment in document.segments:
            if isinstance(segment.locator, Page) and segment.role is Role.TITLE:
                self._slides.setdefault(segment.locator.number, segment.text)

    def above(self, group: Sequence[Piece]) -> str:
        """`Source > Chapter > Section`, trimmed from the middle and then from the end to fit the limit."""
        own = {_one_line(title) for title in self._shown(group)}
        titles = (self._source, *map(_one_line, self._path(group)))
        parts = tuple(dict.fromkeys(title for title in titles if title and title not in own))
        if parts not in self._trimmed:
            self._trimmed[parts] = self._trim(parts)
        return self._trimmed[parts]

    def _path(self, group: Sequence[Piece]) -> tuple[str, ...]:
        """The headings that all pieces share, or the title of the slide."""
        first = group[0].segment.locator
        if isinstance(first, Page):
            return (self._slides.get(first.number, ""),)
        if not isinstance(first, Mark):
            return ()
        marks = (piece.segment.locator for piece in group)
        paths = [mark.heading_path for mark in marks if isinstance(mark, Mark)]
        return tuple(level[0] for level in takewhile(lambda level: len(set(level)) == 1, zip(*paths, strict=False)))

    @staticmethod
    def _shown(group: Sequence[Piece]) -> list[str]:
        """Titles that stand in the text itself."""
        titles = (piece.segment for piece in group if piece.segment.role is Role.TITLE)
        return [
            title.locator.heading_path[-1]
            if isinstance(title.locator, Mark) and title.locator.heading_path
            else title.text
            for title in titles
        ]

    def _trim(self, parts: tuple[str, ...]) -> str:
        for kept in (parts, (*parts[:1], *parts[-1:]), parts[-1:]):
            text = _JOINT.join(dict.fromkeys(kept))
            if self._count(text) <= self._limit:
                return text
        while text and self._count(text) > self._limit:
            end = len(text) * 3 // 4
            while end and not is_boundary(text, end):
                end -= 1
            text = text[:end].rstrip()
        return text


def _one_line(title: str) -> str:
    return " ".join(title.split())
