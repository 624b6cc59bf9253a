"""Captions and transcripts in every dialect keep each word and each time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.parsed import Parsed, Reading
from ingest.recordings.captions import read
from ingest.recordings.cues import Cue, parse
from kb.errors import UnreadableSource, UnsupportedSource
from kb.settings import Settings
from kb.text import find_quote
from kb.types import Dropped, Time


def parsed(tmp_path: Path, content: str | bytes, name: str = "talk.srt") -> Parsed:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read(path, Reading(Settings()))


def cues(result: Parsed) -> list[tuple[int, int, str]]:
    spans = [(block.locator, block.text) for block in result.blocks]
    return [(span.start_ms, span.end_ms, text) for span, text in spans if isinstance(span, Time)]


PLAIN = "1\n00:00:01,500 --> 00:00:02,000\n你好 vLLM\n\n2\n00:01:03,200 --> 00:01:04,000\nsecond\nline\n"
SAME = [(1500, 2000, "你好 vLLM"), (63_200, 64_000, "second\nline")]
DIALECTS = {
    "plain": PLAIN,
    "byte order mark": "\ufeff" + PLAIN,
    "UTF-16": PLAIN.encode("utf-16"),
    "GB18030": PLAIN.encode("gb18030"),
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "CR": PLAIN.replace("\n", "\r"),
    "dot for comma": PLAIN.replace(",", "."),
    "one digit of a second": PLAIN.replace(",500", ",5").replace(",200", ",2"),
    "two digits of a second": PLAIN.replace(",500", ",50").replace(",200", ",20"),
    "no fraction": PLAIN.replace(",000", ""),
    "no index": PLAIN.replace("1\n00:00", "00:00").replace("2\n00:01", "00:01"),
    "wrong index": PLAIN.replace("2\n00:01", "17\n00:01"),
    "leading blank lines": "\n\n \n" + PLAIN,
    "blank line under the time": PLAIN.replace("2,000\n", "2,000\n\n"),
    "blank line inside": PLAIN.replace("second\nline", "second\n\nline"),
    "no blank line between": PLAIN.replace("vLLM\n\n2", "vLLM\n2"),
    "no hours": PLAIN.replace("00:00:", "00:").replace("00:01:", "01:"),
    "one digit of hours": PLAIN.replace("00:00:", "0:00:").replace("00:01:", "0:01:"),
    "tight arrow": PLAIN.replace(" --> ", "-->"),
    "coordinates": PLAIN.replace("2,000\n", "2,000  X1:40 X2:600 Y1:20 Y2:50\n"),
    "styles": PLAIN.replace("你好", "{\\an8}<b>你好</b>").replace("second", '<font color="#fff">second</font>'),
    "trailing blanks": PLAIN.replace("\n", "  \n") + "\n\n\n",
    "WebVTT": "WEBVTT - a title\nKind: captions\n\n" + PLAIN.replace(",", "."),
    "WebVTT settings": "WEBVTT\n\n" + PLAIN.replace(",", ".").replace("2.000\n", "2.000 align:start position:0%\n"),
    "WebVTT identifiers": "WEBVTT\n\n"
    + PLAIN.replace("1\n00:00", "intro\n00:00").replace("2\n00:01", "the end\n00:01"),
}


@pytest.mark.parametrize("content", DIALECTS.values(), ids=DIALECTS)
def test_p09_every_dialect_gives_the_same_cues(tmp_path: Path, content: str | bytes) -> None:
    result = parsed(tmp_path, content)
    assert cues(result) == SAME
    assert not result.dropped


def test_p10_webvtt_markup_loses_no_cue_and_keeps_the_speaker(tmp_path: Path) -> None:
    result = parsed(
        tmp_path,
        """WEBVTT

STYLE
::cue { color: lime }

NOTE
made by hand --
of two lines

00:01.000 --> 00:02.000
<v Ann Li>Blocks&nbsp;are <00:00:01.200><c.yellow>shared</c></v>

NOTE a remark

00:02.000 --> 00:03.000
<v.loud Bob>if a &lt; b &amp;&amp; vector<int> x

