from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from generate.llm import Message
from generate.query_translation import QueryTranslator
from kb.errors import GenerationFailed
from kb.types import Lang
from tests.fakes import ScriptedModel

ZH = "显存不够怎么办？"
EN = "What if GPU memory is not enough?"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_each_question_is_translated_once(clock: Clock) -> None:
    model = ScriptedModel(EN, ZH)
    translate = QueryTranslator(model, seconds=5, clock=clock)
    assert [translate(ZH, "en"), translate(ZH, "en"), translate(EN, "zh")] == [EN, EN, ZH]
    assert (len(model.messages), translate.failures) == (2, 0)


def test_the_model_is_told_the_names_that_the_field_uses(clock: Clock) -> None:
    model = ScriptedModel(EN)
    QueryTranslator(model, seconds=5, clock=clock)(ZH, "en")
    assert "显存 = GPU memory" in model.messages[0].system
    assert ZH in model.messages[0].user


@pytest.mark.parametrize(
    ("reply", "translation"),
    [
        (f"\n  “{EN}”\nIt means …", EN),
        (ZH, None),  # not translated
        ("…", None),
        ("12", None),
    ],
)
def test_only_a_line_in_the_other_language_is_a_translation(reply: str, translation: str | None, clock: Clock) -> None:
    assert QueryTranslator(ScriptedModel(reply), seconds=5, clock=clock)(ZH, "en") == translation


@pytest.mark.parametrize("error", [GenerationFailed("the endpoint cannot be reached"), RuntimeError("a fault of ours")])
def test_a_model_that_fails_is_left_alone_for_a_minute_and_asked_again_then(error: Exception, clock: Clock) -> None:
    model = ScriptedModel(error, EN)
    translate = QueryTranslator(model, seconds=5, clock=clock)
    assert [translate(ZH, "en"), translate(ZH, "en")] == [None, None]
    assert (len(model.messages), translate.failures) == (1, 1)
    clock.now = 60.0
    assert translate(ZH, "en") == EN


class Slow(ScriptedModel):
    """Replies when it is let."""

    def __init__(self, reply: str) -> None:
        super().__init__(reply)
        self.go = threading.Event()

    def complete(self, message: Message, **options: object) -> str:
        self.go.wait(10)
        return super().complete(message)


@pytest.fixture
def slow() -> Iterator[Slow]:
    model = Slow(EN)
    yield model
    model.go.set()


def test_a_translation_that_comes_too_late_is_there_for_the_next_search(slow: Slow, clock: Clock) -> None:
    translate = QueryTranslator(slow, seconds=0.05, clock=clock)
    assert translate(ZH, "en") is None
    assert translate.failures == 1
    slow.go.set()
    assert next(found for _ in range(200) if (found := translate(ZH, "en"))) == EN  # the model is being left alone
    assert len(slow.messages) == 1


@pytest.mark.parametrize(("text", "to"), [(ZH, "en"), (EN, "zh")])
def test_both_languages_have_their_instructions(text: str, to: Lang, clock: Clock) -> None:
    model = ScriptedModel({"en": EN, "zh": ZH}[to])
    assert QueryTranslator(model, seconds=5, clock=clock)(text, to)
    assert "--max-model-len" in model.messages[0].system
