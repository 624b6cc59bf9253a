"""Long recordings are heard in a process of their own, piece by piece."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from api.transcripts import RememberedTranscriber
from ingest.parsed import Block, Piece, Recording, no_progress
from ingest.recordings import isolated
from ingest.recordings.isolated import IsolatedTranscriber
from ingest.recordings.whisper import WhisperTranscriber
from kb.errors import MissingDependency, UnreadableSource
from kb.settings import Settings
from tests.fakes import FakeTranscriber
from tests.ingest.recordings import write_recording

COMMAND = (sys.executable, "-m", "tests.ingest.slow_hearing")


@pytest.fixture
def transcriber(monkeypatch: pytest.MonkeyPatch) -> IsolatedTranscriber:
    monkeypatch.setattr(isolated, "LONG_MS", 3000)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    return IsolatedTranscriber(FakeTranscriber(("Short.",)), Settings(), command=COMMAND)


def texts(pieces: list[Piece]) -> list[str]:
    return [item.text.rsplit(" of ")[0] for piece in pieces for item in piece.items if isinstance(item, Block)]


def process(piece: Piece) -> int:
    found = re.search(r" of (\d+)\.", str(piece))
    assert found
    return int(found[1])


def test_a_short_recording_is_heard_here(tmp_path: Path, transcriber: IsolatedTranscriber) -> None:
    pieces = list(transcriber.transcribe(Recording(write_recording(tmp_path / "a.wav", seconds=2)), no_progress))
    assert texts(pieces) == ["Short."]


def test_p53_a_long_recording_is_heard_in_another_process(tmp_path: Path, transcriber: IsolatedTranscriber) -> None:
    path, shares = write_recording(tmp_path / "a.wav", seconds=4), list[float]()
    pieces = list(transcriber.transcribe(Recording(path), shares.append))
    assert texts(pieces) == ["Second 0", "Second 1", "Second 2", "Second 3"]
    assert shares == [0, 0.25, 0.5, 0.75]
    assert not any(str(os.getpid()) in str(piece) for piece in pieces)


def test_p53_a_process_that_is_killed_leaves_its_pieces_and_the_next_run_goes_on(
    tmp_path: Path, transcriber: IsolatedTranscriber
) -> None:
    path = write_recording(tmp_path / "dies-at-3.wav", seconds=5)
    remembered = RememberedTranscriber(transcriber, tmp_path / "cache")
    with pytest.raises(UnreadableSource, match=r"dies-at-3.wav: the process that heard it ended with -9.*kept"):
        list(remembered.transcribe(Recording(path), no_progress))
    pieces = list(remembered.transcribe(Recording(path), no_progress))
    assert texts(pieces) == [f"Second {number}" for number in range(5)]
    first, *_, last = processes = [process(piece) for piece in pieces]
    assert processes == [first] * 3 + [last] * 2
    assert first != last


def test_an_error_of_the_other_process_is_told_as_it_is(tmp_path: Path, transcriber: IsolatedTranscriber) -> None:
    path = write_recording(tmp_path / "missing.wav", seconds=4)
    with pytest.raises(MissingDependency, match=r"here: no weights\. Install them"):
        list(transcriber.transcribe(Recording(path), no_progress))


def test_the_other_process_ends_when_nobody_listens(tmp_path: Path, transcriber: IsolatedTranscriber) -> None:
    pieces = transcriber.transcribe(Recording(write_recording(tmp_path / "waits.wav", seconds=4)), no_progress)
    child = process(next(pieces))
    pieces.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


@pytest.mark.model
@pytest.mark.corpus
def test_whisper_in_a_process_of_its_own_hears_what_it_hears_here(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated, "LONG_MS", 1000)
    recording = Recording(next((corpus / "media/speech").glob("en_*.wav")), "en")
    shares: list[float] = []
    inner = WhisperTranscriber(Settings())
    (piece,) = IsolatedTranscriber(inner, Settings()).transcribe(recording, shares.append)
    assert texts([piece])[0] == "It was the first great sorrow"  # … of his life: `texts` ends at "of"
    assert shares[-1] == pytest.approx(1.0)
    assert list(inner.transcribe(recording, no_progress)) == [piece]


@pytest.mark.parametrize("code", [0, 3])
def test_a_process_that_is_dead_before_it_has_its_job_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(isolated, "LONG_MS", 3000)
    command = (sys.executable, "-c", f"raise SystemExit({code})")
    transcriber = IsolatedTranscriber(FakeTranscriber(("Short.",)), Settings(), command=command)
    path = write_recording(tmp_path / "a.wav", seconds=4)
    job = Recording(path, hotwords=("x" * 1_000_000,))  # more than a pipe holds: writing it lasts until the end
    with pytest.raises(UnreadableSource, match=f"the process that heard it ended with {code}"):
        list(transcriber.transcribe(job, no_progress))
