"""The embedded engine: Qdrant's own core in this process, in a folder that one process owns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast
from uuid import UUID

from index import points as p
from index import recipe as recipes
from index.edge_folder import EdgeFolder, check_room, load, stored_recipe
from index.ranking import PointId, Ranked, Ranking
from index.store import Dense, Found, IndexRecipe, Point, Request, Sparse, Write
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


class EdgeStore:
    """`Store` in `folder`, laid out as `EdgeFolder` says.

    Writes survive the death of the process at once, and a power cut after `optimize` or `close`. The engine keeps no
    optimizer running: call `optimize` after bulk writes.
    """

    exclusive = True

    def __init__(self, folder: Path) -> None:
        self._folder = EdgeFolder(folder)
        self._open: _Open | None = None

    def ensure(self, recipe: IndexRecipe) -> None:
        where = str(self._folder.path)
        if self._open is not None:
            if self._open.recipe != recipe:
                raise recipes.mismatch(self._open.recipe, recipe, where)
            return
        with self._owned():
            current = self._folder.current()
            if current is None:
                current = self._folder.create(recipe)
                self._folder.serve(current)
            stored = stored_recipe(current)
            if stored != recipe:
                raise recipes.mismatch(stored, recipe, where)
            self._open = _Open(load(current), recipe)
            self._folder.remove_others(current)

    def rebuild(self, recipe: IndexRecipe, fill: Callable[[Write], None]) -> None:
        with self._owned():
            index = self._folder.create(recipe)
            new = _Open(load(index), recipe)
            fill(lambda points: self._write(new, points))
            check_room(self._folder.path)
            new.shard.optimize()
            new.shard.flush()
            self._folder.serve(index)
            # The old shard is not closed: a search may be under way in it. It goes with its last reference.
            self._open = new
            self._folder.remove_others(index)

    def upsert(self, points: Sequence[Point]) -> None:
        self._write(self._opened, points)

    def delete(self, source_id: str, *, keep: str | None = None) -> None:
        import qdrant_edge as q

        source = q.FieldCondition("source_id", match=q.MatchValue(source_id))
        kept: list[Condition] = [] if keep is None else [q.FieldCondition("revision", match=q.MatchValue(keep))]
        doomed = q.Filter(must=[source], must_not=kept)
        self._opened.shard.update(q.UpdateOperation.delete_points_by_filter(doomed))

    def search(self, list_name: str, vector: Dense | Sparse, filters: Filters, limit: int) -> list[Found]:
        return self.search_batch([Request(list_name, vector, filters, limit)])[0]

    def search_batch(self, requests: Sequence[Request]) -> list[list[Found]]:
        at = self._opened
        for request in requests:
            p.check_vector(request.list_name, request.vector, at.recipe)
        return at.ranking.search_batch(requests)

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
        check_room(self._folder.path)
        self._opened.shard.optimize()
        self._opened.shard.flush()

    def close(self) -> None:
        if self._open is not None:
            self._open.shard.flush()
            self._open.shard.close()
            self._open = None
        self._folder.release()

    def _write(self, at: _Open, points: Sequence[Point]) -> None:
        check_room(self._folder.path)
        at.upsert(points)

    @property
    def _opened(self) -> _Open:
        if self._open is None:
            raise RuntimeError("the store is used before `ensure` or after `close`")
        return self._open

    @contextmanager
    def _owned(self) -> Iterator[None]:
        """Own the folder, from here to `close`; no longer if what follows fails and nothing was open before."""
        self._folder.own()
        try:
            yield
        finally:
            if self._open is None:
                self._folder.release()


class _Open:
    """An index that is loaded."""

    def __init__(self, shard: q.EdgeShard, recipe: IndexRecipe) -> None:
        self.shard = shard
        self.recipe = recipe
        self.ranking = Ranking(self._rank, self._read)

    def upsert(self, points: Sequence[Point]) -> None:
        import qdrant_edge as q

        p.check_points(points, self.recipe)
        if not points:
            return
        rows = [
            q.Point(p.point_id(point), {name: _vector(v) for name, v in p.vectors(point).items()}, p.payload(point))
            for point in points
        ]
        self.shard.update(q.UpdateOperation.upsert_points(rows))
        self.ranking.forget()

    def _rank(self, requests: Sequence[Request]) -> list[list[Ranked]]:
        import qdrant_edge as q

        queries = [
            q.QueryRequest(
                limit=limit,
                query=q.Query.Nearest(_vector(vector), using=list_name),
                filter=_filter(p.conditions(filters)),
                with_payload=False,
            )
            for list_name, vector, filters, limit in requests
        ]
        answers = self.shard.query_batch(q.QueryBatchRequest(queries))
        # The engine's ids are UUID objects, which are slow to hash; their numbers are not.
        return [[Ranked(hit.score, cast("UUID", hit.id).int) for hit in answer] for answer in answers]

    def _read(self, point_ids: Sequence[PointId]) -> Mapping[PointId, Found]:
        uuids: list[q.PointId] = [UUID(int=int(point_id)) for point_id in point_ids]
        records = self.shard.retrieve(uuids, with_payload=True, with_vector=False)
        return {cast("UUID", record.id).int: p.found(record.payload or {}) for record in records}


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
