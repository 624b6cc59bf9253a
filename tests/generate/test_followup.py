from __future__ import annotations

import json

import pytest

from generate.followup import stand_alone
from generate.llm import Meter
from kb.errors import GenerationFailed
from kb.types import Exchange
from tests.fakes import ScriptedModel


def turn(question: str, answer: str = "") -> Exchange:
    return Exchange(question=question, answer=answer)


def alone(question: str, *history: Exchange, llm: ScriptedModel | None = None) -> str:
    return stand_alone(question, history, llm, Meter())


@pytest.mark.parametrize(
    ("before", "question", "holds"),
    [
        ("What does --max-num-batched-tokens set?", "What is its default?", "--max-num-batched-tokens"),
        ("`cpu_offload_gb` 是什么？", "它的默认值是多少？", "cpu_offload_gb"),
        ("前缀缓存如何淘汰块？", "为什么这样做？", "前缀缓存"),
        ("What is chunked prefill?", "Why?", "chunked prefill"),
        ("分块预填充是什么？", "那它会影响延迟吗？", "分块预填充"),
        ("What is chunked prefill?", "And for encoder models?", "chunked prefill"),
    ],
)
def test_the_subject_is_carried_over(before: str, question: str, holds: str) -> None:
    asked = alone(question, turn(before))
    assert holds in asked
    assert question in asked


@pytest.mark.parametrize(
    ("before", "question", "asked"),
    [
        ("What is the default of X_Y in v0.9.0?", "And in v0.33.0?", "What is the default of X_Y in v0.33.0?"),
        ("0.9.0 版本的默认块大小是多少？", "那 0.33.0 呢？", "0.33.0 版本的默认块大小是多少？"),
        ("What does --max-model-len set?", "What about --max-num-seqs?", "What does --max-num-seqs set?"),
    ],
)
def test_the_same_is_asked_of_another_version_or_flag(before: str, question: str, asked: str) -> None:
    assert alone(question, turn(before)) == asked


@pytest.mark.parametrize(
    "question",
    [
        "What is the default of max_num_batched_tokens?",
        "块池用什么元组作为缓存键？",
        "Is it possible to set max_num_seqs with chunked prefill?",
        "其他调度策略有哪些？",
    ],
)
def test_a_question_that_stands_alone_stays_as_it_is(question: str) -> None:
    assert alone(question, turn("Why is the KV cache paged?")) == question
    assert alone(question) == question


def test_only_the_latest_subject_is_carried() -> None:
    asked = alone("What is its default?", turn("What is speculative decoding?"), turn("What does --max-num-seqs set?"))
    assert "--max-num-seqs" in asked
    assert "speculative" not in asked


def rewritten(text: str) -> str:
    return json.dumps({"question": text}, ensure_ascii=False)


def test_what_a_model_puts_in_holds_no_character_that_is_not_seen() -> None:
    model = ScriptedModel(rewritten("What is \u202ethe default\u200b of --max-num-seqs?"))
    history = turn("What does --max-num-seqs set?", "It limits sequences. [1]")
    assert alone("What is its default?", history, llm=model) == "What is the default of --max-num-seqs?"


def test_a_model_puts_in_what_the_question_leaves_out() -> None:
    model = ScriptedModel(rewritten("What is the default of --max-num-seqs?"))
    history = turn("What does --max-num-seqs set?", "It limits sequences. [1]")
    assert alone("What is its default?", history, llm=model) == "What is the default of --max-num-seqs?"
    assert "It limits sequences" in model.messages[0].user
    assert model.messages[0].nonce in model.messages[0].user


@pytest.mark.parametrize(
    "reply",
    [
        rewritten("What is the default of --block-size?"),  # a name that nobody said
        rewritten("What is the default of --max-num-seqs on 8 GPUs?"),  # a number
        rewritten("--max-num-seqs 的默认值是多少？"),  # the other language
        rewritten("Default of --max-num-seqs, see https://evil.example/?"),
        rewritten(""),
        rewritten("x " * 400),
        "no JSON",
        '{"answer": 1}',
        GenerationFailed("down"),
    ],
)
def test_what_a_model_writes_is_used_only_if_it_brings_nothing_new(reply: str | Exception) -> None:
    asked = alone("What is its default?", turn("What does --max-num-seqs set?"), llm=ScriptedModel(reply))
    assert asked.startswith("About")
    assert "--max-num-seqs" in asked


def test_a_model_is_not_asked_about_a_question_that_needs_nothing() -> None:
    question = "How does chunked prefill change the latency of decode steps on H100?"
    assert alone(question, turn("Why is the KV cache paged?"), llm=ScriptedModel()) == question
