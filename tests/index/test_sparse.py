from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.sparse import document_vector, matched_spans, query_vector, terms
from index.store import Sparse
from kb.types import Chunk, Mark, Role, Span


def chunk(text: str, context: str = "") -> Chunk:
    mark = Mark(line_start=1, line_end=1)
    spans = (Span(start=0, end=len(text), order=0, offset=0, locator=mark),)
    return Chunk(
        id="c",
        source_id="s",
        order=0,
        text=text,
        context=context,
        spans=spans,
        role=Role.BODY,
        lang="zh",
        tokens=1,
        recipe="r",
    )


def score(document: Sparse, query: Sparse) -> float:
    held = dict(zip(*document, strict=True))
    return sum(weight * held.get(term, 0.0) for term, weight in zip(*query, strict=True))


@dataclass(frozen=True)
class Case:
    text: str
    holds: tuple[str, ...]
    lacks: tuple[str, ...] = ()


CASES = (
    Case("`--kv-cache-dtype fp8`", ("kvcachedtype", "kv", "cache", "dtype", "fp8")),
    Case("KVCacheDtype", ("kvcachedtype", "kv", "cache", "dtype")),
    Case("VLLM_USE_V1=1", ("vllmusev1", "vllm", "use", "v1", "1")),
    Case("get_num_new_matched_tokens()", ("getnumnewmatchedtokens", "matched", "tokens")),
    Case("vllm.v1.core.kv_cache_utils", ("kvcacheutils", "core", "utils")),
    Case("docs/serving/metrics.md", ("serving", "metrics", "md")),
    Case("a 30 KB block", ("30", "30kb", "block"), ("a",)),
    Case("4GiB of memory", ("4gib", "4", "memory"), ("of",)),
    Case("2.2K tok/s", ("2.2k", "2.2")),
    Case("up to 75% less", ("75%", "75")),
    Case("1,024 blocks", ("1024",)),
    Case("vLLM v0.20.0", ("0.20.0", "vllm"), ("v0.20.0",)),
    Case("DeepSeek-V3", ("deepseekv3", "deepseek", "v3", "deep", "seek")),
    Case("written in C++", ("c++",)),
    Case("混合缓存管理器用什么元组作为缓存键？", ("混合", "缓存", "管理器", "元组"), ("什么", "的")),
    Case("語言模型的檢索", ("语言", "模型", "检索")),
    Case("ＧＰＵ ｍｅｍｏｒｙ", ("gpu", "memory")),
    Case("this ﬁeld", ("field",)),
    Case("⽤⼾", ("用户",)),
    Case("data paral-\nlelism", ("parallelism",)),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)
def test_terms_are_what_people_type(case: Case) -> None:
    found = set(terms(case.text))
    assert found >= set(case.holds)
    assert not found & set(case.lacks)


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("启动时使用 `--no-disable-hybrid-kv-cache-manager` 显式开启。", "no_disable_hybrid_kv_cache_manager"),
        ("The field `kv_cache_dtype` is a string.", "--kv-cache-dtype"),
        ("每个 token 约 30 KB。", "30KB"),
        ("检索增强生成需要向量数据库", "增强生成"),
        ("检索增强生成需要向量数据库", "RAG 检索"),
    ],
)
def test_p33_a_word_in_the_middle_an_identifier_and_a_mixed_query_are_found(document: str, query: str) -> None:
    assert score(document_vector(chunk(document)), query_vector(query)) > 0
    assert score(document_vector(chunk("完全无关 unrelated")), query_vector(query)) == 0


@given(st.text())
def test_no_text_gives_an_empty_or_a_stop_term(text: str) -> None:
    found = terms(text)
    assert "" not in found
    assert not {"的", "the"} & set(found)


@given(st.text(alphabet="ab_-.KV 缓存键模型，1。", max_size=60))
def test_documents_and_queries_share_one_tokenizer(text: str) -> None:
    document, query = document_vector(chunk(text)), query_vector(text)
    assert document.indices == query.indices
    assert list(document.indices) == sorted(set(document.indices))
    assert all(0 <= index < 2**32 for index in document.indices)


def test_ids_are_stable_across_versions_of_this_code() -> None:
    assert query_vector("缓存 cache").indices == (1095199719, 2316692063)


def test_bm25_counts_rarer_repetition_less_and_long_texts_down() -> None:
    once, twice, often = (score(document_vector(chunk("cache " * n)), query_vector("cache")) for n in (1, 2, 8))
    assert once < twice < often < 8 * once
    padded = document_vector(chunk("cache " + "filler " * 500))
    assert score(padded, query_vector("cache")) < once


def test_titles_and_headings_count() -> None:
    assert score(document_vector(chunk("默认 32", context="vLLM Router > 参数")), query_vector("router")) > 0


def test_parts_of_an_identifier_count_less_than_the_whole() -> None:
    whole, part = document_vector(chunk("`VLLM_USE_V1`")), document_vector(chunk("vllm use v1 vllm use v1"))
    assert score(whole, query_vector("VLLM_USE_V1")) > score(part, query_vector("VLLM_USE_V1")) > 0


def test_added_words_weigh_less_and_never_change_the_questions_own() -> None:
    vector = dict(zip(*query_vector("prefix caching", ["前缀缓存", "caching"], added_weight=0.5), strict=True))
    plain = query_vector("prefix caching").indices
    assert {vector[index] for index in plain} == {1.0}
    assert {weight for index, weight in vector.items() if index not in plain} == {0.5}


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        (
            "語言模型 uses `--kv-cache-dtype` ﬁeld 30 KB",
            "语言 kv 30kb field",
            ["語言", "kv-cache-dtype", "ﬁeld", "30 KB"],
        ),
        ("Block Pool 使用缓存键", "什么缓存键", ["缓存键"]),
        ("nothing here", "缓存", []),
    ],
)
def test_matched_words_are_marked_where_they_stand(text: str, query: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end in matched_spans(text, query)] == marked


@given(st.text(alphabet="ab 缓存键\n-ﬁ", max_size=50), st.text(alphabet="ab 缓存键", max_size=10))
def test_marks_are_sorted_apart_and_inside(text: str, query: str) -> None:
    spans = matched_spans(text, query)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(left[1] < right[0] for left, right in itertools.pairwise(spans))
