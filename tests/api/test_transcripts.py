"""A transcript is made once; one that was stopped goes on where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from api.transcripts import RememberedTranscriber
from ingest.parsed import Piece, Recording, no_progress
from kb.types import Time
from tests.fakes import FakeTranscriber

SAID = ("One.", "Two.", "Three.")


class Stopped(Exception):
    pass


class Failing(FakeTranscriber):
    """Stops before its third sentence."""

    def transcribe(self, recording: Recording, on_progress: Callable[[float], None]) -> Iterator[Piece]:
        for piece in super().transcribe(recording, on_progress):
            if piece.end_ms == 3000:
                raise Stopped
            yield piece


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    (tmp_path / "talk.wav").write_bytes(b"sound")
    return Recording(tmp_path / "talk.wav")


def test_the_same_sound_is_heard_once(tmp_path: Path, recording: Recording) -> None:
    inner = FakeTranscriber(SAID)
    remembered = RememberedTranscriber(inner, tmp_path / "cache")
    first = list(remembered.transcribe(recording, no_progress))
    shares: list[float] = []
    assert list(remembered.transcribe(recording, shares.append)) == first
    assert inner.calls == 1
    assert shares == [1.0]


@pytest.mark.parametrize(
    "told", [{"lang": "zh"}, {"hotwords": ("vLLM",)}, {"known": (Time(start_ms=0, end_ms=1000),)}], ids=str
)
def test_what_the_transcriber_was_told_counts(tmp_path: Path, recording: Recording, told: dict[str, object]) -> None:
    inner = FakeTranscriber(SAID)
    remembered = RememberedTranscriber(inner, tmp_path / "cache")
    list(remembered.transcribe(recording, no_progress))
    list(remembered.transcribe(replace(recording, **told), no_progress))  # type: ignore[arg-type]
    assert inner.calls == 2


def test_a_run_that_was_stopped_keeps_its_pieces_and_the_next_one_goes_on(tmp_path: Path, recording: Recording) -> None:
    with pytest.raises(Stopped):
        list(RememberedTranscriber(Failing(SAID), tmp_path / "cache").transcribe(recording, no_progress))
    asked: list[int] = []

    class Spy(FakeTranscriber):
        def transcribe(self, recording: Recording, on_progress: Callable[[float], None]) -> Iterator[Piece]:
            asked.append(recording.start_ms)
            return super().transcribe(recording, on_progress)

    resumed = list(RememberedTranscriber(Spy(SAID), tmp_path / "cache").transcribe(recording, no_progress))
    assert asked == [2000]
    assert resumed == list(FakeTranscriber(SAID).transcribe(recording, no_progress))


@pytest.mark.parametrize("torn", [b'{"end_ms": 30', b"\x00\x00\n", b'{"end_ms": "soon", "items": []}\n'])
def test_a_piece_that_was_half_written_is_heard_again(tmp_path: Path, recording: Recording, torn: bytes) -> None:
    with pytest.raises(Stopped):
        list(RememberedTranscriber(Failing(SAID), tmp_path / "cache").transcribe(recording, no_progress))
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_bytes(kept.read_bytes() + torn)
    remembered = RememberedTranscriber(FakeTranscriber(SAID), tmp_path / "cache")
    whole = list(FakeTranscriber(SAID).transcribe(recording, no_progress))
    assert list(remembered.transcribe(recording, no_progress)) == whole
    assert list(remembered.transcribe(recording, no_progress)) == whole