00:03.000 --> 00:04.000
<ruby>块<rt>kuài</rt></ruby> <i>and</i> AT&T
""",
        "talk.vtt",
    )
    assert cues(result) == [
        (1000, 2000, "Ann Li: Blocks are shared"),
        (2000, 3000, "Bob: if a < b && vector<int> x"),
        (3000, 4000, "块kuài and AT&T"),
    ]


ROLLING = """WEBVTT
Kind: captions
Language: en

00:00:00.000 --> 00:00:02.350 align:start position:0%
{padding}
so<00:00:00.500><c> the</c><00:00:00.900><c> cache</c>

00:00:02.350 --> 00:00:02.360 align:start position:0%
so the cache
{padding}

00:00:02.360 --> 00:00:04.000 align:start position:0%
so the cache
yeah<00:00:03.000><c> yeah</c>

00:00:04.000 --> 00:00:04.010 align:start position:0%
yeah yeah
{padding}

00:00:04.010 --> 00:00:05.500 align:start position:0%
yeah yeah
yeah<00:00:05.000><c> yeah</c>

00:00:05.500 --> 00:00:05.510 align:start position:0%
yeah yeah
{padding}

00:00:05.510 --> 00:00:07.000 align:start position:0%
yeah yeah
is<00:00:06.000><c> paged</c>
""".format(padding=" ")  # the line that YouTube fills the screen with


def test_p08_rolling_captions_say_each_phrase_once_and_a_real_repeat_survives(tmp_path: Path) -> None:
    result = parsed(tmp_path, ROLLING, "talk.vtt")
    assert cues(result) == [
        (0, 2350, "so the cache"),
        (2360, 4000, "yeah yeah"),
        (4010, 5500, "yeah yeah"),
        (5510, 7000, "is paged"),
    ]
    assert result.dropped == (Dropped(what="6 lines", where="", reason="rolling captions show a line again"),)


def test_p08_captions_that_do_not_roll_keep_a_repeated_line(tmp_path: Path) -> None:
    said = ["well\nyeah", "yeah\nright", "a\nb", "c\nd"]
    content = "\n\n".join(f"00:0{number} --> 00:0{number + 1}\n{text}" for number, text in enumerate(said))
    assert [text for _, _, text in cues(parsed(tmp_path, content))] == said


def test_overlapping_times_are_kept_and_noted(tmp_path: Path) -> None:
    result = parsed(tmp_path, "1\n00:01 --> 00:05\none\n\n2\n00:03 --> 00:06\ntwo\n")
    assert cues(result) == [(1000, 5000, "one"), (3000, 6000, "two")]
    assert result.dropped[0].where == "line 6"
    assert "kept" in result.dropped[0].reason


def test_reversed_times_are_swapped_and_noted_with_their_line(tmp_path: Path) -> None:
    result = parsed(tmp_path, "1\n00:01 --> 00:02\none\n\n2\n00:09 --> 00:07\ntwo\n")
    assert cues(result) == [(1000, 2000, "one"), (7000, 9000, "two")]
    assert result.dropped == (
        Dropped(what="00:09 --> 00:07", where="line 6", reason="ends before it starts: times were swapped"),
    )


def test_cues_out_of_order_are_sorted_and_noted(tmp_path: Path) -> None:
    result = parsed(tmp_path, "00:05 --> 00:06\nlater\n\n00:01 --> 00:02\nearlier\n")
    assert [text for _, _, text in cues(result)] == ["earlier", "later"]
    assert result.dropped[0].where == "line 4"


def test_a_broken_cue_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    result = parsed(tmp_path, "00:0x --> 00:02\nlost words\n\n00:02 --> 00:03\n\n00:03 --> 00:04\nkept\n")
    assert cues(result) == [(3000, 4000, "kept")]
    assert [(item.where, item.reason) for item in result.dropped] == [
        ("line 1", "times cannot be read"),
        ("line 4", "a cue without text"),
    ]
    assert "lost words" in result.dropped[0].what


@pytest.mark.parametrize("content", ["just prose\n", "WEBVTT\n\nNOTE nothing here\n", "\n\n"])
def test_a_file_without_a_cue_is_unreadable(tmp_path: Path, content: str) -> None:
    with pytest.raises(UnreadableSource, match=r"talk\.srt: no cue"):
        parsed(tmp_path, content)


def test_cues_of_a_punctuated_sentence_become_one_block_with_their_span(tmp_path: Path) -> None:
    content = """00:01.000 --> 00:02.000
