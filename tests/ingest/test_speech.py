"""Timed words become sentences."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingest.recordings.speech import Word, to_blocks
from kb.types import Flag, Time


def said(text: str, *, start: int = 0, each: int = 300, unsure: bool = False) -> list[Word]:
    """Words of English text, or hanzi one by one."""
    parts = [f" {word}" for word in text.split()] if " " in text else list(text)
    return [
        Word(part, start + n * each, start + (n + 1) * each, opens=n == 0, unsure=unsure)
        for n, part in enumerate(parts)
    ]


def texts(words: list[Word]) -> list[str]:
    return [block.text for block in to_blocks(words)]


def test_a_sentence_ends_at_its_punctuation_and_not_inside_a_number() -> None:
    assert texts(said("Version 0.7 is out. It is 2.5 times faster, e.g. on H100.")) == [
        "Version 0.7 is out.",
        "It is 2.5 times faster, e.g. on H100.",
    ]


def test_chinese_words_are_joined_without_blanks() -> None:
    words = [
        Word(each, n * 200, n * 200 + 200)
        for n, each in enumerate(["分页", "注意力", "很", "快。", "那", "怎么", "做？"])
    ]
    assert texts(words) == ["分页注意力很快。", "那怎么做？"]


def test_times_are_those_of_the_words() -> None:
    first, second = to_blocks(said("One two. Three."))
    assert (first.locator, second.locator) == (Time(start_ms=0, end_ms=600), Time(start_ms=600, end_ms=900))


def test_p02_a_pause_ends_a_sentence_and_belongs_to_none() -> None:
    first, second = to_blocks([*said("so we", start=2000), *said("go on now", start=6_000)])
    assert first.locator == Time(start_ms=2000, end_ms=2600)
    assert second.locator == Time(start_ms=6_000, end_ms=6_900)


def test_a_new_segment_after_a_breath_is_a_new_sentence() -> None:
    assert texts([*said("a token budget"), *said("in our example", start=1300)]) == ["a token budget", "in our example"]
    assert texts([*said("a token budget"), *said("in our example", start=1000)]) == ["a token budget in our example"]


def test_speech_without_punctuation_is_cut_to_what_one_wants_to_hear() -> None:
    blocks = list(to_blocks(said("词" * 300)))
    assert "".join(block.text for block in blocks) == "词" * 300
    assert all(
        block.locator.end_ms - block.locator.start_ms <= 12_000 for block in blocks if isinstance(block.locator, Time)
    )


def test_unsure_words_mark_their_sentence() -> None:
    sure, unsure = to_blocks([*said("One two."), *said("Three four.", start=2000, unsure=True)])
    assert not sure.flags
    assert unsure.flags == {Flag.LOW_CONFIDENCE}


@given(
    st.lists(
        st.tuples(
            st.sampled_from([" a", " b.", "好", "吗？", "，", " 3.", "5"]),
            st.integers(-500, 3000),
            st.integers(-50, 4000),
        )
    )
)
def test_nothing_is_lost_and_times_run_forward(steps: list[tuple[str, int, int]]) -> None:
    words, at = [], 1000
    for text, wait, length in steps:
        start = max(0, at + wait)
        words.append(Word(text, start, max(start, start + length)))
        at = start + length
    blocks = list(to_blocks(words))
    assert "".join("".join(block.text.split()) for block in blocks) == "".join(word.text.strip() for word in words)
    previous = 0
    for block in blocks:
        assert isinstance(block.locator, Time)
        assert previous <= block.locator.start_ms < block.locator.end_ms
        previous = block.locator.end_ms
