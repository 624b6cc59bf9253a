"""What transcribers invent is removed, with its time and reason; what people say stays."""

from __future__ import annotations

import pytest

from ingest.parsed import Block
from ingest.recordings.clean import clean
from kb.types import Dropped, Role, Time

PROMPT = ("vLLM", "KV cache", "continuous batching", "分页注意力", "预填充")


def heard(*texts: str) -> list[Block]:
    return [
        Block(text, Time(start_ms=number * 1000, end_ms=number * 1000 + 900), Role.SPEECH)
        for number, text in enumerate(texts)
    ]


def cleaned(*texts: str) -> tuple[list[str], list[Dropped]]:
    items = list(clean(heard(*texts), PROMPT))
    return (
        [item.text for item in items if isinstance(item, Block)],
        [item for item in items if isinstance(item, Dropped)],
    )


def test_p01_a_phrase_in_a_loop_is_kept_once() -> None:
    kept, dropped = cleaned("Hello.", *["Thank you all."] * 20, "Goodbye.")
    assert kept == ["Hello.", "Thank you all.", "Goodbye."]
    assert len(dropped) == 19
    assert {item.reason for item in dropped} == {"a phrase in a loop: kept once"}
    assert dropped[0].where == "T:00:00:02.000-00:00:02.900"


def test_what_is_said_twice_stays() -> None:
    assert cleaned("Yeah.", "Yeah.", "对，对。") == (["Yeah.", "Yeah.", "对，对。"], [])


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("so 90 90 90 90 90 90 90 90 is it", "so 90 is it"),
        ("我们请问请问请问请问请问请问请问", "我们请问"),
        ("very, very, very good", "very, very, very good"),
        ("一二三四五六七八九十", "一二三四五六七八九十"),
    ],
)
def test_p53_a_loop_inside_a_sentence_is_kept_once(text: str, kept: str) -> None:
    result, dropped = cleaned(text)
    assert result == [kept]
    assert len(dropped) == (text != kept)


@pytest.mark.parametrize(
    "text",
    [
        "字幕由Amara.org社区提供",
        "请不吝点赞 订阅 转发 打赏支持明镜与点点栏目",
        "請不吝點贊訂閱轉發打賞支持明鏡與點點欄目",
        "谢谢观看！",
        "Thanks for watching!",
        "Subtitles by the Amara.org community",
    ],
)
def test_p06_credits_over_silence_are_dropped(text: str) -> None:
    kept, dropped = cleaned(text)
    assert not kept
    assert dropped[0].what == text


def test_a_long_sentence_about_captions_stays() -> None:
    text = "Thanks for watching the demo so closely: as you saw, the scheduler preempts the request and recomputes it."
    assert cleaned(text) == ([text], [])


@pytest.mark.parametrize("text", ["vLLM, KV cache, continuous batching", "分页注意力 预填充"])
def test_an_echo_of_the_prompt_is_dropped(text: str) -> None:
    kept, dropped = cleaned(text)
    assert not kept
    assert "echo" in dropped[0].reason


@pytest.mark.parametrize("text", ["Continuous batching.", "KV cache", "预填充。", "vLLM uses continuous batching."])
def test_a_term_of_the_prompt_that_was_said_stays(text: str) -> None:
    assert cleaned(text) == ([text], [])


def test_p06_traditional_script_becomes_simplified() -> None:
    assert cleaned("廣州市房地產中介協會分析。", "Plain English stays.")[0] == [
        "广州市房地产中介协会分析。",
        "Plain English stays.",
    ]


@pytest.mark.parametrize(
    ("heard_as", "kept"),
    [
        ("大家好,今天我们算一笔账, 好吗?", "大家好，今天我们算一笔账，好吗？"),
        ("一共有2,560块,要用128KB, 整整四倍", "一共有2,560块，要用128KB，整整四倍"),
        ("Well, that is 2,560 blocks.", "Well, that is 2,560 blocks."),
        ("1共2,560块，共21起", "一共2,560块，共21起"),
    ],
)
def test_p06_chinese_gets_its_own_punctuation(heard_as: str, kept: str) -> None:
    assert cleaned(heard_as) == ([kept], [])


def test_no_words_no_sentence() -> None:
    assert cleaned("♪ ♪", "…")[0] == []
