"""What a file of cases may hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.cases import Gold, load_cases
from kb.errors import BadRequest
from kb.types import Kind
from tests.eval.subject import CASES


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is no case"), ('{"id": "x"}', "is no case: question: "), ("[]", "is no case: Input"), ("\n\n", "no cases")],
)
def test_bad_cases_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(text)
    with pytest.raises(BadRequest, match=message) as caught:
        load_cases([path])
    assert "cases.jsonl" in str(caught.value)
    assert "pydantic" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ids_come_once_over_all_files(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
    for path in paths:
        path.write_text(CASES[0].model_dump_json(), "utf-8")
    assert [case.id for case in load_cases(paths[:1])] == ["first"]
    with pytest.raises(BadRequest, match="twice"):
        load_cases(paths)


def test_fields_of_others_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "a", "question": "?", "lang": "en", "kind": "k", "gold": [], "author": "someone"}')
    assert not load_cases([path])[0].answerable


@pytest.mark.parametrize(
    ("file", "kind"),
    [("a/deck.PPTX", Kind.DECK), ("talk.vtt", Kind.CAPTIONS), ("talk.webm", Kind.RECORDING), ("po/a.po", Kind.NOTE)],
)
def test_a_gold_file_tells_its_kind(file: str, kind: Kind) -> None:
    assert Gold(file=file, quote="q").kind is kind


@pytest.mark.parametrize(
    ("file", "quote", "words"),
    [
        ("a.srt", "00:02:44,760 --> 00:02:48,560\n每天调用", "每天调用"),
        ("a.srt", "模型\n\n33\n00:01:43,320 --> 00:01:44,800\n怎么跑", "模型\n\n怎么跑"),
        ("a.vtt", "one\n\n02:44.760 --> 02:48.560 align:start\ntwo", "one\n\ntwo"),
        ("a.srt", "in 33\nsteps", "in 33\nsteps"),
        ("a.md", "00:02:44,760 --> 00:02:48,560\nx", "00:02:44,760 --> 00:02:48,560\nx"),
    ],
)
def test_cues_of_captions_are_not_spoken(file: str, quote: str, words: str) -> None:
    assert Gold(file=file, quote=quote).words == words


def test_groups_of_a_case() -> None:
    assert list(CASES[1].groups()) == ["all", "zh", "cross", "kind:fact", "source:note"]
    assert list(CASES[3].groups()) == ["all", "en", "kind:unanswerable"]
