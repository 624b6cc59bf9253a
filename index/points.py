"""What a point holds and what may be asked of it, the same for every engine."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from index.store import Dense, Found, IndexRecipe, Point, Sparse
from kb.errors import BadRequest, IndexMismatch
from kb.text import stable_id
from kb.types import Chunk, Filters, Source

LEXICAL = "lexical"
_DECIMALS = 5  # what single precision keeps of a lexical score

# Every field that a filter, a deletion or a facet names; an engine that is asked without an index scans every point.
PAYLOAD_INDEXES: Mapping[str, Literal["keyword", "integer"]] = {
    "chunk_id": "keyword",
    "source_id": "keyword",
    "revision": "keyword",
    "edition": "keyword",  # source and revision as one value, so that one facet lists them all
    "kind": "keyword",
    "talk": "keyword",
    "lang": "keyword",
    "version": "keyword",
    "date": "integer",  # days since 0001-01-01, as `date.toordinal` counts them
}


class AnyOf(NamedTuple):
    """The field holds one of the values."""

    field: str
    values: tuple[str, ...]


class Between(NamedTuple):
    """The field lies between the bounds, both included; None leaves a side open."""

    field: str
    low: int | None
    high: int | None


def conditions(filters: Filters) -> list[AnyOf | Between]:
    """What must hold, all of it. A point without the field never matches."""
    wanted = {
        "kind": tuple(kind.value for kind in filters.kinds),
        "lang": filters.langs,
        "talk": filters.talks,
        "source_id": filters.sources,
        "version": filters.versions,
    }
    found: list[AnyOf | Between] = [AnyOf(field, values) for field, values in wanted.items() if values]
    if filters.since or filters.until:
        low, high = (day.toordinal() if day else None for day in (filters.since, filters.until))
        found.append(Between("date", low, high))
    return found


def point_id(point: Point) -> str:
    return stable_id(point.chunk.id, point.revision)


def vectors(point: Point) -> dict[str, Dense | Sparse]:
    """All lists of a point by name."""
    return {**point.dense, LEXICAL: point.lexical}


def edition(source_id: str, revision: str) -> str:
    return f"{source_id} {revision}"


def editions(values: Iterable[str]) -> dict[str, set[str]]:
    """The inverse of `edition` over many: source id -> revisions."""
    found: dict[str, set[str]] = {}
    for value in values:
        source_id, _, revision = value.rpartition(" ")
        found.setdefault(source_id, set()).add(revision)
    return found


def payload(point: Point) -> dict[str, Any]:
    """The chunk and its source as JSON, and the fields of `PAYLOAD_INDEXES` that they have."""
    fields = {
        "chunk_id": point.chunk.id,
        "source_id": point.source.id,
        "revision": point.revision,
        "edition": edition(point.source.id, point.revision),
        "kind": point.source.kind.value,
        "talk": point.source.talk,
        "lang": point.chunk.lang,
        "version": point.source.version,
        "date": point.source.date.toordinal() if point.source.date else None,
    }
    present = {field: value for field, value in fields.items() if value is not None}
    return {"chunk": point.chunk.model_dump_json(), "source": point.source.model_dump_json(), **present}


def found(stored: Mapping[str, Any]) -> Found:
    """The inverse of `payload`."""
    chunk = Chunk.model_validate_json(stored["chunk"])
    return Found(chunk, _source(stored["source"]), stored["revision"], 0.0)


@functools.lru_cache(maxsize=4096)
def _source(text: str) -> Source:
    return Source.model_validate_json(text)  # the same text stands in each point of the source


def in_order(hits: Iterable[Found], chunk_ids: Sequence[str]) -> list[Found]:
    place = {chunk_id: index for index, chunk_id in enumerate(chunk_ids)}
    return sorted(hits, key=lambda hit: (place[hit.chunk.id], hit.revision))


def check_points(points: Sequence[Point], recipe: IndexRecipe) -> None:
    """Raises what `check_vector` raises, and IndexMismatch if a point lacks a list of the recipe."""
    for point in points:
        if point.dense.keys() != recipe.dense.keys():
            raise IndexMismatch(
                f"the chunk has the vectors {sorted(point.dense)}, the index takes {sorted(recipe.dense)}",
                where=f"chunk {point.chunk.id}",
                remedy="Build the index anew with `kb rebuild`",
            )
        for name, vector in point.dense.items():
            check_vector(name, vector, recipe)
        check_vector(LEXICAL, point.lexical, recipe)


def check_vector(name: str, vector: Dense | Sparse, recipe: IndexRecipe) -> None:
    """Raise before a vector that cannot be compared reaches an engine; some take it silently.

    Raises:
        IndexMismatch: if the recipe has no such list, or the list another dimension.
        BadRequest: if a number is not finite, or a sparse vector's term ids are not unique and as many as its weights.
    """
    if isinstance(vector, Sparse):
        ok = name == LEXICAL and len(set(vector.indices)) == len(vector.indices) == len(vector.values)
        if not ok or not all(map(math.isfinite, vector.values)):
            raise BadRequest("a sparse vector needs unique term ids with one finite weight each", where=f"list {name}")
        return
    if name not in recipe.dense or vector.shape != (recipe.dense[name],):
        takes = f"takes {recipe.dense[name]} numbers" if name in recipe.dense else "is not in this index"
        raise IndexMismatch(
            f"the list {takes}, the vector has the shape {vector.shape}",
            where=f"list {name}",
            remedy="Another embedder built this index; build it anew with `kb rebuild`",
        )
    if not np.isfinite(vector).all():
        raise BadRequest("the embedder gave a vector with a number that is not finite", where=f"list {name}")
