"""Captions that are the text of a recording are no source beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.models import Models
from api.service import Service
from index.client import QdrantStore
from kb.settings import Settings
from kb.types import Kind, Query
from tests.api.test_service import outcomes
from tests.fakes import FakeEmbedder, FakeTranscriber
from tests.ingest.recordings import write_recording

SRT = "1\n00:00:00,000 --> 00:00:01,000\nPaged attention, as written.\n"


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    folder = tmp_path / "talk"
    folder.mkdir()
    (folder / "a.srt").write_text(SRT, encoding="utf-8")
    (folder / "talk.yaml").write_text("title: Paging\nlanguage: en\n", encoding="utf-8")
    write_recording(folder / "recording.wav")
    return folder


def kinds(service: Service) -> list[Kind]:
    return [entry.source.kind for entry in service.sources()]


def test_one_talk_is_one_transcript_and_is_found_once(service: Service, talk: Path) -> None:
    changes = list(service.add([talk]))
    assert outcomes(changes) == {"recording.wav": "added", "a.srt": "skipped"}
    assert changes[-1].error == "its text is that of recording.wav"
    assert kinds(service) == [Kind.RECORDING]
    hits = service.search(Query(text="Paged attention, as written"))
    assert [hit.quote for hit in hits].count("Paged attention, as written.") == 1
    assert outcomes(service.add([talk])) == {"recording.wav": "unchanged", "a.srt": "skipped"}


def test_captions_that_come_later_replace_what_was_heard(service: Service, talk: Path) -> None:
    captions = (talk / "a.srt").read_bytes()
    (talk / "a.srt").unlink()
    list(service.add([talk]))
    assert service.show("recording.wav").segments[0].text == "The KV cache is paged."
    (talk / "a.srt").write_bytes(captions)
    assert outcomes(service.sync(talk)) == {"recording.wav": "updated", "a.srt": "skipped"}
    assert service.show("recording.wav").segments[0].text == "Paged attention, as written."


def test_captions_that_go_leave_what_is_heard(service: Service, talk: Path) -> None:
    list(service.add([talk]))
    (talk / "a.srt").unlink()
    assert outcomes(service.sync(talk)) == {"recording.wav": "updated"}
    assert service.show("recording.wav").segments[0].text == "The KV cache is paged."


def test_captions_stay_a_source_where_the_recording_cannot_be_read(service: Service, talk: Path) -> None:
    (talk / "recording.wav").write_bytes(b"no sound")
    assert outcomes(service.add([talk])) == {"recording.wav": "failed", "a.srt": "added"}
    assert "as written" in service.search(Query(text="as written"))[0].quote
    write_recording(talk / "recording.wav")
    assert outcomes(service.add([talk])) == {"recording.wav": "added", "a.srt": "skipped"}
    assert kinds(service) == [Kind.RECORDING]


def test_captions_alone_are_taken_in_by_the_recording_that_is_there(settings: Settings, talk: Path) -> None:
    models = Models(settings, embedder=FakeEmbedder(), transcriber=FakeTranscriber())
    with Service(settings, QdrantStore(":memory:", collection="talk"), models) as service:
        list(service.add([talk / "recording.wav"]))
        assert outcomes(service.add([talk / "a.srt"])) == {"a.srt": "skipped"}
