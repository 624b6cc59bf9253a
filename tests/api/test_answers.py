"""How an answer looks in the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from api import answers
from api.answers import show_answer
from kb.types import Answer, Dropped, Refusal


def test_what_failed_verification_is_told_by_count_and_rule_alone(capsys: pytest.CaptureFixture[str]) -> None:
    lost = [
        Dropped(what="Blocks hold 9999 tokens.", where="unsupported-number", reason="9999 does not stand there."),
        Dropped(what="Pools hold 8888 tokens.", where="unsupported-number", reason="8888 does not stand there."),
        Dropped(what="translation of [1]", where="gloss", reason="secret stands in one of the two only"),
        Dropped(what="the rest of the answer", where="model", reason="the model's reply was cut at 512 tokens"),
    ]
    answer = Answer(
        question="?", lang="en", text="Blocks hold 16.", mode="generated", claims=(), citations=(), dropped=tuple(lost),
        recipe="r",
    )  # fmt: skip
    show_answer(answer)
    told = "".join(capsys.readouterr())
    assert "Left out: 2 (unsupported-number)" in told
    assert "Left out: 1 (gloss)" in told
    assert "Left out: the rest of the answer (the model's reply was cut at 512 tokens)" in told
    assert not any(word in told for word in ("9999", "8888", "secret"))


def test_a_refused_turn_is_no_part_of_the_conversation(tmp_path: Path) -> None:
    answered = Answer(question="What is ARC?", lang="en", text="A policy. [1]", mode="extractive", recipe="r")
    refused = answered.model_copy(update={"question": "What does it cost?", "refused": Refusal(reason="Not there.")})
    answers.remember(tmp_path, (), answered)
    answers.remember(tmp_path, answers.conversation(tmp_path), refused)
    assert [turn.question for turn in answers.conversation(tmp_path)] == ["What is ARC?"]
    assert answers.last_question(tmp_path) == "What does it cost?"
