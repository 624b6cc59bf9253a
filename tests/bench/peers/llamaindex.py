"""LlamaIndex's defaults: SimpleDirectoryReader, SentenceSplitter, VectorStoreIndex."""

from __future__ import annotations

from pathlib import Path

from llama_index.core import Settings, SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter
from llama_index.embeddings.huggingface import HuggingFaceEmbedding

from tests.bench.peers.protocol import PASSAGE_PREFIX, QUERY_PREFIX, TOP, Found, Search, measure


def ingest(paths: list[Path], model: str) -> Search:
    Settings.embed_model = HuggingFaceEmbedding(
        model, query_instruction=QUERY_PREFIX, text_instruction=PASSAGE_PREFIX, device="cpu"
    )
    documents = SimpleDirectoryReader(input_files=paths).load_data()
    nodes = SentenceSplitter().get_nodes_from_documents(documents)
    retriever = VectorStoreIndex(nodes).as_retriever(similarity_top_k=TOP)
    return lambda text: [Found(hit.metadata["file_path"], hit.text) for hit in retriever.retrieve(text)]


if __name__ == "__main__":
    measure(ingest)
