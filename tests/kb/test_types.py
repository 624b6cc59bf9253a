from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

import kb.types
from kb.types import (
    Chunk,
    Frozen,
    Kind,
    Locator,
    Mark,
    Page,
    Role,
    Source,
    Span,
    Time,
    clock,
    merge_locators,
    parse_locator,
)

HEADINGS = st.one_of(
    st.text(min_size=1, max_size=20),
    st.sampled_from(["a/b", "C#", "~tilde~", "100%", "two  words", "%2F", "#L1-2", "行 1", "\n", "a\u2028b"]),
)
TIMES = st.tuples(st.integers(0, 10**9), st.integers(0, 10**7)).map(lambda t: Time(start_ms=t[0], end_ms=t[0] + t[1]))
PAGES = st.builds(Page, number=st.integers(1, 10_000), label=st.text(max_size=10))


@st.composite
def marks(draw: st.DrawFn) -> Mark:
    path = tuple(draw(st.lists(HEADINGS, max_size=4)))
    start = draw(st.integers(1, 10_000))
    mark = Mark(heading_path=path, line_start=start, line_end=start + draw(st.integers(0, 500)))
    anchor = draw(st.one_of(st.just(mark.default_anchor), HEADINGS, st.just("")))
    return mark.model_copy(update={"anchor": anchor})


LOCATORS = st.one_of(TIMES, PAGES, marks())


def source(uri: str = "file:///notes/a%20b.md", url: str | None = None) -> Source:
    return Source(id="s", kind=Kind.NOTE, uri=uri, sha256="0" * 64, title="A note", url=url)


# --- locators ---------------------------------------------------------------------------------------------------


@given(LOCATORS)
def test_a_locator_survives_its_text_and_its_json(locator: Time | Page | Mark) -> None:
    assert parse_locator(str(locator)) == locator
    anywhere: TypeAdapter[Time | Page | Mark] = TypeAdapter(Locator)
    assert anywhere.validate_json(anywhere.dump_json(locator)) == locator


@given(LOCATORS)
def test_a_locator_is_one_word(locator: Time | Page | Mark) -> None:
    assert len(str(locator).split()) == 1


@pytest.mark.parametrize(
    ("locator", "text"),
    [
        (Time(start_ms=754_000, end_ms=778_500), "T:00:12:34.000-00:12:58.500"),
        (Time(start_ms=0, end_ms=360_000_000), "T:00:00:00.000-100:00:00.000"),
        (Page(number=12), "P:12"),
        (Page(number=12, label="A/3 #"), "P:12~A%2F3%20%23"),
        (Mark(heading_path=("Intro", "Setup"), line_start=10, line_end=24, anchor="setup"), "M:Intro/Setup#L10-24"),
        (Mark(heading_path=("a/b", "C# 入门"), line_start=1, line_end=1, anchor="c-入门"), "M:a%2Fb/C%23%20入门#L1-1"),
        (Mark(heading_path=("Setup",), line_start=3, line_end=4, anchor="setup_1"), "M:Setup~setup_1#L3-4"),
        (Mark(line_start=1, line_end=2), "M:#L1-2"),
    ],
    ids=str,
)
def test_the_text_of_a_locator(locator: Time | Page | Mark, text: str) -> None:
    assert str(locator) == text
    assert parse_locator(text) == locator


@pytest.mark.parametrize(
    "text",
    ["", "T:1:2:3", "P:", "P:0", "P:-1", "P:１２", "M:a#L2-1", "M:a", "T:00:00:02.000-00:00:01.000", "P:1\n", "X:1"],
)
def test_what_is_no_locator_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_locator(text)


def test_backward_ranges_are_refused() -> None:
    with pytest.raises(ValidationError):
        Time(start_ms=2, end_ms=1)
    with pytest.raises(ValidationError):
        Mark(line_start=2, line_end=1)


@given(st.integers(0, 10**9))
def test_clock_counts_every_millisecond(milliseconds: int) -> None:
    hours, minutes, seconds = clock(milliseconds).split(":")
    assert int(hours) * 3_600_000 + int(minutes) * 60_000 + round(float(seconds) * 1000) == milliseconds


