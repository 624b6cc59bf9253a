"""Chapters: where they begin, how many there are, what they are called."""

from __future__ import annotations

from itertools import pairwise
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generate.chapters import Length, _price, chapters
from generate.llm import Abandoned, Meter
from generate.named import titles_by
from generate.titles import WIDEST, cut, shortened, title_of, width
from kb.errors import GenerationFailed
from kb.text import detect_lang
from kb.types import Chapter, Lang, Line, Screen, Time
from tests.fakes import ScriptedModel
from tests.ingest.lectures import TOPICS

MINUTE = 60_000


def line(order: int, text: str, start: int, screen: Screen | None = None, length: int = 9_000) -> Line:
    locator = Time(start_ms=start, end_ms=start + length)
    return Line(order=order, text=text, locator=locator, href=f"https://v.example/w?t={start // 1000}", screen=screen)


def screen(page: int, title: str) -> Screen:
    return Screen(source_id="deck", page=page, title=title, href="#", start_ms=0, end_ms=1, confidence=0.9)


def lecture(lang: Lang, *, slides: bool, minutes: float = 4.0) -> list[Line]:
    """Every topic for some minutes, its sentences over and over; 48 minutes by default."""
    lines: list[Line] = []
    for number, topic in enumerate(TOPICS):
        on = screen(number + 1, topic.zh_title if lang == "zh" else topic.en_title) if slides else None
        speech = topic.zh_speech if lang == "zh" else topic.en_speech
        for at in range(int(minutes * 6)):
            start = round((number * minutes * 6 + at) * 10_000)
            lines.append(line(len(lines), speech[at % len(speech)], start, on))
    return lines


def minutes_of(found: tuple[Chapter, ...]) -> list[float]:
    return [(chapter.end_ms - chapter.start_ms) / MINUTE for chapter in found]


@pytest.mark.parametrize("slides", [True, False], ids=["with slides", "words alone"])
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_talk_is_cut_into_chapters_of_six_to_ten_minutes(lang: Lang, slides: bool) -> None:
    found = chapters(lecture(lang, slides=slides), lang, Length())
    assert found[0].start_ms == 0
    assert 5 <= len(found) <= 8
    assert all(5.9 <= length <= 10.1 for length in minutes_of(found))
    assert all(before.end_ms == after.start_ms for before, after in pairwise(found))
    assert all(0 < width(chapter.title) <= WIDEST for chapter in found)
    assert len({chapter.title for chapter in found}) == len(found)


def test_chapters_begin_where_slides_and_words_turn() -> None:
    with_slides = chapters(lecture("zh", slides=True), "zh", Length())
    assert {chapter.start_ms % (4 * MINUTE) for chapter in with_slides} == {0}
    by_words = chapters(lecture("en", slides=False), "en", Length())
    off = [min(c.start_ms % (4 * MINUTE), -c.start_ms % (4 * MINUTE)) for c in by_words]
    assert max(off) <= 30_000


def test_a_long_talk_has_ten_chapters_at_most_and_a_short_one_three() -> None:
    assert len(chapters(lecture("zh", slides=True, minutes=15), "zh", Length())) <= 10
    assert len(chapters(lecture("zh", slides=True, minutes=15), "zh", Length(most=4))) <= 4
    short = chapters(lecture("zh", slides=True, minutes=0.5), "zh", Length())
    assert 3 <= len(short) <= 5
    assert len(chapters(lecture("zh", slides=True), "zh", Length(minutes=15))) in (3, 4)


