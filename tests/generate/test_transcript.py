"""The page of a transcript: chapters, links to seconds, and nothing that acts."""

from __future__ import annotations

import re

from generate.transcript import chosen, moment, render, transcript
from kb.types import Kind, Role, Screen
from tests.generate.talks import CAPTIONS, DOCUMENTS, TALK, at, document, heard


def test_the_page_has_chapters_and_a_deep_link_for_each_paragraph() -> None:
    made = heard()
    assert made is not None
    text = render(made, "zh")
    assert text.startswith("# KV 缓存\n")
    assert re.findall(r"^## (\d\d:\d\d) (.+)$", text, re.M)[0][0] == "00:00"
    assert "[00:04](https://v.example/w?t=4) 先看分页管理" in text
    paragraphs = [block for block in text.split("\n\n") if "https://v.example" in block]
    assert len(paragraphs) >= 3, "a paragraph ends with its slide"
    assert "音乐" not in text


def test_every_line_stands_in_the_page_once() -> None:
    made = heard()
    assert made is not None
    text = render(made, "zh")
    assert all(text.count(line.text) == 1 for line in made.lines)


def test_hostile_words_stay_words() -> None:
    hostile = document(Kind.CAPTIONS, "bad.srt", [(Role.SPEECH, at(1), "<script>alert(1)</script> [x](javascript:y)")])
    text = render(transcript(TALK, hostile, (), "en"), "en")
    assert "<script" not in text
    assert "\\[x\\](javascript:y)" in text, "no link"


def test_a_line_knows_the_slide_that_was_shown_longest() -> None:
    screens = [
        Screen(source_id="d", page=page, href="#", start_ms=start, end_ms=end, confidence=1)
        for page, start, end in ((1, 0, 6_000), (2, 6_000, 11_000))
    ]
    made = transcript(TALK, CAPTIONS, screens, "zh")
    assert [line.screen.page if line.screen else None for line in made.lines][:3] == [1, 2, None]


def test_captions_in_the_wanted_language_are_chosen() -> None:
    english = document(Kind.CAPTIONS, "en.srt", [(Role.SPEECH, at(0), "The block table maps blocks to memory.")])
    documents = (*DOCUMENTS, english)
    assert chosen(TALK, documents, "en") is english
    assert chosen(TALK, documents, "zh") is CAPTIONS
    assert chosen(TALK, DOCUMENTS[:1], "zh") is None


def test_moments_are_written_as_platforms_write_them() -> None:
    assert [moment(ms) for ms in (0, 65_000, 3_725_000)] == ["00:00", "01:05", "1:02:05"]
