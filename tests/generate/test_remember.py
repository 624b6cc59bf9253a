from __future__ import annotations

from pathlib import Path

import pytest

from generate.llm import Message, Meter
from generate.remember import RememberingModel
from kb.errors import Truncated
from tests.fakes import ScriptedModel

ASK = Message("Fence n1.", "<n1> evidence </n1> Why?", "n1")
AGAIN = Message("Fence n2.", "<n2> evidence </n2> Why?", "n2")
SCHEMA = {"type": "object"}


def test_the_same_request_is_sent_once_whatever_its_nonce(tmp_path: Path) -> None:
    inner, meter = ScriptedModel("because", pieces=3), Meter()
    model = RememberingModel(inner, tmp_path / "replies", "r1")
    assert list(model.stream(ASK, meter=meter)) == ["bec", "aus", "e"]
    assert model.complete(AGAIN, meter=meter) == "because"
    assert list(model.stream(AGAIN, meter=meter)) == ["because"]
    assert len(inner.messages) == 1
    assert (meter.usage.calls, meter.usage.cached) == (3, 2)


@pytest.mark.parametrize(
    "other", [Message("Fence n1.", "<n1> other </n1> Why?", "n1"), Message("Be brief.", ASK.user, "n1")]
)
def test_another_request_is_another_reply(tmp_path: Path, other: Message) -> None:
    model = RememberingModel(ScriptedModel("a", "b"), tmp_path, "r1")
    assert [model.complete(ASK), model.complete(other)] == ["a", "b"]


def test_another_model_schema_or_server_is_another_reply(tmp_path: Path) -> None:
    inner = ScriptedModel("a", '{"b": 1}', "c")
    assert RememberingModel(inner, tmp_path, "r1").complete(ASK) == "a"
    assert RememberingModel(inner, tmp_path, "r1").complete(ASK, schema=SCHEMA) == '{"b": 1}'
    assert RememberingModel(inner, tmp_path, "r2").complete(ASK) == "c"


def test_what_is_not_whole_or_not_the_json_that_was_asked_for_is_not_kept(tmp_path: Path) -> None:
    model = RememberingModel(ScriptedModel(("half", Truncated("cut")), "no JSON", "{}"), tmp_path, "r1")
    with pytest.raises(Truncated):
        list(model.stream(ASK, schema=SCHEMA))
    assert model.complete(ASK, schema=SCHEMA) == "no JSON"
    assert model.complete(ASK, schema=SCHEMA) == "{}"
    assert model.complete(ASK, schema=SCHEMA) == "{}"


def test_a_reader_that_leaves_early_leaves_nothing_behind(tmp_path: Path) -> None:
    inner = ScriptedModel("because", "because", pieces=2)
    model = RememberingModel(inner, tmp_path, "r1")
    stream = model.stream(ASK)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert inner.closed == 1
    assert model.complete(ASK) == "because"
    assert len(inner.messages) == 2


def test_a_cache_that_cannot_be_used_is_passed_by(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    model = RememberingModel(ScriptedModel("a", "a"), tmp_path / "file", "r1")
    assert [model.complete(ASK), model.complete(ASK)] == ["a", "a"]
