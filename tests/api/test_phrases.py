"""The words around an answer follow its question, on every face."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from api.answers import show_answer
from api.phrases import phrase, place, versions
from api.routes.pages import WEB
from kb.text import HAN
from kb.types import Answer, Citation, Dropped, Kind, Lang, Mark, Page, Refusal, Screen, Time, Usage

API = Path(__file__).resolve().parents[2] / "api"
PHRASES = json.loads((WEB / "answer.json").read_text("utf-8"))

SPOKEN = Citation(
    n=1, evidence_id="e1", source_id="s", title="显存 memory", kind=Kind.RECORDING,
    locator=Time(start_ms=0, end_ms=4000), quote="KV 缓存分块。", heard="KV 换存分块。", href="https://example.org/v?t=0",
    lang="zh", version="0.9", gloss="分块 blocks",
    screen=Screen(source_id="d", page=3, title="分页 paging", href="https://example.org/d#page=3", start_ms=0,
                  end_ms=9, confidence=0.8),
)  # fmt: skip
WRITTEN = SPOKEN.model_copy(
    update={"n": 2, "kind": Kind.NOTE, "locator": Mark(line_start=3, line_end=4), "screen": None, "heard": ""}
)


def told(lang: Lang, capsys: pytest.CaptureFixture[str], *, refused: bool) -> str:
    refusal = Refusal(reason="没有 none", nearest=(SPOKEN, WRITTEN)) if refused else None
    answer = Answer(
        question="?", lang=lang, text="KV 缓存 cache [1]", mode="generated", refused=refusal,
        citations=() if refused else (SPOKEN, WRITTEN), as_of="0.9, 0.10", asked_as="什么 what",
        dropped=(Dropped(what="x", where="rule", reason="y"),), recipe="r",
        usage=Usage(calls=2, cached=1, prompt_tokens=30, completion_tokens=4, cost=0.5),
    )  # fmt: skip
    show_answer(answer)
    return "".join(capsys.readouterr())


OWN = re.compile(
    r"显存 memory|KV 缓存 cache|KV .存分块。|分块 blocks|分页 paging|没有 none|什么 what|https?://\S+|· zh|rule|v0"
)


@pytest.mark.parametrize("refused", [False, True], ids=["answered", "refused"])
def test_a_chinese_question_is_answered_in_chinese_alone(capsys: pytest.CaptureFixture[str], *, refused: bool) -> None:
    ours = OWN.sub("", told("zh", capsys, refused=refused))
    assert not re.search(r"[A-Za-z]{2,}", ours), ours
    assert "依据版本" in ours
    assert "当时的画面：第 3 页：" in ours
    assert ("无法回答：" in ours) == ("最接近的依据：" in ours) == refused


@pytest.mark.parametrize("lang", ["en", "und"])
def test_any_other_question_is_answered_in_english(lang: Lang, capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(lang, capsys, refused=True)
    assert not HAN.search(OWN.sub("", shown))
    assert "No answer: 没有 none\n\nThe nearest evidence:" in shown
    assert "As of version v0.9, v0.10" in shown


def test_both_languages_have_the_same_phrases_with_the_same_places() -> None:
    places = {lang: {key: set(re.findall(r"\{\w+\}", text)) for key, text in PHRASES[lang].items()} for lang in PHRASES}
    assert set(places) == {"zh", "en"}
    assert places["zh"] == places["en"]


def test_every_phrase_is_used_and_every_used_one_is_there() -> None:
    code = [path.read_text("utf-8") for path in (*API.glob("*.py"), *WEB.glob("*.js"))]
    calls = "\n".join(line for text in code for line in re.findall(r"(?:phrase\(|shown\[).*", text))
    used = set(re.findall(r"""["'](\w+)["']""", calls)) & set(PHRASES["en"])
    by_value = {*Kind, "zh", "en", "extractive", "generated", "line", "lines"}
    assert used | by_value == set(PHRASES["en"])


def test_places_in_both_languages() -> None:
    assert place(Page(number=3, label="iii"), "zh") == "第 3 页 (iii)"
    assert place(Mark(heading_path=("A", "B", "C"), line_start=2, line_end=2), "zh") == "B › C › 第 2 行"
    assert place(Mark(heading_path=("A", "B", "C"), line_start=2, line_end=2), "zh", title="B") == "A › C › 第 2 行"
    assert place(Mark(heading_path=("A",), line_start=2, line_end=2), title="A") == "line 2"
    assert place(Mark(line_start=2, line_end=5)) == "lines 2–5"
    assert place(Time(start_ms=3_723_000, end_ms=3_724_000), "zh") == "1:02:03–1:02:04"
    assert place(Time(start_ms=0, end_ms=61_000)) == "00:00–01:01"


def test_versions_are_listed_as_the_language_does() -> None:
    assert versions("zh", "0.9, v0.10") == "v0.9、v0.10"
    assert phrase("en", "as_of", versions=versions("en", "0.9")) == "As of version v0.9"
