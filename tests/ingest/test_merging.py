"""Captions and speech of one talk are one transcript: captions first, speech in the gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.load import load
from ingest.parsed import Block, Parsed, Reading
from ingest.recordings.captions import read as read_captions
from ingest.recordings.media import read
from ingest.recordings.merging import captions_of, known, merged, recording_of
from kb.settings import Settings
from kb.types import Flag, Role, Time
from tests.fakes import FakeTranscriber
from tests.ingest.recordings import write_recording

SRT = "1\n00:00:00,000 --> 00:00:01,900\nThe KV cache, as written.\n\n2\n00:00:20,000 --> 00:00:21,000\nLater.\n"


def said(start: int, text: str = "Said.") -> Block:
    return Block(text, Time(start_ms=start, end_ms=start + 900), Role.SPEECH)


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(SRT if name.endswith((".srt", ".vtt")) else "title: T\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("files", "language", "expected"),
    [
        (["talk.srt"], None, "talk.srt"),
        (["talk.en.vtt"], None, "talk.en.vtt"),
        (["talk.zh-Hans.vtt", "talk.srt"], None, "talk.srt"),
        (["talk.zh.vtt", "talk.en.vtt"], None, None),  # nobody can tell
        (["talk.zh.vtt", "talk.en.vtt"], "en", "talk.en.vtt"),
        (["talk.zh.vtt"], "en", None),  # a translation
        (["talk.ja.vtt"], "zh", None),
        (["other.srt"], None, None),
        (["subtitles.srt"], "en", "subtitles.srt"),  # the only ones of the talk
        (["notes.json"], "en", None),
        ([], None, None),
    ],
)
def test_the_captions_that_say_what_is_spoken(
    tmp_path: Path, files: list[str], language: str | None, expected: str | None
) -> None:
    touch(tmp_path, "talk.mp4", *files)
    if language:
        (tmp_path / "talk.yaml").write_text(f"title: T\nlanguage: {language}\n", encoding="utf-8")
    found = captions_of(tmp_path / "talk.mp4")
    assert (found.name if found else None) == expected
    for name in files:
        assert recording_of(tmp_path / name) == (tmp_path / "talk.mp4" if name == expected else None)


def test_captions_that_the_talk_does_not_list_are_not_its_own(tmp_path: Path) -> None:
    touch(tmp_path, "talk.mp4", "talk.srt")
    (tmp_path / "talk.yaml").write_text("title: T\nmedia: [talk.mp4]\n", encoding="utf-8")
    assert captions_of(tmp_path / "talk.mp4") is None


def test_two_recordings_share_no_captions(tmp_path: Path) -> None:
    touch(tmp_path, "one.mp4", "two.mp4", "all.srt", "two.srt", "talk.yaml")
    assert captions_of(tmp_path / "one.mp4") is None
    assert captions_of(tmp_path / "two.mp4") == tmp_path / "two.srt"


def test_pauses_between_captions_are_no_gaps() -> None:
    captions = Parsed(blocks=(said(1000), said(5000), said(20_000)))
    assert known(captions) == (Time(start_ms=300, end_ms=6600), Time(start_ms=19_300, end_ms=21_600))


def test_nothing_is_said_twice_and_time_runs_forward() -> None:
    captions = Parsed(blocks=(said(1000, "As written."), said(20_000, "Later.")))
    heard = Parsed(blocks=(said(1100, "As ridden."), said(10_000, "Between."), said(20_500, "Late her.")))
    whole = merged(captions, heard)
    assert [block.text for block in whole.blocks] == ["As written.", "Between.", "Later."]
    assert [Flag.CAPTIONS in block.flags for block in whole.blocks] == [True, False, True]
    assert [item.what for item in whole.dropped] == ["As ridden.", "Late her."]


def test_a_recording_with_captions_says_what_they_say(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "talk.wav")
    touch(tmp_path, "talk.srt")
    transcriber = FakeTranscriber(("Hurt.", "The catch.", "", "", "", "", "", "", "", "In the gap."))
    document = load(path, Reading(Settings(), transcriber=transcriber))
    spoken = [segment.text for segment in document.segments]
    assert spoken == ["The KV cache, as written.", "In the gap.", "Later."]
    captions = read_captions(tmp_path / "talk.srt", Reading(Settings()))
    assert document.segments[0].locator == captions.blocks[0].locator


def test_captions_that_cannot_be_read_are_told_and_the_recording_is_heard(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "talk.wav")
    (tmp_path / "talk.srt").write_text("no cue\n", encoding="utf-8")
    parsed = read(path, Reading(Settings(), transcriber=FakeTranscriber()))
    assert len(parsed.blocks) == 2
    assert (parsed.dropped[0].what, parsed.dropped[0].where) == ("captions", "talk.srt")


def test_captions_are_enough_where_nobody_is_heard(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "talk.wav")
    touch(tmp_path, "talk.srt")
    parsed = read(path, Reading(Settings(), transcriber=FakeTranscriber(())))
    assert [block.text for block in parsed.blocks] == ["The KV cache, as written.", "Later."]


def test_many_recordings_in_a_folder_are_told_apart_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{number}.{suffix}" for number in range(40) for suffix in ("mp4", "srt")]
    touch(tmp_path, *names)
    asked: list[Path] = []
    monkeypatch.setattr("ingest.recordings.merging.talk_of", asked.append)
    assert recording_of(tmp_path / "39.srt") == tmp_path / "39.mp4"
    assert len(asked) <= 4
