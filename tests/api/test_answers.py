"""How an answer looks in the terminal."""

from __future__ import annotations

import pytest

from api.answers import show_answer
from kb.types import Answer, Dropped


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
