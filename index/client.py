"""The client engine: a Qdrant server or cluster by URL, or `:memory:` for trials and tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from index import alias
from index import points as p
from index import recipe as recipes
from index.connection import Connection
from index.ranking import PointId, Ranked, Ranking
from index.store import Dense, Found, IndexRecipe, Point, Request, Sparse, Write
from kb.errors import IndexMismatch
from kb.types import Filters

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

_EVERYTHING = 1_000_000


class QdrantStore:
    """`Store` on a server: an alias named `collection` that points to a collection `<collection>-<8 hex digits>`.

    Raises:
        MissingDependency: from every method, if the server does not answer.
        KBError: from every method, if the server refuses, with its reason.
    """

    exclusive = False

    def __init__(self, url: str, *, collection: str, api_key: str | None = None) -> None:
        self._name = collection
        self._where = f"collection {collection} at {url}"
        self._connection = Connection(url, api_key=api_key, where=self._where)
        self._recipe: IndexRecipe | None = None
        self._ranking = Ranking(self._rank, self._read)

    def ensure(self, recipe: IndexRecipe) -> None:
        with self._connection.client() as client:
            target = alias.target(client, self._name)
            if target is None:
                target = alias.create(client, self._name, recipe, where=self._connection.url)
                alias.serve(client, self._name, target)
            stored = alias.stored_recipe(client, target)
            if stored != recipe:
                raise recipes.mismatch(stored, recipe, self._where)
            self._index_payload(client, target)
        self._recipe = recipe

    def rebuild(self, recipe: IndexRecipe, fill: Callable[[Write], None]) -> None:
        with self._connection.client() as client:
            if alias.target(client, self._name) == self._name:
                raise IndexMismatch(
                    "a collection that was not made by this product has the name",
                    where=self._where,
                    remedy="Choose another name with KB_QDRANT_COLLECTION",
                )
            name = alias.create(client, self._name, recipe, where=self._connection.url)
            self._index_payload(client, name)
        fill(lambda points: self._write(name, recipe, points))
        with self._connection.client() as client:
            alias.serve(client, self._name, name)
            self._recipe = recipe
            self._ranking.forget()
            alias.remove_others(client, self._name, name)

    def upsert(self, points: Sequence[Point]) -> None:
        self._write(self._name, self._ensured, points)
        self._ranking.forget()

    def delete(self, source_id: str, *, keep: str | None = None) -> None:
        from qdrant_client import models as m

        source = m.FieldCondition(key="source_id", match=m.MatchValue(value=source_id))
        kept = [] if keep is None else [m.FieldCondition(key="revision", match=m.MatchValue(value=keep))]
        with self._connection.client() as client:
            client.delete(self._name, m.FilterSelector(filter=m.Filter(must=[source], must_not=list(kept))))

    def search(self, list_name: str, vector: Dense | Sparse, filters: Filters, limit: int) -> list[Found]:
        return self.search_batch([Request(list_name, vector, filters, limit)])[0]

    def search_batch(self, requests: Sequence[Request]) -> list[list[Found]]:
        for request in requests:
            p.check_vector(request.list_name, request.vector, self._ensured)
        return self._ranking.search_batch(requests)

    def get(self, chunk_ids: Sequence[str]) -> list[Found]:
        if not chunk_ids:
            return []
        wanted = _filter([p.AnyOf("chunk_id", tuple(chunk_ids))])
        found: list[Found] = []
        offset: Any = None
        with self._connection.client() as client:
            while True:
                records, offset = client.scroll(
                    self._name, scroll_filter=wanted, limit=256, offset=offset, with_payload=True
                )
                found += (p.found(record.payload or {}) for record in records)
                if offset is None:
                    return p.in_order(found, chunk_ids)

    def revisions(self) -> dict[str, set[str]]:
        with self._connection.client() as client:
            hits = client.facet(self._name, "edition", limit=_EVERYTHING, exact=True).hits
        return p.editions(str(hit.value) for hit in hits if hit.count)

    def count(self) -> int:
        with self._connection.client() as client:
            return client.count(self._name, exact=True).count

    def optimize(self) -> None:
        """A server does so by itself."""

    def close(self) -> None:
        self._connection.close()

    @property
    def _ensured(self) -> IndexRecipe:
        if self._recipe is None:
            raise RuntimeError("the store is used before `ensure`")
        return self._recipe

    def _index_payload(self, client: QdrantClient, collection: str) -> None:
        if not self._connection.local:  # the local mode has no payload indexes, and warns
            alias.index_payload(client, collection)

    def _write(self, collection: str, recipe: IndexRecipe, points: Sequence[Point]) -> None:
        from qdrant_client import models as m

        p.check_points(points, recipe)
        if not points:
            return
        rows = [
            m.PointStruct(
                id=p.point_id(point),
                vector={name: _vector(v) for name, v in p.vectors(point).items()},
                payload=p.payload(point),
            )
            for point in points
        ]
        with self._connection.client() as client:
            client.upsert(collection, rows, wait=True)

    def _rank(self, requests: Sequence[Request]) -> list[list[Ranked]]:
        from qdrant_client import models as m

        queries = [
            m.QueryRequest(
                query=_vector(vector), using=list_name, filter=_filter(p.conditions(filters)), limit=limit,
                with_payload=False,
            )
            for list_name, vector, filters, limit in requests
        ]  # fmt: skip
        with self._connection.client() as client:
            answers = client.query_batch_points(self._name, queries)
        return [[Ranked(hit.score, hit.id) for hit in answer.points] for answer in answers]

    def _read(self, point_ids: Sequence[PointId]) -> Mapping[PointId, Found]:
        with self._connection.client() as client:
            records = client.retrieve(self._name, point_ids, with_payload=True)
        return {record.id: p.found(record.payload or {}) for record in records}


def _vector(vector: Dense | Sparse) -> list[float] | models.SparseVector:
    from qdrant_client import models as m

    if isinstance(vector, Sparse):
        return m.SparseVector(indices=list(vector.indices), values=list(vector.values))
    numbers: list[float] = vector.tolist()
    return numbers


def _filter(conditions: Sequence[p.AnyOf | p.Between]) -> models.Filter | None:
    from qdrant_client import models as m

    must: list[models.Condition] = [
        m.FieldCondition(key=condition.field, match=m.MatchAny(any=list(condition.values)))
        if isinstance(condition, p.AnyOf)
        else m.FieldCondition(key=condition.field, range=m.Range(gte=condition.low, lte=condition.high))
        for condition in conditions
    ]
    return m.Filter(must=must) if must else None
