"""The searcher as a LlamaIndex retriever, so that it drops into any LlamaIndex query engine, chat engine or agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from index.search import Searcher
from kb.types import Filters, Hit, Query

if TYPE_CHECKING:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle

EVERYTHING = Filters()


def as_retriever(searcher: Searcher, *, filters: Filters = EVERYTHING, limit: int = 10) -> BaseRetriever:
    """A retriever over `searcher`.

    Its nodes carry the chunk's text and id, and as metadata `title`, `quote`, `locator` (`T:…`, `P:…`, `M:…`), `href`
    (the deep link), `kind` and `lang`. Language models see title and locator; links and quotes are for the caller.
    """
    from llama_index.core.retrievers import BaseRetriever

    class KBRetriever(BaseRetriever):  # type: ignore[misc]  # LlamaIndex is not type-checked
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            query = Query(text=query_bundle.query_str, filters=filters, limit=limit)
            return [_node(hit) for hit in searcher.search(query)]

    return KBRetriever()


def _node(hit: Hit) -> NodeWithScore:
    from llama_index.core.schema import NodeWithScore, TextNode

    metadata = {
        "title": hit.source.title,
        "locator": str(hit.locator),
        "href": hit.href,
        "quote": hit.quote,
        "kind": hit.source.kind.value,
        "lang": hit.chunk.lang,
    }
    for_callers = ["href", "quote", "kind", "lang"]
    node = TextNode(
        id_=hit.chunk.id,
        text=hit.chunk.text,
        metadata=metadata,
        excluded_llm_metadata_keys=for_callers,
        excluded_embed_metadata_keys=list(metadata),
    )
    return NodeWithScore(node=node, score=hit.score)
