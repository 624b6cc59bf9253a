"""Haystack's tutorial of hybrid retrieval: DocumentSplitter, BM25 and embeddings in memory, joined by rank."""

from __future__ import annotations

from pathlib import Path

from haystack import Pipeline
from haystack.components.converters import PPTXToDocument, PyPDFToDocument, TextFileToDocument
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.utils import ComponentDevice
from haystack_integrations.components.embedders.sentence_transformers import (
    SentenceTransformersDocumentEmbedder,
    SentenceTransformersTextEmbedder,
)

from tests.bench.peers.protocol import PASSAGE_PREFIX, QUERY_PREFIX, TOP, Found, Search, measure


def ingest(paths: list[Path], model: str) -> Search:
    cpu = ComponentDevice.from_str("cpu")
    converters = {".pdf": PyPDFToDocument(store_full_path=True), ".pptx": PPTXToDocument(store_full_path=True)}
    text = TextFileToDocument(store_full_path=True)
    documents = []
    for path in paths:
        documents += converters.get(path.suffix, text).run(sources=[path])["documents"]
    chunks = DocumentSplitter(split_by="word", split_length=200, split_overlap=20).run(documents=documents)["documents"]
    embedder = SentenceTransformersDocumentEmbedder(
        model=model, prefix=PASSAGE_PREFIX, device=cpu, progress_bar=False, normalize_embeddings=True
    )
    store = InMemoryDocumentStore()
    store.write_documents(embedder.run(documents=chunks)["documents"])
    pipeline = Pipeline()
    pipeline.add_component(
        "embedder",
        SentenceTransformersTextEmbedder(
            model=model, prefix=QUERY_PREFIX, device=cpu, progress_bar=False, normalize_embeddings=True
        ),
    )
    pipeline.add_component("dense", InMemoryEmbeddingRetriever(store, top_k=TOP))
    pipeline.add_component("bm25", InMemoryBM25Retriever(store, top_k=TOP))
    pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=TOP))
    pipeline.connect("embedder.embedding", "dense.query_embedding")
    pipeline.connect("dense", "joiner")
    pipeline.connect("bm25", "joiner")

    def search(question: str) -> list[Found]:
        result = pipeline.run({"embedder": {"text": question}, "bm25": {"query": question}})
        return [Found(hit.meta["file_path"], hit.content) for hit in result["joiner"]["documents"]]

    return search


if __name__ == "__main__":
    measure(ingest)
