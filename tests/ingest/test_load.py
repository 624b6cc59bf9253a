"""The one entry for every kind of source: identity, limits, errors, and what a document knows about itself."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ingest import formats, identity
from ingest.formats import KINDS, READERS
from ingest.identity import source_of
from ingest.load import load
from ingest.parsed import Block, Parsed, Reading
from ingest.recordings.whisper import WhisperTranscriber
from kb.errors import KBError, LimitExceeded, UnreadableSource, UnsupportedSource
from kb.settings import IngestSettings, Settings
from kb.types import Document, Dropped, Kind, Mark, Role, Talk
from tests.fakes import FakeTranscriber
from tests.ingest.recordings import write_recording
from tests.ingest.test_discover import without_privileges

READING = Reading(Settings())
SRT = "1\n00:00:01,000 --> 00:00:02,000\n推理系统\n\n2\n00:00:02,000 --> 00:00:03,000\nKV cache\n"
TALK = Talk(id="t", title="The talk", date=date(2026, 5, 12), version="0.9.1", url="https://example.org/v", lang="en")


def srt(path: Path, content: str = SRT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def read_as(monkeypatch: pytest.MonkeyPatch, result: Parsed | BaseException) -> None:
    """Put another reader in the place of that for `.md`."""

    def read(_path: Path, _reading: Reading) -> Parsed:
        if isinstance(result, BaseException):
            raise result
        return result

    monkeypatch.setitem(READERS, ".md", lambda: read)


def note(text: str = "text", **fields: Any) -> Parsed:
    block = Block(text, Mark(line_start=1, line_end=1), Role.BODY)
    return replace(Parsed(blocks=(block,)), **fields)


def test_segments_are_numbered_and_their_languages_known(tmp_path: Path) -> None:
    document = load(srt(tmp_path / "a.srt"), READING)
    assert [(segment.order, segment.text, segment.lang) for segment in document.segments] == [
        (0, "推理系统", "zh"),
        (1, "KV cache", "en"),
    ]
    assert {segment.source_id for segment in document.segments} == {document.source.id}
    assert Document.model_validate_json(document.model_dump_json()) == document


@pytest.mark.parametrize("suffix", [suffix for suffix, kind in KINDS.items() if kind is Kind.RECORDING])
def test_recordings_go_through_the_transcriber(tmp_path: Path, suffix: str) -> None:
    path = write_recording(tmp_path / f"talk{suffix.upper()}" if suffix == ".wav" else tmp_path / f"talk{suffix}")
    document = load(path, Reading(Settings(), transcriber=FakeTranscriber()))
    assert document.source.kind is Kind.RECORDING
    assert len(document.segments) == 2


# --- identity -----------------------------------------------------------------------------------------------------


def test_the_id_is_that_of_the_path_and_the_hash_that_of_the_content(tmp_path: Path) -> None:
    path = srt(tmp_path / "a.srt")
    before = source_of(path)
    source = load(path, READING).source
    assert before == (source.id, source.uri, source.sha256)
    path.write_text(SRT + "\n", encoding="utf-8")
    after = source_of(path)
    assert (after.id, after.uri) == (before.id, before.uri)
    assert after.sha256 != before.sha256


def test_p47_a_name_is_one_source_however_it_is_spelt(tmp_path: Path) -> None:
    composed, decomposed = srt(tmp_path / "1/é.srt"), srt(tmp_path / "1" / unicodedata.normalize("NFD", "é.srt"))
    (tmp_path / "link").symlink_to(tmp_path / "1")
    assert source_of(composed).id == source_of(decomposed).id == source_of(tmp_path / "link" / "é.srt").id
    assert source_of(tmp_path / "1/../1/é.srt").uri.endswith("/1/%C3%A9.srt")


# --- errors -------------------------------------------------------------------------------------------------------


def test_an_unknown_suffix_lists_what_is_supported(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSource, match=r"no reader for \.xyz.*\.docx.*\.pptx.*\.srt"):
        load(srt(tmp_path / "a.xyz"), READING)


def test_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSource, match=r"a\.srt: the file is empty"):
        load(srt(tmp_path / "a.srt", ""), READING)


@pytest.mark.parametrize("path", ["nothing.srt", "folder.srt", "self.srt", "a.srt/b.srt"])
def test_what_is_no_file(tmp_path: Path, path: str) -> None:
    srt(tmp_path / "a.srt")
    (tmp_path / "folder.srt").mkdir()
    (tmp_path / "self.srt").symlink_to(tmp_path / "self.srt")
    with pytest.raises(UnreadableSource, match=path):
        source_of(tmp_path / path)
    with pytest.raises(UnreadableSource, match=path):
        load(tmp_path / path, READING)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.srt")
    with pytest.raises(UnreadableSource):
        load(tmp_path / "a.srt", READING)


def test_content_is_not_read_twice_unless_the_file_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = srt(tmp_path / "a.srt")
    fresh = source_of(path).sha256
    path.write_text(SRT.replace("1", "2"), encoding="utf-8")  # within the grain of the clock of a file system
    changed = source_of(path).sha256
    assert changed != fresh
    os.utime(path, ns=(0, 0))
    monkeypatch.setattr(identity, "_SETTLED_NS", -1)
    assert source_of(path).sha256 == changed
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("it was read again"))
    assert source_of(path).sha256 == changed


def test_a_file_over_the_limit(tmp_path: Path) -> None:
    with (tmp_path / "a.wav").open("wb") as stream:
        os.truncate(stream.fileno(), (1 << 20) + 1)
    with pytest.raises(LimitExceeded, match="KB_INGEST_MAX_MB"):
        load(tmp_path / "a.wav", Reading(Settings(ingest=IngestSettings(max_mb=1))))


def test_a_file_without_permission() -> None:
    with without_privileges() as folder:
        srt(folder / "a.srt").chmod(0)
        with pytest.raises(UnreadableSource, match="chmod"):
            load(folder / "a.srt", READING)


def test_control_characters_of_a_name_never_reach_the_message(tmp_path: Path) -> None:
    path = srt(tmp_path / "a\x1b[2J\u202e.srt", "no cue")
    with pytest.raises(UnreadableSource) as caught:
        load(path, READING)
    assert str(caught.value).isprintable()
    assert "a\\x1b[2J\\u202e.srt" in str(caught.value)
    srt(path)
    assert load(path, READING).source.title == "a\\x1b[2J\\u202e"


@pytest.mark.parametrize("blocks", [(), note("  \n").blocks])
def test_nothing_to_cite_is_an_error_that_says_what_was_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: tuple[Block, ...]
) -> None:
    dropped = tuple(Dropped(what="page", where=f"P:{n}", reason="no text layer") for n in range(3))
    read_as(monkeypatch, Parsed(blocks=blocks, dropped=dropped))
    with pytest.raises(UnreadableSource, match=r"no text layer \(3×\)"):
        load(srt(tmp_path / "a.md"), READING)


@pytest.mark.parametrize("fault", [ValueError("bad\x1bvalue"), KeyError("x"), RecursionError(), ZeroDivisionError()])
def test_whatever_a_parser_raises_becomes_an_unreadable_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    read_as(monkeypatch, fault)
    with pytest.raises(UnreadableSource, match=type(fault).__name__) as caught:
        load(srt(tmp_path / "a.md"), READING)
    assert caught.value.__cause__ is fault
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), MemoryError()])
def test_what_is_not_the_fault_of_the_file_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    read_as(monkeypatch, fault)
    with pytest.raises(type(fault)):
        load(srt(tmp_path / "a.md"), READING)


def test_an_error_of_a_reader_keeps_its_type_and_gets_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_as(monkeypatch, LimitExceeded("too many pages", where="P:7", remedy="Split it"))
    with pytest.raises(LimitExceeded) as caught:
        load(srt(tmp_path / "a.md"), READING)
    assert caught.value.where == f"{tmp_path / 'a.md'} P:7"
    assert caught.value.remedy == "Split it"


@pytest.mark.parametrize("suffix", sorted(READERS))
def test_noise_under_any_suffix_is_a_typed_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"noise{suffix}"
    path.write_bytes(b"\x00\xff\xfe\x01" * 500)
    with pytest.raises(KBError) as caught:
        load(path, Reading(Settings(), transcriber=WhisperTranscriber(Settings())))
    assert path.name in str(caught.value)
    assert caught.value.remedy


# --- what a document knows about itself ---------------------------------------------------------------------------


def test_the_file_knows_best_then_its_talk_then_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = srt(tmp_path / "vllm_docs_0.33.0/2025-03-01 notes/a.md")
    read_as(monkeypatch, note("plain words"))
    bare = load(path, READING).source
    assert (bare.title, bare.version, bare.date, bare.lang, bare.talk) == ("a", "0.33.0", date(2025, 3, 1), "en", None)
    of_talk = load(path, Reading(Settings(), talk=TALK)).source
    assert (of_talk.title, of_talk.version, of_talk.date) == ("The talk", "0.9.1", date(2026, 5, 12))
    assert of_talk.talk == "t"
    read_as(monkeypatch, note(title="Own", version="2", date=date(2020, 1, 1), lang="zh", url="https://e.org/n"))
    own = load(path, Reading(Settings(), talk=TALK)).source
    assert (own.title, own.version, own.date, own.lang, own.url) == (
        "Own",
        "2",
        date(2020, 1, 1),
        "zh",
        "https://e.org/n",
    )


def test_the_published_video_is_the_address_of_speech_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = Reading(Settings(), talk=TALK)
    speech = load(srt(tmp_path / "a.srt"), reading)
    assert speech.segments[1].locator.href(speech.source) == "https://example.org/v?t=2"
    read_as(monkeypatch, note())
    assert load(srt(tmp_path / "a.md"), reading).source.url is None


@pytest.mark.parametrize(
    ("folder", "version"),
    [
        ("vllm_docs_0.33.0", "0.33.0"),
        ("v0.33.0", "0.33.0"),
        ("vllm-v0.9", "0.9"),
        ("docs-1.2.3-zh", "1.2.3"),
        ("vllm_0.33.0/features", "0.33.0"),
        ("v0.1.0/v0.2.0", "0.2.0"),
        ("plugin-docs/version-v0.3", "0.3"),
        ("versioned_docs/version-1.2", "1.2"),
        ("site/0.9.1", "0.9.1"),
        ("python3.11", None),
        ("chapter 2.1", None),
        ("v2", None),
    ],
)
def test_a_version_in_the_name_of_a_folder(tmp_path: Path, folder: str, version: str | None) -> None:
    assert load(srt(tmp_path / folder / "a.srt"), READING).source.version == version


def test_a_date_that_is_none_is_no_date(tmp_path: Path) -> None:
    assert load(srt(tmp_path / "2026-19-39.srt"), READING).source.date is None


def test_readers_are_imported_when_they_are_needed() -> None:
    assert not {"read", "whisper", "media", "slides"} & set(vars(formats))


@pytest.mark.corpus
def test_every_transcript_of_the_corpus_loads(corpus: Path) -> None:
    for path in sorted((corpus / "media/transcripts").iterdir()):
        document = load(path, READING)
        assert document.source.lang == ("en" if "_en_" in path.name else "zh")
