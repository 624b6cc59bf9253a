"""The embedded engine: Qdrant's own core in this process, in a folder that one process owns."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from index import points as p
from index.store import Dense, Found, IndexRecipe, Point, Sparse, Write
from kb.errors import IndexMismatch, LibraryBusy
from kb.types import Filters

if TYPE_CHECKING:
    import qdrant_edge as q

    Condition = (
        q.FieldCondition
        | q.IsEmptyCondition
        | q.IsNullCondition
        | q.HasIdCondition
        | q.HasVectorCondition
        | q.NestedCondition
        | q.Filter
    )

_EVERYTHING = 2**31 - 1
# Removed points count in the inverse document frequency until `optimize` sweeps them out; at this share it does, so
# that scores stay within 2 % of those of an index built anew.
_DELETED = 0.02


@dataclass(frozen=True)
class _Open:
    shard: q.EdgeShard
    recipe: IndexRecipe


class EdgeStore:
    """`Store` in `folder`: `owner.lock`, `CURRENT` (the name of the index that is served) and `<name>/` with its
    `recipe.json` and the engine's `shard/`.

    Writes survive the death of the process at once, and a power cut after `optimize` or `close`. The engine keeps no
    optimizer running: call `optimize` after bulk writes.
    """

    exclusive = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = FileLock(folder / "owner.lock", timeout=0, thread_local=False)
        self._open: _Open | None = None

    def ensure(self, recipe: IndexRecipe) -> None:
        if self._open is not None:
            if self._open.recipe != recipe:
                raise p.mismatch(self._open.recipe, recipe, str(self._folder))
            return
        with self._owned():
            current = self._current()
            if current is None:
                current = self._create(recipe)
                self._serve(current)
            stored = _read_recipe(current)
            if stored != recipe:
                raise p.mismatch(stored, recipe, str(self._folder))
            self._open = _Open(_load(current), recipe)
            self._remove_others(current)

    def rebuild(self, recipe: IndexRecipe, fill: Callable[[Write], None]) -> None:
        with self._owned():
            name = self._create(recipe)
            new = _Open(_load(name), recipe)
            fill(lambda points: _upsert(new, points))
            new.shard.optimize()
            new.shard.flush()
            self._serve(name)
            # The old shard is not closed: a search may be under way in it. It goes with its last reference.
            self._open = new
            self._remove_others(name)

    def upsert(self, points: Sequence[Point]) -> None:
        _upsert(self._opened, points)

    def delete(self, source_id: str, *, keep: str | None = None) -> None:
        import qdrant_edge as q

        source = q.FieldCondition("source_id", match=q.MatchValue(source_id))
        kept: list[Condition] = [] if keep is None else [q.FieldCondition("revision", match=q.MatchValue(keep))]
        doomed = q.Filter(must=[source], must_not=kept)
        self._opened.shard.update(q.UpdateOperation.delete_points_by_filter(doomed))

    def search(self, list_name: str, vector: Dense | Sparse, filters: Filters, limit: int) -> list[Found]:
        import qdrant_edge as q

        at = self._opened
        p.check_vector(list_name, vector, at.recipe)
        query = q.Query.Nearest(_vector(vector), using=list_name)
        condition = _filter(p.conditions(filters))

        def fetch(limit: int) -> list[p.Row]:
            request = q.QueryRequest(limit=limit, query=query, filter=condition, with_payload=True)
            return [p.Row(hit.score, hit.payload or {}) for hit in at.shard.query(request)]

        return p.best(fetch, limit)

    def get(self, chunk_ids: Sequence[str]) -> list[Found]:
        import qdrant_edge as q

        if not chunk_ids:
            return []
        wanted = _filter([p.AnyOf("chunk_id", tuple(chunk_ids))])
        request = q.ScrollRequest(limit=_EVERYTHING, filter=wanted, with_payload=True, with_vector=False)
        records, _ = self._opened.shard.scroll(request)
        return p.in_order((p.found(record.payload or {}) for record in records), chunk_ids)

    def revisions(self) -> dict[str, set[str]]:
        import qdrant_edge as q

        facet = self._opened.shard.facet(q.FacetRequest("edition", limit=_EVERYTHING, exact=True))
        return p.editions(hit.value for hit in facet if hit.count)

    def count(self) -> int:
        import qdrant_edge as q

        return int(self._opened.shard.count(q.CountRequest(exact=True)))

    def optimize(self) -> None:
        self._opened.shard.optimize()
        self._opened.shard.flush()

    def close(self) -> None:
        if self._open is not None:
            self._open.shard.flush()
            self._open.shard.close()
            self._open = None
        self._lock.release(force=True)

    @property
    def _opened(self) -> _Open:
        if self._open is None:
            raise RuntimeError("the store is used before `ensure` or after `close`")
        return self._open

    @contextmanager
    def _owned(self) -> Iterator[None]:
        """Own the folder, from here to `close`; no longer if what follows fails and nothing was open before."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire()
        except Timeout:
            raise LibraryBusy(
                "another process has this library open",
                where=str(self._folder.parent),
                remedy="Wait until it ends; while `kb serve` runs, commands on the same library go through it",
            ) from None
        try:
            yield
        finally:
            if self._open is None:
                self._lock.release(force=True)

    def _current(self) -> Path | None:
        try:
            folder = self._folder / (self._folder / "CURRENT").read_text("utf-8")
        except FileNotFoundError:
            return None
        return folder if folder.is_dir() else None

    def _create(self, recipe: IndexRecipe) -> Path:
        import qdrant_edge as q

        folder = self._folder / uuid.uuid4().hex[:8]
        folder.mkdir()
        (folder / "recipe.json").write_text(json.dumps(p.recipe_to_json(recipe), indent=1), "utf-8")
        config = q.EdgeConfig(
            vectors={
                name: q.EdgeVectorParams(size=size, distance=q.Distance.Cosine) for name, size in recipe.dense.items()
            },
            sparse_vectors={p.LEXICAL: q.EdgeSparseVectorParams(modifier=q.Modifier.Idf)},
            optimizers=q.EdgeOptimizersConfig(deleted_threshold=_DELETED, vacuum_min_vector_number=1),
        )
        shard = q.EdgeShard.create(str(folder / "shard"), config)
        schemas = {"keyword": q.PayloadSchemaType.Keyword, "integer": q.PayloadSchemaType.Integer}
        for field, schema in p.PAYLOAD_INDEXES.items():
            shard.update(q.UpdateOperation.create_field_index(field, schemas[schema]))
        shard.flush()
        shard.close()
        return folder

    def _serve(self, folder: Path) -> None:
        fresh = self._folder / "CURRENT.new"
        fresh.write_text(folder.name, "utf-8")
        fresh.replace(self._folder / "CURRENT")

    def _remove_others(self, current: Path) -> None:
        for folder in self._folder.iterdir():
            if folder.is_dir() and folder != current:
                shutil.rmtree(folder, ignore_errors=True)  # what is still in use goes at the next opening


