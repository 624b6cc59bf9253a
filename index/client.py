"""The client engine: a Qdrant server or cluster by URL, or `:memory:` for trials and tests."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from index import points as p
from index.store import Dense, Found, IndexRecipe, Point, Sparse, Write
from kb.errors import IndexMismatch, KBError, MissingDependency
from kb.types import Filters

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

_EVERYTHING = 1_000_000
_SECONDS = 60  # an upsert waits until the server has written it


class QdrantStore:
    """`Store` on a server: an alias named `collection` that points to a collection `<collection>-<8 hex digits>`.

    The recipe lies in the collection's metadata, which Qdrant keeps from version 1.16 on.

    Raises:
        MissingDependency: from every method, if the server does not answer.
        KBError: from every method, if the server refuses, with its reason.
    """

    exclusive = False

    def __init__(self, url: str, *, collection: str, api_key: str | None = None) -> None:
        self._url = url
        self._api_key = api_key
        self._name = collection
        self._local = url == ":memory:"
        # The client's local mode is plain Python over shared arrays, so there a reader must not meet a writer.
        self._guard = threading.RLock() if self._local else nullcontext()
        self._connected: QdrantClient | None = None
        self._recipe: IndexRecipe | None = None

    def ensure(self, recipe: IndexRecipe) -> None:
        with self._client() as client:
            target = self._target(client)
            if target is None:
                target = self._create(client, recipe)
                self._serve(client, target)
            stored = _stored_recipe(client, target)
            if stored != recipe:
                raise p.mismatch(stored, recipe, self._where)
            self._index_payload(client, target)
        self._recipe = recipe

    def rebuild(self, recipe: IndexRecipe, fill: Callable[[Write], None]) -> None:
        with self._client() as client:
            if self._target(client) == self._name:
                raise IndexMismatch(
                    "a collection that was not made by this product has the name",
                    where=self._where,
                    remedy="Choose another name with KB_QDRANT_COLLECTION",
                )
            name = self._create(client, recipe)
            self._index_payload(client, name)
        fill(lambda points: self._write(name, recipe, points))
        with self._client() as client:
            self._serve(client, name)
            self._recipe = recipe
            for other in client.get_collections().collections:
                if other.name != name and re.fullmatch(rf"{re.escape(self._name)}-[0-9a-f]{{8}}", other.name):
                    client.delete_collection(other.name)

    def upsert(self, points: Sequence[Point]) -> None:
        self._write(self._name, self._ensured, points)

    def delete(self, source_id: str, *, keep: str | None = None) -> None:
        from qdrant_client import models as m

        source = m.FieldCondition(key="source_id", match=m.MatchValue(value=source_id))
        kept = [] if keep is None else [m.FieldCondition(key="revision", match=m.MatchValue(value=keep))]
        with self._client() as client:
            client.delete(self._name, m.FilterSelector(filter=m.Filter(must=[source], must_not=list(kept))))

    def search(self, list_name: str, vector: Dense | Sparse, filters: Filters, limit: int) -> list[Found]:
        p.check_vector(list_name, vector, self._ensured)
        query, condition = _vector(vector), _filter(p.conditions(filters))

        def fetch(limit: int) -> list[p.Row]:
            with self._client() as client:
                answer = client.query_points(
                    self._name, query=query, using=list_name, query_filter=condition, limit=limit, with_payload=True
                )
            return [p.Row(hit.score, hit.payload or {}) for hit in answer.points]

        return p.best(fetch, limit)

    def get(self, chunk_ids: Sequence[str]) -> list[Found]:
        if not chunk_ids:
            return []
        wanted = _filter([p.AnyOf("chunk_id", tuple(chunk_ids))])
        found: list[Found] = []
        offset: Any = None
        with self._client() as client:
            while True:
                records, offset = client.scroll(
                    self._name, scroll_filter=wanted, limit=256, offset=offset, with_payload=True
                )
                found += (p.found(record.payload or {}) for record in records)
                if offset is None:
                    return p.in_order(found, chunk_ids)

    def revisions(self) -> dict[str, set[str]]:
        with self._client() as client:
            hits = client.facet(self._name, "edition", limit=_EVERYTHING, exact=True).hits
        return p.editions(str(hit.value) for hit in hits if hit.count)

    def count(self) -> int:
        with self._client() as client:
            return client.count(self._name, exact=True).count

    def optimize(self) -> None:
        """A server does so by itself."""

    def close(self) -> None:
        if self._connected is not None:
            self._connected.close()
            self._connected = None

    @property
    def _where(self) -> str:
        return f"collection {self._name} at {self._url}"

    @property
    def _ensured(self) -> IndexRecipe:
        if self._recipe is None:
            raise RuntimeError("the store is used before `ensure`")
        return self._recipe

    @contextmanager
    def _client(self) -> Iterator[QdrantClient]:
        """The connection, made at first use; its errors become ours."""
        from qdrant_client import QdrantClient
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        with self._guard:
            if self._connected is None:
                self._connected = (
                    QdrantClient(location=":memory:")
                    if self._local
                    else QdrantClient(url=self._url, api_key=self._api_key, timeout=_SECONDS, check_compatibility=False)
                )
            try:
                yield self._connected
            except ResponseHandlingException as error:
                raise MissingDependency(
                    f"the Qdrant server does not answer ({error})",
                    where=self._url,
                    remedy="Start it, or unset KB_QDRANT_URL to use the embedded index",
                ) from error
            except UnexpectedResponse as error:
                raise KBError(
                    f"the Qdrant server refused ({error.status_code} {error.content.decode(errors='replace')[:300]})",
                    where=self._where,
                    remedy="Check KB_QDRANT_URL, KB_QDRANT_API_KEY and the server's log",
                ) from error

    def _target(self, client: QdrantClient) -> str | None:
        """The collection that the alias names; a collection of the alias's own name is somebody else's."""
        for alias in client.get_aliases().aliases:
            if alias.alias_name == self._name:
                return alias.collection_name
        return self._name if client.collection_exists(self._name) else None

    def _create(self, client: QdrantClient, recipe: IndexRecipe) -> str:
        from qdrant_client import models as m

        name = f"{self._name}-{uuid.uuid4().hex[:8]}"
        client.create_collection(
            name,
            vectors_config={
                dense: m.VectorParams(size=size, distance=m.Distance.COSINE) for dense, size in recipe.dense.items()
            },
            sparse_vectors_config={p.LEXICAL: m.SparseVectorParams(modifier=m.Modifier.IDF)},
            metadata={"recipe": p.recipe_to_json(recipe)},
        )
        if _stored_recipe(client, name) != recipe:
            client.delete_collection(name)
            raise MissingDependency(
                "the Qdrant server keeps no metadata with a collection",
                where=self._url,
                remedy="Use Qdrant 1.16 or newer",
            )
        return name

    def _serve(self, client: QdrantClient, target: str) -> None:
        from qdrant_client import models as m

        named = any(alias.alias_name == self._name for alias in client.get_aliases().aliases)
        drop = m.DeleteAliasOperation(delete_alias=m.DeleteAlias(alias_name=self._name))
        name = m.CreateAliasOperation(create_alias=m.CreateAlias(collection_name=target, alias_name=self._name))
        client.update_collection_aliases([drop, name] if named else [name])

    def _index_payload(self, client: QdrantClient, collection: str) -> None:
        if self._local:
            return  # it has no payload indexes and warns
        from qdrant_client import models

        existing = client.get_collection(collection).payload_schema
        for field, schema in p.PAYLOAD_INDEXES.items():
            if field not in existing:
                client.create_payload_index(collection, field, field_schema=models.PayloadSchemaType(schema))

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
        with self._client() as client:
            client.upsert(collection, rows, wait=True)


def _stored_recipe(client: QdrantClient, collection: str) -> IndexRecipe | None:
    return p.recipe_from_json((client.get_collection(collection).config.metadata or {}).get("recipe"))


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
