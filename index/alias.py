"""Which collection of a Qdrant server is served: an alias, and the collections `<alias>-<8 hex digits>` behind it.

The recipe lies in a collection's metadata, which Qdrant keeps from version 1.16 on.
"""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING

from index import points as p
from index import recipe as recipes
from index.store import IndexRecipe
from kb.errors import MissingDependency

if TYPE_CHECKING:
    from qdrant_client import QdrantClient


def target(client: QdrantClient, alias: str) -> str | None:
    """The collection that the alias names; a collection of the alias's own name is somebody else's."""
    for known in client.get_aliases().aliases:
        if known.alias_name == alias:
            return known.collection_name
    return alias if client.collection_exists(alias) else None


def create(client: QdrantClient, alias: str, recipe: IndexRecipe, *, where: str) -> str:
    """A new, empty collection that carries the recipe and is not served yet.

    Raises:
        MissingDependency: if the server is too old to keep a recipe.
    """
    from qdrant_client import models as m

    name = f"{alias}-{uuid.uuid4().hex[:8]}"
    client.create_collection(
        name,
        vectors_config={
            dense: m.VectorParams(size=size, distance=m.Distance.COSINE) for dense, size in recipe.dense.items()
        },
        sparse_vectors_config={p.LEXICAL: m.SparseVectorParams(modifier=m.Modifier.IDF)},
        metadata={"recipe": recipes.to_json(recipe)},
    )
    if stored_recipe(client, name) != recipe:
        client.delete_collection(name)
        raise MissingDependency(
            "the Qdrant server keeps no metadata with a collection",
            where=where,
            remedy="Use Qdrant 1.16 or newer",
        )
    return name


def stored_recipe(client: QdrantClient, collection: str) -> IndexRecipe | None:
    return recipes.from_json((client.get_collection(collection).config.metadata or {}).get("recipe"))


def index_payload(client: QdrantClient, collection: str) -> None:
    """Make the payload indexes that are missing."""
    from qdrant_client import models as m

    existing = client.get_collection(collection).payload_schema
    for field, schema in p.PAYLOAD_INDEXES.items():
        if field not in existing:
            client.create_payload_index(collection, field, field_schema=m.PayloadSchemaType(schema))


def serve(client: QdrantClient, alias: str, collection: str) -> None:
    """Switch the alias to the collection, in one step."""
    from qdrant_client import models as m

    named = any(known.alias_name == alias for known in client.get_aliases().aliases)
    drop = m.DeleteAliasOperation(delete_alias=m.DeleteAlias(alias_name=alias))
    name = m.CreateAliasOperation(create_alias=m.CreateAlias(collection_name=collection, alias_name=alias))
    client.update_collection_aliases([drop, name] if named else [name])


def remove_others(client: QdrantClient, alias: str, collection: str) -> None:
    """Remove the collections of this alias that are not served any more."""
    for other in client.get_collections().collections:
        if other.name != collection and re.fullmatch(rf"{re.escape(alias)}-[0-9a-f]{{8}}", other.name):
            client.delete_collection(other.name)
