"""The index interface: one small protocol, two engines (embedded Qdrant, a Qdrant server), the same answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kb.types import Chunk, Filters, Source

Dense = NDArray[np.float32]


class Sparse(NamedTuple):
    """A sparse vector: term ids and their weights, of equal length."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class IndexRecipe:
    """What built an index: every dense list with its dimension, and one fingerprint of models, prefixes, tokenizer
    and chunker. Two indexes with the same recipe may be mixed; no others."""

    fingerprint: str
    dense: Mapping[str, int]  # list name -> dimension; the lexical list is always there, with Qdrant's IDF


@dataclass(frozen=True)
class Point:
    """A chunk as it is written: `dense` by list name, normalised to length 1."""

    chunk: Chunk
    source: Source
    revision: str
    dense: Mapping[str, Dense]
    lexical: Sparse


class Found(NamedTuple):
    """A stored chunk and its raw score in one list: cosine, or the lexical sum."""

    chunk: Chunk
    source: Source
    revision: str
    score: float


class Store(Protocol):
    """Chunks in Qdrant. A point's id comes from its chunk id and revision, so revisions never overwrite each other."""

    def ensure(self, recipe: IndexRecipe) -> None:
        """Create the collection, or check that it was built by `recipe`.

        Raises:
            IndexMismatch: before any write, if another recipe built it.
            LibraryBusy: if another process owns the embedded engine's folder.
        """
        ...

    def upsert(self, points: Sequence[Point]) -> None: ...

    def delete(self, source_id: str, *, keep: str | None = None) -> None:
        """Remove the points of a source, all revisions but `keep`."""
        ...

    def search(self, list_name: str, vector: Dense | Sparse, filters: Filters, limit: int) -> list[Found]:
        """The best `limit` chunks of one list (a dense list's name, or `lexical`), best first, ties by chunk id."""
        ...

    def get(self, chunk_ids: Sequence[str]) -> list[Found]:
        """Stored chunks by id, in the order asked, missing ones left out; score 0."""
        ...

    def revisions(self) -> dict[str, set[str]]:
        """Source id -> revisions that have points."""
        ...

    def count(self) -> int: ...

    def optimize(self) -> None:
        """Build what makes searching fast; after bulk writes, never in a request."""
        ...

    def close(self) -> None: ...
