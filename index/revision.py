"""A revision of a source: its name, and the points that make it searchable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from index.store import Dense, Point, Sparse
from kb.text import stable_id
from kb.types import Chunk, Document

BATCH = 64  # chunks that are embedded and written together


@dataclass(frozen=True)
class Vectors:
    """Of one chunk: the dense vectors by list name, each of length 1, and the lexical one."""

    dense: Mapping[str, Dense]
    lexical: Sparse


Embed = Callable[[Sequence[Chunk]], Sequence[Vectors]]
"""The vectors of some chunks (a batch of at most 64), in their order."""

Split = Callable[[Document], Sequence[Chunk]]
"""The chunks of a document, in their order."""


def revision_of(document: Document, chunks: Sequence[Chunk]) -> str:
    """Named by content: the same document, cut alike, is the same revision in every run and on every machine."""
    return stable_id(document.model_dump_json(), *(chunk.model_dump_json() for chunk in chunks))


def points_of(document: Document, chunks: Sequence[Chunk], embed: Embed, revision: str) -> Iterator[list[Point]]:
    """The points of a revision, a batch at a time."""
    for start in range(0, len(chunks), BATCH):
        batch = chunks[start : start + BATCH]
        yield [
            Point(chunk, document.source, revision, vectors.dense, vectors.lexical)
            for chunk, vectors in zip(batch, embed(batch), strict=True)
        ]
