from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from api.models import Models, open_models
from api.service import Service
from index.centre import CentredEmbedder
from index.client import QdrantStore
from index.embed_cache import CachedEmbedder
from index.endpoint import EndpointEmbedder
from index.points import LEXICAL
from index.rerank import CrossEncoderReranker
from kb.settings import LLMSettings, RerankSettings, Settings
from kb.types import Filters, Query
from tests.fakes import FakeEmbedder, FakeTranscriber, ScriptedModel
from tests.index.test_embed import embeddings


def served(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json={"data": []}) if request.method == "GET" else embeddings(request)


class ClosingModel(ScriptedModel):
    closed = 0

    def close(self) -> None:
        self.closed += 1


def test_closing_a_library_closes_what_its_models_hold(settings: Settings, notes: Path) -> None:
    endpoint = EndpointEmbedder("http://127.0.0.1:9/v1", "bge-m3", transport=httpx.MockTransport(served))
    cache = settings.home / "embeddings.db"
    dense, llm = CentredEmbedder(CachedEmbedder(endpoint, cache)), ClosingModel()
    models = Models(settings, embedder=dense, cross=FakeEmbedder(), transcriber=FakeTranscriber(), llm=llm)
    with Service(settings, QdrantStore(":memory:", collection="notes"), models) as service:
        list(service.add([notes]))
        assert service.search(Query(text="block size"))
        assert cache.with_name("embeddings.db-wal").exists()
    assert cache.exists()
    assert not cache.with_name("embeddings.db-wal").exists()
    with pytest.raises(RuntimeError, match="closed"):
        endpoint.embed_query("block size")
    assert llm.closed == 1


def test_a_model_that_nobody_asked_is_not_opened_to_be_closed(settings: Settings) -> None:
    connected = settings.model_copy(update={"llm": LLMSettings(base_url="http://127.0.0.1:9/v1", model="m")})
    models = open_models(connected)
    models.close()
    assert "language_model" not in vars(models)
    assert not (settings.home / "cache").exists()


def asking(settings: Settings, llm: ScriptedModel, *, seconds: float) -> Models:
    endpoint = LLMSettings(base_url="http://127.0.0.1:9/v1", translate_seconds=seconds)
    connected = settings.model_copy(update={"llm": endpoint})
    return Models(connected, embedder=FakeEmbedder(), transcriber=FakeTranscriber(), llm=llm)


def test_a_language_model_finds_the_words_of_the_other_language(settings: Settings, notes: Path) -> None:
    llm = ScriptedModel("缓存键由什么组成？")
    with Service(settings, QdrantStore(":memory:", collection="n"), asking(settings, llm, seconds=10)) as service:
        list(service.add([notes]))
        query = Query(text="What are its keys made of?", filters=Filters(langs=("zh",)))
        hit = service.search(query)[0]
        assert hit.quote == "缓存键由块的哈希值和组编号组成。"
        assert LEXICAL in {rank.list for rank in hit.ranks}
        assert service.search(query.model_copy(update={"translate": False}))
    assert len(llm.messages) == 1


def test_without_an_endpoint_or_time_for_it_no_question_is_translated(settings: Settings) -> None:
    assert asking(settings, ScriptedModel(), seconds=0).translator is None
    assert open_models(settings).translator is None


def test_a_reranker_is_what_the_settings_name(settings: Settings) -> None:
    assert open_models(settings).reranker is None
    named = settings.model_copy(update={"rerank": RerankSettings(model="some/cross-encoder")})
    assert isinstance(open_models(named).reranker, CrossEncoderReranker)
