from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from index.client import QdrantStore
from index.embed import DENSE
from index.retriever import as_retriever
from index.search import Searcher
from index.sparse import document_vector
from index.store import IndexRecipe, Point
from kb.types import Filters, parse_locator
from tests.fakes import FakeEmbedder
from tests.index.corpus import chunk, source

SOURCE = source("hashing.md")
TEXT = "Consistent hashing makes 160 virtual nodes."


@pytest.fixture(scope="module")
def searcher() -> Iterator[Searcher]:
    store = QdrantStore(":memory:", collection="retriever-tests")
    store.ensure(IndexRecipe("retriever tests/1", {DENSE: FakeEmbedder.dimension}))
    for order, text in enumerate((TEXT, "Something else altogether.")):
        one = chunk(SOURCE, text, order)
        vector = FakeEmbedder().embed_passages([one.full_text])[0]
        store.upsert([Point(one, SOURCE, "r1", {DENSE: vector}, document_vector(one))])
    yield Searcher(store, {DENSE: FakeEmbedder()})
    store.close()


def test_nodes_carry_text_and_where_it_stands(searcher: Searcher) -> None:
    found = as_retriever(searcher, limit=1).retrieve("virtual nodes")
    assert [node.get_content() for node in found] == [TEXT]
    assert found[0].metadata["title"] == "hashing"
    assert parse_locator(found[0].metadata["locator"]).href(SOURCE) == found[0].metadata["href"]
    assert (found[0].metadata["kind"], found[0].metadata["lang"]) == ("note", "en")
    assert found[0].score > 0


def test_filters_hold(searcher: Searcher) -> None:
    assert as_retriever(searcher, filters=Filters(langs=("zh",))).retrieve("virtual nodes") == []


def test_it_drops_into_a_llama_index_query_engine(searcher: Searcher) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # LlamaIndex's own
        from llama_index.core.llms import MockLLM
        from llama_index.core.query_engine import RetrieverQueryEngine

        engine = RetrieverQueryEngine.from_args(as_retriever(searcher), llm=MockLLM())
        answer = engine.query("How many virtual nodes?")
    assert TEXT in str(answer)
    assert answer.source_nodes[0].metadata["href"].startswith("file:///")


def test_language_models_see_title_and_locator_but_no_links(searcher: Searcher) -> None:
    from llama_index.core.schema import MetadataMode

    shown = as_retriever(searcher, limit=1).retrieve("virtual nodes")[0].node.get_content(MetadataMode.LLM)
    assert "hashing" in shown
    assert "file://" not in shown
