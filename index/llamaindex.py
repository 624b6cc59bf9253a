"""Embedders as LlamaIndex knows them, both ways, and its rerankers. LlamaIndex is imported when asked for: that takes a
second."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from index.embed import Embedder, check_lengths, estimate_tokens, normalised

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.postprocessor.types import BaseNodePostprocessor


class _FromLlamaIndex:
    def __init__(self, model: BaseEmbedding, max_tokens: int, count_tokens: Callable[[str], int]) -> None:
        self._model = model
        self._count_tokens = count_tokens
        self.max_tokens = max_tokens

    @property
    def fingerprint(self) -> str:
        return f"llama-index {self._model.class_name()} {self._model.model_name} normalised"

    @functools.cached_property
    def dimension(self) -> int:
        return len(self._model.get_query_embedding("dimension"))

    def count_tokens(self, text: str) -> int:
        return self._count_tokens(text)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        check_lengths(self, [text])
        return normalised(np.array(self._model.get_query_embedding(text)))

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        check_lengths(self, texts)
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return normalised(np.array(self._model.get_text_embedding_batch(list(texts))))


def from_llama_index(
    model: BaseEmbedding, *, max_tokens: int = 512, count_tokens: Callable[[str], int] = estimate_tokens
) -> Embedder:
    """Any LlamaIndex embedding model as our embedder; the facts that LlamaIndex does not know come from the caller."""
    return _FromLlamaIndex(model, max_tokens, count_tokens)


def as_llama_index(embedder: Embedder) -> BaseEmbedding:
    """Our embedder for any LlamaIndex engine, index or node parser."""
    from llama_index.core.base.embeddings.base import BaseEmbedding

    class KBEmbedding(BaseEmbedding):  # type: ignore[misc]  # LlamaIndex is not type-checked
        @classmethod
        def class_name(cls) -> str:
            return "KBEmbedding"

        def _get_query_embedding(self, query: str) -> list[float]:
            return [float(value) for value in embedder.embed_query(query)]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return [[float(value) for value in row] for row in embedder.embed_passages(texts)]

    return KBEmbedding(model_name=embedder.fingerprint)


class LlamaIndexReranker:
    """A node postprocessor of LlamaIndex as our `Reranker`; what it drops goes behind what it keeps."""

    def __init__(self, postprocessor: BaseNodePostprocessor) -> None:
        self._postprocessor = postprocessor

    def order(self, question: str, passages: Sequence[str]) -> list[int]:
        from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

        nodes = [
            NodeWithScore(node=TextNode(id_=str(at), text=passage), score=float(len(passages) - at))
            for at, passage in enumerate(passages)
        ]
        kept = self._postprocessor.postprocess_nodes(nodes, query_bundle=QueryBundle(question))
        return [int(one.node.node_id) for one in kept]
