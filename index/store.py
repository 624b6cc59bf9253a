"""The index interface: one small protocol, two engines (embedded Qdrant, a Qdrant server), the same answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


class Request(NamedTuple):
    """One list (a dense list's name, or `lexical`) is asked for its best `limit` chunks."""

    list_name: str
    vector: Dense | Sparse
    filters: Filters
    limit: int


Write = Callable[[Sequence[Point]], None]


class Store(Protocol):
    """Chunks in Qdrant. A point's id comes from its chunk id and revision, so revisions never overwrite each other.

    Safe to use from many threads. Points are found whatever their revision; which revisions are live, `Library` knows.
    """

    @property
    def exclusive(self) -> bool:
        """Whether the owner of this store is the only one, on all machines."""
        ...

    def ensure(self, recipe: IndexRecipe) -> None:
        """Create the collection, or check that it was built by `recipe`.

        Raises:
            IndexMismatch: before any write, if another recipe built it.
            LibraryBusy: if another process owns the embedded engine's folder.
        """
        ...

    def rebuild(self, recipe: IndexRecipe, fill: Callable[[Write], None]) -> None:
        """Build an index by `recipe` beside this one, filled by `fill(write)`, then serve it and remove the old one.

        Needs no `ensure`. If `fill` raises, or the process dies, the old index is served as before.
        """
        ...

    def upsert(self, points: Sequence[Point]) -> None:
        """Write points, replacing those of the same chunk and revision.

        Raises:
            IndexMismatch: if a vector is missing or has another dimension than the recipe says.
            BadRequest: if a vector holds a number that is not finite. In both cases nothing is written.
        """
        ...

    def delete(self, source_id: str, *, keep: str | None = None) -> None:
        """Remove the points of a source, all revisions but `keep`."""
        ...

    def search(self, list_name: str, vector: Dense | Sparse, filters: Filters, limit: int) -> list[Found]:
        """The best `limit` chunks of one list (a dense list's name, or `lexical`), best first, ties by chunk id.

        Scores are rounded to 5 decimals, and near ties count as ties, so that every engine gives the same order.
        """
        ...

    def search_batch(self, requests: Sequence[Request]) -> list[list[Found]]:
        """What `search` gives for each request, in one go: what several lists find is read once."""
        ...

    def get(self, chunk_ids: Sequence[str]) -> list[Found]:
        """Stored chunks by id in every revision, in the order asked, missing ones left out; score 0."""
        ...

    def revisions(self) -> dict[str, set[str]]:
        """Source id -> revisions that have points."""
        ...

    def count(self) -> int: ...

    def optimize(self) -> None:
        """Build what makes searching fast; after bulk writes, never in a request."""
        ...

    def close(self) -> None: ...