def test_nothing_said_has_no_chapters() -> None:
    assert chapters([], "zh", Length()) == ()
    assert [c.title for c in chapters([line(0, "嗯", 5_000)], "zh", Length())] == ["第 1 部分"]


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.tuples(st.integers(1, 90_000), st.sampled_from([t.zh_title for t in TOPICS]), st.booleans()), max_size=40
    ),
    st.integers(1, 10),
    st.sampled_from([None, 0.5, 3.0]),
)
def test_chapters_cover_the_talk_whatever_it_is(
    said: list[tuple[int, str, bool]], most: int, minutes: float | None
) -> None:
    lines, at = [], 0
    for order, (length, text, shown) in enumerate(said):
        lines.append(line(order, text, at, screen(order // 3 + 1, text) if shown else None, length))
        at += length
    found = chapters(lines, "zh", Length(minutes=minutes, most=most))
    assert len(found) <= most
    assert bool(found) == bool(lines)
    if found:
        assert (found[0].start_ms, found[-1].end_ms) == (0, lines[-1].locator.end_ms)
        assert all(before.end_ms == after.start_ms for before, after in pairwise(found))
        assert all(width(chapter.title) <= WIDEST for chapter in found)


@pytest.mark.parametrize(
    ("title", "lang", "best"),
    [
        ("分页注意力：逻辑块到物理块", "zh", "分页注意力：逻辑块到物理块"),
        ("3.2 连续批处理（续）", "zh", "连续批处理"),
        ("第三章 显存预算：剩下的才是真正能够给 KV 缓存使用的部分", "zh", "显存预算"),
        ("投机解码 Speculative decoding with a draft model", "zh", "投机解码"),
        ("Two phases, two bottlenecks: prefill is compute-bound", "en", "Two phases, two bottlenecks"),
        ("Disaggregating prefill and decoding over the network", "en", "Disaggregating prefill"),
    ],
)
def test_titles_are_shortened_to_what_says_most(title: str, lang: Lang, best: str) -> None:
    assert next(shortened(title, lang)) == best


@given(st.text(max_size=60), st.sampled_from(["zh", "en"]))
def test_what_is_shortened_fits(title: str, lang: Lang) -> None:
    assert all(0 < width(short) <= WIDEST for short in shortened(title, lang))


def test_two_latin_letters_are_as_wide_as_a_hanzi() -> None:
    assert (width("分页注意力"), width("KV"), width("KV 缓存")) == (5, 1, 3.5)
    assert cut("Time to first token and latency", WIDEST, measure=len) == "Time to first"


def test_the_price_of_a_length_is_asked_for_once_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many chapters there may be."""
    price = Mock(wraps=_price)
    monkeypatch.setattr("generate.chapters._price", price)
    lines = lecture("en", slides=True)
    chapters(lines, "en", Length(most=50))
    assert price.call_count == len(lines)


# --- titles by a language model -----------------------------------------------------------------------------------


def parts() -> list[list[Line]]:
    lines = lecture("zh", slides=True)
    return [lines[:24], lines[24:48]]


def test_a_model_names_chapters_and_code_checks_what_it_says() -> None:
    model = ScriptedModel('{"titles": ["预填充与解码的瓶颈", "量子纠缠与黑洞物理"]}')
    assert list(titles_by(model, Meter())(parts(), "zh")) == ["预填充与解码的瓶颈", title_of(parts(), "zh")[1]]
    assert "<chapters" in model.messages[0].user


@pytest.mark.parametrize(
    "reply",
    [
        "no JSON",
        '{"titles": ["预填充"]}',
        '{"titles": ["预填充", "预填充"]}',
        '{"titles": ["", "\\n"]}',
        '{"titles": ["预填充和解码的两个阶段以及它们各自完全不同的瓶颈所在", "[x](javascript:alert(1))"]}',
        GenerationFailed("no answer in time"),
    ],
)
def test_a_model_that_fails_costs_nothing(reply: str | Exception) -> None:
    titles = titles_by(ScriptedModel(reply), Meter())(parts(), "zh")
    own = title_of(parts(), "zh")
    assert len(set(titles)) == 2
    assert titles[1] == own[1]
    assert all(width(title) <= WIDEST and detect_lang(title) == "zh" for title in titles)


SAID = "The KV cache holds blocks of sixteen tokens, so decoding throughput is higher."


@pytest.mark.parametrize(
    "title",
    [
        "KV cache blocks of 128 tokens",
        "KV cache blocks: `--page-size`",
        "Decoding throughput is lower",
        "KV cache blocks in v0.9",
    ],
)
def test_a_title_brings_no_number_no_name_and_no_other_direction(title: str) -> None:
    part = [line(0, SAID, 0)]
    held = "KV cache blocks of tokens"
    named = titles_by(ScriptedModel(f'{{"titles": ["{title}"]}}', f'{{"titles": ["{held}"]}}'), Meter())
    assert named([part], "en") == title_of([part], "en")
    assert named([part], "en") == [held]


def test_nobody_is_named_chapters_who_has_gone() -> None:
    with pytest.raises(Abandoned):
        titles_by(ScriptedModel('{"titles": ["a", "b"]}'), Meter(lambda: True))(parts(), "zh")