In this video, we will see how

00:02.000 --> 00:03.000
to batch sequences together.

00:03.500 --> 00:04.000
After a pause

00:06.000 --> 00:07.000
it goes on.
"""
    assert cues(parsed(tmp_path, content)) == [
        (1000, 3000, "In this video, we will see how\nto batch sequences together."),
        (3500, 4000, "After a pause"),
        (6000, 7000, "it goes on."),
    ]


def test_a_cue_in_two_languages_stays_whole(tmp_path: Path) -> None:
    content = """1
00:01:30,540 --> 00:01:33,750
每个向量有 384 个维度。
and each vector has 384 dimensions.

2
00:01:33,750 --> 00:01:36,210
但我们真正想要的是
But what we really want is
"""
    first, second = parsed(tmp_path, content).blocks
    assert find_quote("每个向量有 384 个维度。\nand each vector has 384 dimensions.", first.text)
    assert second.text == "但我们真正想要的是\nBut what we really want is"


# --- JSON ---------------------------------------------------------------------------------------------------------

ENTRIES = [{"start": 1.5, "end": 2.0, "text": " 你好 vLLM"}, {"start": 63.2, "end": 64, "text": "second line", "id": 7}]
JSON_SAME = [(1500, 2000, "你好 vLLM"), (63_200, 64_000, "second line")]


@pytest.mark.parametrize(
    "data",
    [
        {"text": "…", "segments": ENTRIES, "language": "zh"},
        ENTRIES,
        [{**entry, "start": round(entry["start"] * 1000), "end": round(entry["end"] * 1000)} for entry in ENTRIES],  # type: ignore[operator]
        [{**ENTRIES[0], "start": "00:00:01.500", "end": "00:02,0"}, {**ENTRIES[1], "start": "1:03.2", "end": "01:04"}],
    ],
    ids=["Whisper", "list", "milliseconds", "clocks"],
)
def test_transcripts_in_json(tmp_path: Path, data: object) -> None:
    result = parsed(tmp_path, json.dumps(data, ensure_ascii=False), "talk.json")
    assert cues(result) == JSON_SAME
    assert not result.dropped


def test_whole_seconds_are_not_taken_for_milliseconds(tmp_path: Path) -> None:
    data = [{"start": 0, "end": 4, "text": "one"}, {"start": 4, "end": 9, "text": "two"}]
    assert cues(parsed(tmp_path, json.dumps(data), "talk.json")) == [(0, 4000, "one"), (4000, 9000, "two")]


def test_entries_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    data = [
        *ENTRIES,
        {"start": 70, "text": "no end"},
        {"start": float("nan"), "end": 71, "text": "x"},
        {"start": -1, "end": 71, "text": "x"},
        {"start": "soon", "end": 71, "text": "x"},
        {"start": 72, "end": 73, "text": "  "},
        {"start": 75, "end": 74, "text": "swapped"},
        "prose",
    ]
    result = parsed(tmp_path, json.dumps(data), "talk.json")
    assert cues(result) == [*JSON_SAME, (74_000, 75_000, "swapped")]
    assert [item.where for item in result.dropped] == [f"entry {number}" for number in (3, 4, 5, 6, 7, 8, 9)]


# As the platforms give them: the first has a window without text and events that only break a line.
JSON3 = {
    "wireMagic": "pb3",
    "pens": [{}],
    "events": [
        {"tStartMs": 0, "dDurationMs": 70_000, "id": 1, "wpWinPosId": 1},
        {
            "tStartMs": 1500,
            "dDurationMs": 5000,
            "segs": [{"utf8": "你好", "acAsrConf": 0}, {"utf8": " vLLM", "tOffsetMs": 300}],
        },
        {"tStartMs": 1990, "dDurationMs": 4500, "aAppend": 1, "segs": [{"utf8": "\n"}]},
        {"tStartMs": 2000, "dDurationMs": 500, "segs": [{"utf8": "second"}, {"utf8": " line", "tOffsetMs": 120}]},
    ],
}
BILIBILI = {
    "font_size": 0.4,
    "type": "AIsubtitle",
    "lang": "zh",
    "body": [
        {"from": 1.5, "to": 2.0, "sid": 1, "location": 2, "content": "你好 vLLM", "music": 0.0},
        {"from": 2, "to": 2.5, "sid": 2, "location": 2, "content": "second line", "music": 0.0},
    ],
}


@pytest.mark.parametrize("name", ["talk.json3", "talk.json"])
@pytest.mark.parametrize("data", [JSON3, BILIBILI], ids=["YouTube", "Bilibili"])
def test_subtitles_of_platforms(tmp_path: Path, data: object, name: str) -> None:
    result = parsed(tmp_path, json.dumps(data, ensure_ascii=False), name)
    assert cues(result) == [(1500, 2000, "你好 vLLM"), (2000, 2500, "second line")]
    assert not result.dropped


def test_captions_that_a_person_timed_keep_their_times(tmp_path: Path) -> None:
    events = [{"tStartMs": start, "dDurationMs": 3000, "segs": [{"utf8": f"a\n{start}"}]} for start in (0, 2000)]
    result = parsed(tmp_path, json.dumps({"wireMagic": "pb3", "events": events}), "talk.json3")
    assert cues(result) == [(0, 3000, "a 0"), (2000, 5000, "a 2000")]


@pytest.mark.parametrize(
    "content", ['{"name": "package"}', '{"events": [1]}', '{"body": "text"}', "[1, 2]", '"text"', '{"segments": []}']
)
def test_other_json_is_not_supported_and_says_what_is(tmp_path: Path, content: str) -> None:
    with pytest.raises(UnsupportedSource, match="segments"):
        parsed(tmp_path, content, "talk.json")


@pytest.mark.parametrize("content", ['{"segments": [', "[" * 100_000])
def test_broken_json_is_unreadable(tmp_path: Path, content: str) -> None:
    with pytest.raises(UnreadableSource, match="JSON"):
        parsed(tmp_path, content, "talk.json")


# --- invariants ---------------------------------------------------------------------------------------------------

LINE = (
    st.text("abc 你好。.,-1&", min_size=1, max_size=12)
    .map(str.strip)
    .filter(lambda line: line and "--" not in line and not line.isdecimal())
)


@given(
    st.lists(st.tuples(st.integers(0, 9_999_999), st.integers(0, 9_999), st.lists(LINE, min_size=1, max_size=3))),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([",", "."]),
    st.booleans(),
)
def test_what_is_written_is_read(
    written: list[tuple[int, int, list[str]]], newline: str, point: str, indexed: bool
) -> None:
    def stamp(at: int) -> str:
        return f"{at // 3_600_000:02}:{at // 60_000 % 60:02}:{at // 1000 % 60:02}{point}{at % 1000:03}"

    blocks = [
        [*([str(number)] if indexed else []), f"{stamp(start)} --> {stamp(start + length)}", *lines]
        for number, (start, length, lines) in enumerate(written, 1)
    ]
    text = (newline * 2).join(newline.join(block) for block in blocks).replace("\r\n", "\n")
    read_back = [(cue.start, cue.end, list(cue.lines)) for cue in parse(text) if isinstance(cue, Cue)]
    assert read_back == [(start, start + length, lines) for start, length, lines in written]


@given(st.text("0123456789:.,-> \nabc<>&;{}\\NOTE", max_size=200))
def test_any_text_is_parsed_without_a_fault(text: str) -> None:
    for item in parse(text):
        assert isinstance(item, Cue | Dropped)
        if isinstance(item, Cue):
            assert 0 <= item.start <= item.end
            assert item.text.strip()


@pytest.mark.corpus
def test_transcripts_of_the_corpus(corpus: Path) -> None:
    folder = corpus / "media/transcripts"
    bilingual = next(folder.glob("hf_zh*.srt"))
    text = "\n".join(block.text for block in read(bilingual, Reading(Settings())).blocks)
    assert find_quote("每个向量有 384 个维度。\nand each vector has 384 dimensions.", text)
    for path in folder.glob("*.srt"):
        result = read(path, Reading(Settings()))
        assert not result.dropped
        spoken = [line for line in path.read_text("utf-8-sig").split("\n") if line and not line.isdecimal()]
        lines = [line for block in result.blocks for line in block.text.split("\n")]
        assert lines == [line.strip() for line in spoken if "-->" not in line]
