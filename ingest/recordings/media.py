"""Recordings: what a container holds, its sound on the container's own clock, and its transcript."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ingest.alignment.scenes import capture
from ingest.parsed import Block, Parsed, Reading, Recording
from ingest.recordings.clean import clean
from ingest.recordings.container import opened
from ingest.recordings.merging import captions_of, known, merged
from kb.errors import KBError, MissingDependency, UnreadableSource
from kb.glossary import load_glossary
from kb.text import printable
from kb.types import Dropped, Lang, Time

if TYPE_CHECKING:
    from av import AudioFrame

Samples = NDArray[np.float32]
RATE = 16_000  # samples a second, as speech models take them
HOTWORDS = 40  # names for the transcriber to expect; more do not fit Whisper's prompt
_GAP = RATE // 10  # a shorter jump of the clock is rounding, not a gap
_LONGEST_GAP = 3600 * RATE  # a longer one is a broken clock
_PIECE = 30  # seconds that are resampled at once
_NOTHING: Samples = np.zeros(0, dtype=np.float32)


def read(path: Path, reading: Reading) -> Parsed:
    """Transcribe a recording; where it has captions, only what they leave out.

    Raises:
        MissingDependency: if there is no transcriber.
        UnreadableSource: if it has no audio track, cannot be decoded, or nobody speaks in it.
    """
    if reading.transcriber is None:
        raise MissingDependency(
            "no speech recognition for recordings", remedy="Install the extra `weights`, or name a KB_SPEECH_MODEL"
        )
    duration_ms(path)
    if reading.images is not None and (scenes := capture(path)):
        scenes.save(reading.images)
    captions, notes = _captions(path, reading)
    lang = reading.talk.lang if reading.talk and reading.talk.lang != "und" else None
    recording = Recording(path, lang, _hotwords(lang), known(captions) if captions else ())
    pieces = reading.transcriber.transcribe(recording, reading.on_progress)
    items = list(clean((item for piece in pieces for item in piece.items), recording.hotwords))
    heard = Parsed(
        blocks=tuple(item for item in items if isinstance(item, Block)),
        dropped=(*notes, *(item for item in items if isinstance(item, Dropped))),
    )
    parsed = merged(captions, heard) if captions else heard
    if not parsed.blocks:
        reasons = "; ".join(dict.fromkeys(item.reason for item in parsed.dropped))
        raise UnreadableSource(
            "no speech was heard" + (f" ({reasons})" if reasons else ""),
            where=printable(str(path)),
            remedy="Check that the recording has sound",
        )
    return parsed


def _captions(path: Path, reading: Reading) -> tuple[Parsed | None, tuple[Dropped, ...]]:
    """What the captions of a recording say; where they cannot be read, it is heard instead."""
    from ingest.recordings import captions

    if (file := captions_of(path)) is None:
        return None, ()
    try:
        return captions.read(file, reading), ()
    except KBError as error:
        return None, (Dropped(what="captions", where=printable(file.name), reason=error.what),)


def _hotwords(lang: Lang | None) -> tuple[str, ...]:
    glossary = load_glossary()
    langs: tuple[Lang, ...] = (lang,) if lang else ("zh", "en")
    return tuple(dict.fromkeys(word for each in langs for word in glossary.hotwords(each, HOTWORDS)))


def duration_ms(path: Path) -> int | None:
    """How long a recording is by its own account; None where the container does not say.

    Raises:
        UnreadableSource: if it has no audio track, or is no recording that can be opened.
    """
    with opened(path) as container:
        return None if container.duration is None else int(container.duration // 1000)


def samples(path: Path) -> Iterator[Samples | Dropped]:
    """The sound as mono pieces of about 30 s at 16 kHz, and what is missing of it.

    A sample's place is its time on the container's clock, so that a player finds what a time names: sound that starts
    late and packets that are lost leave silence, instead of moving all that follows.

    Raises:
        UnreadableSource: if it has no audio track, or nothing can be decoded.
    """
    from av.error import InvalidDataError

    with opened(path) as container:
        for number in range(2, len(container.streams.audio) + 1):
            yield Dropped(what=f"audio track {number}", where="", reason="only the first audio track is read")
        end = None if container.duration is None else round(container.duration / 1e6 * RATE)
        track = _Track(origin=(container.start_time or 0) / 1e6, end=end)
        broken = 0
        for packet in container.demux(audio=0):
            try:
                pieces = [track.add(frame) for frame in packet.decode()]
            except InvalidDataError:
                broken += 1
            else:
                yield from (piece for piece in pieces if len(piece))
        yield track.rest()
        if not track.written:
            raise UnreadableSource(
                "its sound cannot be decoded", where=printable(str(path)), remedy="Check that a player plays it"
            )
        if broken:
            yield Dropped(what=f"{broken} packets", where="", reason="broken sound, replaced by silence")
        if end is not None and end - track.written > max(RATE, end // 100):
            lost = Time(start_ms=track.written * 1000 // RATE, end_ms=end * 1000 // RATE)
            yield Dropped(what="sound", where=str(lost), reason="the sound ends early: the file may be cut off")


class _Track:
    """Frames in, resampled sound out, with silence where the clock jumps ahead.

    Frames wait for one another, as resampling every one of them takes many times as long.
    """

    def __init__(self, origin: float, end: int | None) -> None:
        self.written = 0  # samples given out, and so the place of the next one on the clock
        self._origin = origin  # seconds at which the clock of the container begins
        self._end = end
        self._shape: tuple[str, str, int] | None = None
        self._begin()

    def add(self, frame: AudioFrame) -> Samples:
        shape = (frame.format.name, frame.layout.name, frame.rate)
        pieces = []
        if shape != self._shape or self._jump(frame):
            pieces += [self.rest(), self._give(np.zeros(self._jump(frame), dtype=np.float32))]
            self._begin()
            self._shape = shape
        frame.pts = None
        self._waiting.write(frame)
        if self._waiting.samples >= _PIECE * frame.rate:
            pieces.append(self._resample(self._waiting.read()))
        return np.concatenate(pieces) if pieces else _NOTHING

    def rest(self) -> Samples:
        """All that waits; the next frame may be of another shape, or come later."""
        if self._shape is None:
            return _NOTHING
        waiting = self._resample(self._waiting.read()) if self._waiting.samples else _NOTHING
        return np.concatenate([waiting, self._resample(None)])

    def _begin(self) -> None:
        from av import AudioFifo, AudioResampler

        self._waiting = AudioFifo()
        self._resampler = AudioResampler(format="flt", layout="mono", rate=RATE)

    def _jump(self, frame: AudioFrame) -> int:
        """Samples by which `frame` comes later than what precedes it ends; 0 for what is rounding or a broken clock."""
        if frame.time is None:
            return 0
        place = round((frame.time - self._origin) * RATE)
        if self._end is not None:
            place = min(place, self._end)
        waiting = round(self._waiting.samples * RATE / frame.rate)
        jump = place - self.written - waiting
        return jump if _GAP < jump < _LONGEST_GAP else 0

    def _resample(self, frame: AudioFrame | None) -> Samples:
        pieces = [piece.to_ndarray()[0] for piece in self._resampler.resample(frame)]
        return self._give(np.concatenate(pieces) if pieces else _NOTHING)

    def _give(self, sound: Samples) -> Samples:
        self.written += len(sound)
        return sound
