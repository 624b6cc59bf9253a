"""Recordings: what can be decoded, on which clock, and what cannot."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from ingest.formats import KINDS
from ingest.parsed import Piece, Reading, Recording
from ingest.recordings.media import RATE, duration_ms, read, samples
from kb.errors import MissingDependency, UnreadableSource
from kb.settings import Settings
from kb.types import Dropped, Kind, Talk
from tests.fakes import FakeTranscriber
from tests.ingest.recordings import write_recording


def decoded(path: Path) -> tuple[np.ndarray, list[Dropped]]:
    items = list(samples(path))
    return (
        np.concatenate([item for item in items if not isinstance(item, Dropped)]),
        [item for item in items if isinstance(item, Dropped)],
    )


@pytest.mark.parametrize("suffix", [suffix for suffix, kind in KINDS.items() if kind is Kind.RECORDING])
def test_every_kind_of_recording_is_decoded(tmp_path: Path, suffix: str) -> None:
    path = write_recording(tmp_path / f"talk{suffix}")
    sound, dropped = decoded(path)
    assert not dropped
    assert duration_ms(path) == pytest.approx(4000, abs=80)
    assert len(sound) / RATE == pytest.approx(4, abs=0.08)
    assert np.abs(sound[RATE : 3 * RATE]).max() == pytest.approx(8000 / 32768, abs=0.05)


@pytest.mark.parametrize("suffix", [".mkv", ".mp4", ".webm"])
def test_p03_lost_packets_leave_silence_and_move_nothing(tmp_path: Path, suffix: str) -> None:
    sound, _ = decoded(write_recording(tmp_path / f"talk{suffix}", seconds=6, gap=(2, 4)))
    assert len(sound) / RATE == pytest.approx(6, rel=0.01)
    loud = np.abs(sound[: 6 * RATE].reshape(-1, RATE // 10)).max(axis=1) > 0.1
    assert loud[:19].all()
    assert not loud[22:38].any()
    assert loud[42:58].all()


def test_p04_video_without_sound_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSource, match="no audio track"):
        duration_ms(write_recording(tmp_path / "silent.mp4", audio=False, video=True))


def test_video_with_sound_is_read(tmp_path: Path) -> None:
    sound, dropped = decoded(write_recording(tmp_path / "talk.mp4", video=True))
    assert len(sound) / RATE == pytest.approx(4, abs=0.08)
    assert not dropped


def test_a_second_audio_track_is_mentioned(tmp_path: Path) -> None:
    _, dropped = decoded(write_recording(tmp_path / "talk.mkv", tracks=2))
    assert [item.what for item in dropped] == ["audio track 2"]


@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".m4a"])
def test_a_container_cut_off_before_its_index_is_unreadable(tmp_path: Path, suffix: str) -> None:
    path = write_recording(tmp_path / f"talk{suffix}")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(UnreadableSource, match="cut off"):
        duration_ms(path)


@pytest.mark.parametrize("suffix", [".mkv", ".mp3", ".flac"])
def test_a_stream_cut_off_is_read_to_where_it_ends_and_says_so(tmp_path: Path, suffix: str) -> None:
    path = write_recording(tmp_path / f"talk{suffix}", seconds=8)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    sound, dropped = decoded(path)
    assert 2 < len(sound) / RATE < 6
    assert "ends early" in dropped[-1].reason
    assert dropped[-1].where.startswith("T:00:00:0")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("noise.mp3", bytes(range(256)) * 40),
        ("playlist.mp3", b"#EXTM3U\n#EXTINF:10,\nhttp://127.0.0.1:9/secret.ts\n"),
        ("concat.mp4", b"ffconcat version 1.0\nfile other.wav\n"),
        ("text.wav", b"no sound at all"),
    ],
)
def test_what_only_claims_to_be_a_recording_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    write_recording(tmp_path / "other.wav")
    with pytest.raises(UnreadableSource) as caught:
        list(samples(tmp_path / name))
    assert name in caught.value.where


def test_a_playlist_inside_a_recording_opens_no_connection(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/x.ts"
        (tmp_path / "talk.mp4").write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{address}\n#EXT-X-ENDLIST\n")
        with pytest.raises(UnreadableSource):
            duration_ms(tmp_path / "talk.mp4")
        with pytest.raises(BlockingIOError):
            server.accept()


def test_the_talk_gives_the_language_and_the_glossary_the_words_to_expect(tmp_path: Path) -> None:
    class Spy(FakeTranscriber):
        asked: tuple[object, tuple[str, ...]] = (None, ())

        def transcribe(self, recording: Recording, on_progress: Callable[[float], None]) -> Iterator[Piece]:
            self.asked = (recording.lang, recording.hotwords)
            return super().transcribe(recording, on_progress)

    path, spy = write_recording(tmp_path / "talk.wav"), Spy()
    shares: list[float] = []
    talk = Talk(id="t", title="T", lang="zh")
    parsed = read(path, Reading(Settings(), talk=talk, transcriber=spy, on_progress=shares.append))
    assert [block.text for block in parsed.blocks] == ["The KV cache is paged.", "Blocks are shared."]
    assert shares
    assert spy.asked[0] == "zh"
    assert "vLLM" in spy.asked[1]
    read(path, Reading(Settings(), transcriber=spy))
    assert spy.asked[0] is None


def test_a_recording_in_which_nobody_speaks_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSource, match="no speech"):
        read(write_recording(tmp_path / "talk.wav"), Reading(Settings(), transcriber=FakeTranscriber(())))


def test_without_a_transcriber_the_remedy_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDependency, match="weights"):
        read(write_recording(tmp_path / "talk.wav"), Reading(Settings()))
