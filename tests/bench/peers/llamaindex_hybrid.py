"""LlamaIndex's QdrantVectorStore, hybrid, with its own fusion; BM25 term weights stand in for the model of a hub."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from pathlib import Path

from llama_index.core import Settings, SimpleDirectoryReader, StorageContext, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient, models

from tests.bench.peers.protocol import PASSAGE_PREFIX, QUERY_PREFIX, TOP, Found, Search, measure

_K1, _B, _LENGTH = 1.2, 0.75, 256


def weigh(texts: list[str]) -> tuple[list[list[int]], list[list[float]]]:
    """Words, and single hanzi as a person without a segmenter would take them."""
    indices, values = [], []
    for text in texts:
        words = re.findall(r"[a-z0-9_]+|[\u4e00-\u9fff]", text.lower())
        norm = _K1 * (1 - _B + _B * len(words) / _LENGTH)
        counts = Counter(zlib.crc32(word.encode()) for word in words)
        indices.append(list(counts))
        values.append([count * (_K1 + 1) / (count + norm) for count in counts.values()])
    return indices, values


def ingest(paths: list[Path], model: str) -> Search:
    Settings.embed_model = HuggingFaceEmbedding(
        model, query_instruction=QUERY_PREFIX, text_instruction=PASSAGE_PREFIX, device="cpu"
    )
    store = QdrantVectorStore(
        "peer",
        client=QdrantClient(":memory:"),
        enable_hybrid=True,
        sparse_doc_fn=weigh,
        sparse_query_fn=weigh,
        sparse_config=models.SparseVectorParams(modifier=models.Modifier.IDF),
    )
    documents = SimpleDirectoryReader(input_files=paths).load_data()
    nodes = SentenceSplitter().get_nodes_from_documents(documents)
    index = VectorStoreIndex(nodes, storage_context=StorageContext.from_defaults(vector_store=store))
    retriever = index.as_retriever(
        similarity_top_k=TOP, sparse_top_k=TOP, hybrid_top_k=TOP, vector_store_query_mode="hybrid"
    )
    return lambda text: [Found(hit.metadata["file_path"], hit.text) for hit in retriever.retrieve(text)]


if __name__ == "__main__":
    measure(ingest)