def _read_recipe(folder: Path) -> IndexRecipe | None:
    try:
        return p.recipe_from_json(json.loads((folder / "recipe.json").read_text("utf-8")))
    except (FileNotFoundError, ValueError):
        return None


def _load(folder: Path) -> q.EdgeShard:
    import qdrant_edge as q

    try:
        return q.EdgeShard.load(str(folder / "shard"))
    except Exception as error:  # the engine raises no other type
        raise IndexMismatch(
            f"the index cannot be read ({error})", where=str(folder), remedy="Build it anew with `kb rebuild`"
        ) from error


def _upsert(at: _Open, points: Sequence[Point]) -> None:
    import qdrant_edge as q

    p.check_points(points, at.recipe)
    if not points:
        return
    rows = [
        q.Point(p.point_id(point), {name: _vector(v) for name, v in p.vectors(point).items()}, p.payload(point))
        for point in points
    ]
    at.shard.update(q.UpdateOperation.upsert_points(rows))


def _vector(vector: Dense | Sparse) -> list[float] | q.SparseVector:
    import qdrant_edge as q

    if isinstance(vector, Sparse):
        return q.SparseVector(list(vector.indices), list(vector.values))
    numbers: list[float] = vector.tolist()
    return numbers


def _filter(conditions: Sequence[p.AnyOf | p.Between]) -> q.Filter | None:
    import qdrant_edge as q

    must: list[Condition] = [
        q.FieldCondition(condition.field, match=q.MatchAny(list(condition.values)))
        if isinstance(condition, p.AnyOf)
        else q.FieldCondition(condition.field, range=q.RangeFloat(gte=condition.low, lte=condition.high))
        for condition in conditions
    ]
    return q.Filter(must=must) if must else None