# --- links ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "href"),
    [
        ("https://example.com/talk", "https://example.com/talk?t=754"),
        ("https://example.com/watch?v=1", "https://example.com/watch?v=1&t=754"),
        ("https://example.com/talk#top", "https://example.com/talk?t=754#top"),
        ("https://example.com/watch?v=1#a?b", "https://example.com/watch?v=1&t=754#a?b"),
        (None, "file:///notes/a%20b.md#t=754"),
    ],
)
def test_speech_links_to_its_second(url: str | None, href: str) -> None:
    assert Time(start_ms=754_999, end_ms=760_000).href(source(url=url)) == href


@pytest.mark.parametrize(
    ("url", "href"),
    [
        ("https://example.com/deck.pdf", "https://example.com/deck.pdf#page=12"),
        ("https://example.com/deck.pdf?dl=1#page=3", "https://example.com/deck.pdf?dl=1#page=12"),
        (None, "file:///notes/a%20b.md#page=12"),
    ],
)
def test_a_page_links_to_its_number(url: str | None, href: str) -> None:
    assert Page(number=12, label="x").href(source(url=url)) == href


def test_a_note_links_to_its_heading() -> None:
    mark = Mark(heading_path=("入门 C#",), line_start=1, line_end=2, anchor="入门-c")
    assert mark.href(source()) == "file:///notes/a%20b.md#%E5%85%A5%E9%97%A8-c"
    assert Mark(line_start=1, line_end=2).href(source()) == "file:///notes/a%20b.md"
    assert mark.href(source(url="https://example.com/n?x=1#old")).startswith("https://example.com/n?x=1#%E5")


@given(LOCATORS)
def test_a_link_has_one_fragment_and_no_blank(locator: Time | Page | Mark) -> None:
    for url in ("https://example.com/a?b=c#d", None):
        href = locator.href(source(url=url))
        assert href.count("#") <= 1
        assert not any(character.isspace() for character in href)


# --- chunks -----------------------------------------------------------------------------------------------------


def chunk(*spans: Span) -> Chunk:
    return Chunk(
        id="c",
        source_id="s",
        order=0,
        text="x" * 30,
        context="",
        spans=spans,
        role=Role.BODY,
        lang="en",
        tokens=9,
        recipe="r",
    )


def test_a_part_of_a_chunk_is_located_from_its_first_to_its_last_span() -> None:
    first, second = Time(start_ms=0, end_ms=900), Time(start_ms=1000, end_ms=2000)
    both = chunk(
        Span(start=0, end=10, order=0, offset=0, locator=first),
        Span(start=11, end=30, order=1, offset=0, locator=second),
    )
    assert both.locate(2, 5) == first
    assert both.locate(5, 12) == Time(start_ms=0, end_ms=2000)
    assert both.locators == (first, second)
    with pytest.raises(ValueError, match="outside"):
        both.locate(10, 11)


@given(TIMES, TIMES)
def test_merged_times_cover_both_when_in_order(first: Time, second: Time) -> None:
    first, second = sorted((first, second), key=lambda time: time.start_ms)
    merged = merge_locators(first, second)
    assert isinstance(merged, Time)
    assert merged.start_ms == first.start_ms
    assert merged.end_ms >= max(first.end_ms, second.end_ms)


# --- all types --------------------------------------------------------------------------------------------------


def test_every_type_is_frozen_and_strict() -> None:
    models = [value for value in vars(kb.types).values() if isinstance(value, type) and issubclass(value, BaseModel)]
    assert len(models) > 20
    for model in models:
        if model is not BaseModel:
            assert issubclass(model, Frozen), model
            assert model.model_config["frozen"], model
            assert model.model_config["extra"] == "forbid", model


def test_a_value_does_not_change() -> None:
    note = source()
    with pytest.raises(ValidationError):
        note.title = "Another"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Source.model_validate(note.model_dump() | {"extra": 1})
    assert source().model_copy(update={"date": date(2026, 1, 2)}).date == date(2026, 1, 2)
