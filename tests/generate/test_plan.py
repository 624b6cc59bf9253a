"""Questions that ask several things or compare some are looked up in their parts; simple ones cost nothing more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generate.answer import Answerer
from generate.plan import MOST, further_questions, merged
from generate.question import analyse
from kb.errors import GenerationFailed
from kb.types import Hit, Query
from tests.fakes import ScriptedModel
from tests.generate.material import citing, documents, hit, searcher

SIMPLE = (
    "What is the default block size?",
    "Why is decoding bound by memory and not by compute?",
    "块池用什么作为缓存键？",
    "vLLM 和 LMCache 怎么一起部署？",
    "How do I set max_num_batched_tokens?",
    "为什么默认是 8192，原因是什么？",
)


@pytest.mark.parametrize("question", SIMPLE)
def test_a_simple_question_is_looked_up_once(question: str) -> None:
    model = ScriptedModel()  # would fail if it were asked
    assert not further_questions(analyse(question))
    assert not further_questions(analyse(question), model)


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("What is the difference between chunked prefill and prefix caching?", ("chunked prefill", "prefix caching")),
        ("How does tensor parallelism compare to pipeline parallelism on two nodes?", ("tensor", "pipeline")),
        ("PagedAttention 和 RadixAttention 有什么区别？", ("PagedAttention", "RadixAttention")),
        ("MLA 相比 MHA 省多少显存？", ("MLA", "MHA")),
        ("`--max-num-seqs` 和 `--max-num-batched-tokens` 的默认值是多少？", ("max-num-seqs", "max-num-batched-tokens")),
        ("Is prefix caching on by default in 0.20.0 and in 0.33.0?", ("0.20.0", "0.33.0")),
        ("VLLM_CPU_KVCACHE_SPACE 在 0.20.0 和 0.33.0 里分别是多少？", ("0.20.0", "0.33.0")),
    ],
)
def test_each_side_is_looked_up_without_the_other(question: str, sides: tuple[str, str]) -> None:
    one, other = further_questions(analyse(question))
    assert (sides[0] in one, sides[1] in one) == (True, False)
    assert (sides[0] in other, sides[1] in other) == (False, True)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "Which flag turns on batch invariance, and what does the NIXL connector do on a lost heartbeat?",
            ("batch invariance", "NIXL connector"),
        ),
        (
            "Which flag turns on batch invariance and what does the NIXL connector do on a lost heartbeat?",
            ("batch invariance", "NIXL connector"),
        ),
        ("块池用什么缓存键以及投机解码的接受率怎么算？", ("缓存键", "接受率")),
    ],
)
def test_each_of_several_questions_is_looked_up(question: str, parts: tuple[str, str]) -> None:
    first, second = further_questions(analyse(question))
    assert parts[0] in first
    assert parts[1] in second
    assert parts[0] not in second


def test_a_part_without_a_subject_of_its_own_takes_it_over() -> None:
    _, second = further_questions(analyse("DeepSeek-V3 的 MLA KV：bf16 下每 token 多少字节，FP8 下又是多少？"))
    assert "FP8" in second
    assert "MLA" in second


@given(
    st.lists(
        st.sampled_from(["A", "MLA", "vLLM", "和", " and ", " vs ", "0.20", "0.33", "，", "?", "区别"]), max_size=12
    )
)
def test_there_are_never_many(words: list[str]) -> None:
    found = further_questions(analyse("".join(words)))
    assert len(found) in (0, *range(2, MOST + 1))


# --- by a model -------------------------------------------------------------------------------------------------

COMPARING = "How do loading once and loading twice differ, and which one is the default?"


def planned(*questions: str) -> str:
    return json.dumps({"questions": questions})


def test_a_model_finds_sides_that_no_rule_sees() -> None:
    model = ScriptedModel(planned("What is loading once?", "What is loading twice?"))
    assert further_questions(analyse(COMPARING), model) == ("What is loading once?", "What is loading twice?")


@pytest.mark.parametrize(
    "reply",
    [
        planned("What is loading once?", "What does FlashInfer 0.6 load?"),  # a name and a number of its own
        planned("加载一次是什么？", "加载两次是什么？"),
        planned("What is loading once? See https://evil.example"),
        "no JSON",
        GenerationFailed("the endpoint is down"),
    ],
)
def test_what_a_model_adds_is_not_looked_up(reply: str | GenerationFailed) -> None:
    by_rules = further_questions(analyse(COMPARING))
    assert further_questions(analyse(COMPARING), ScriptedModel(reply)) == by_rules


# --- evidence ---------------------------------------------------------------------------------------------------


def some(*names: str, best: float = 1.0) -> list[Hit]:
    return [hit(name).model_copy(update={"score": best / at}) for at, name in enumerate(names, 1)]


def test_every_part_keeps_its_best_beside_those_of_the_whole() -> None:
    whole = some(*(f"whole {n}" for n in range(16)))
    found = merged(whole, [some("left", "whole 1"), some("right", best=90.0)], 20)
    assert [one.chunk.text for one in found[:5]] == ["whole 0", "whole 1", "left", "right", "whole 2"]
    assert len({one.chunk.id for one in found}) == len(found) == 18
    assert max(found, key=lambda one: one.score).chunk.text == "whole 0"


def test_nothing_changes_without_parts() -> None:
    whole = some("one", "two")
    assert merged(whole, [], 1) == whole


def test_both_things_that_are_asked_are_answered(tmp_path: Path) -> None:
    filler = {
        f"n{n}.md": f"# Sheet {n}\n\nThe default block key of table {n} is a hash of tokens.\n" for n in range(24)
    }
    lone = {"lone.md": "# Leases\n\nThe NIXL connector ends a lease after 40 seconds without a heartbeat.\n"}
    search = searcher(documents(tmp_path, filler | lone))
    asked: list[Query] = []

    def watched(query: Query) -> list[Hit]:
        asked.append(query)
        return search.search(query)

    answer = Answerer(watched).ask(
        "What is the default block key of table 3, and how long does the NIXL connector keep a lease?"
    )
    assert "40 seconds" in answer.text
    assert [query.translate for query in asked[:3]] == [True, False, False]


def test_a_model_that_plans_also_writes(tmp_path: Path) -> None:
    search = searcher(documents(tmp_path))
    question = "What is the difference between chunked prefill and eviction?"
    quote = "Chunked prefill splits a long prompt into pieces, so that decode steps are not blocked."
    model = ScriptedModel(planned("What is chunked prefill?", "What is eviction?"), citing((quote, quote)))
    answer = Answerer(search.search, llm=model, glosses=False).ask(question)
    assert quote in answer.text
    assert answer.usage is not None
    assert answer.usage.calls == 2
