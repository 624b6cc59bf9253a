from __future__ import annotations

import pytest

from index.fusion import Fused
from index.question import is_bare, named_kinds, named_langs, named_versions, prefer
from index.store import Found
from kb.types import Kind
from tests.index.corpus import chunk, source

VERSIONS = ("0.20.0", "0.33.0", "0.3", "2")


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("in vLLM 0.20.0", {"0.20.0"}),
        ("v0.33.0 里默认是多少", {"0.33.0"}),
        ("在0.33.0里", {"0.33.0"}),
        ("vLLM v0.20?", {"0.20.0"}),
        ("0.20.0 vs 0.33.0", {"0.20.0", "0.33.0"}),
        ("版本 0.3。", {"0.3"}),
        ("0.33.01 or 10.20.0 or 0.20.0.1", set()),
        ("2 GPUs", set()),
        ("what v2 brings", {"2"}),
    ],
)
def test_versions_are_named_in_full_or_without_a_last_zero(question: str, named: set[str]) -> None:
    assert named_versions(question, VERSIONS) == named


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("in the batching inputs video, what are the ones", {Kind.RECORDING, Kind.CAPTIONS}),
        ("视频里说了多少次", {Kind.RECORDING, Kind.CAPTIONS}),
        ("课件指出哪些缺点", {Kind.DECK}),
        ("which slides show it", {Kind.DECK}),
        ("how does video input work", set()),
    ],
)
def test_a_question_may_speak_of_a_kind_of_source(question: str, kinds: set[Kind]) -> None:
    assert named_kinds(question) == kinds


@pytest.mark.parametrize(
    ("question", "langs"),
    [
        ("According to the Chinese Blackwell note, how fast is decoding?", {"zh"}),
        ("中文文档里说了什么", {"zh"}),
        ("what do the English docs say", {"en"}),
        ("英文版文档怎么说", {"en"}),
        ("Does the Chinese tokenizer need more tokens?", set()),
        ("怎样处理中文", set()),
    ],
)
def test_a_question_may_speak_of_pages_in_a_language(question: str, langs: set[str]) -> None:
    assert named_langs(question) == langs


def test_a_language_that_is_named_lifts_and_hides_nothing() -> None:
    english, chinese = source("en.md"), source("zh.md", lang="zh")
    found = [
        Fused(Found(chunk(english, "en", 0, "en"), english, "r1", 0.0), 6.3, ()),
        Fused(Found(chunk(chinese, "zh", 0, "zh"), chinese, "r1", 0.0), 6.0, ()),
    ]
    assert [one.found.source.title for one in prefer(found, "in the Chinese docs")] == ["zh", "en"]
    assert [one.found.source.title for one in prefer(found, "in the docs")] == ["en", "zh"]


def candidates() -> list[Fused]:
    """Of two versions, alike but for the score, and one that is far better."""
    best, new, old = source("best.md"), source("new.md", version="0.33.0"), source("old.md", version="0.20.0")
    scored = ((best, 10.0), (new, 6.0), (old, 5.5))
    return [Fused(Found(chunk(of, of.title), of, "r1", 0.0), score, ()) for of, score in scored]


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("in 0.20.0", ["best", "old", "new"]),
        ("in 0.33.0", ["best", "new", "old"]),
        ("0.33.0 or 0.20.0", ["best", "new", "old"]),
        ("whichever", ["best", "new", "old"]),
    ],
)
def test_a_version_that_is_named_comes_first_among_equals_and_hides_nothing(question: str, order: list[str]) -> None:
    assert [one.found.source.title for one in prefer(candidates(), question)] == order


def test_only_identifiers_are_bare() -> None:
    assert is_bare("--kv-cache-dtype")
    assert is_bare("VLLM_USE_V1 ?")
    assert not is_bare("what is --kv-cache-dtype")
