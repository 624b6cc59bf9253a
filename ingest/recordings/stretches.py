"""A recording in stretches that end where nobody speaks, each as the windows that Whisper hears at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ingest.parsed import Recording
from ingest.recordings.media import RATE, Samples, samples
from ingest.recordings.windows import Region, Window, packed, speech_in
from kb.types import Dropped, Time

_STRETCH = 300 * RATE  # searched for speech at once; bounds memory for recordings of any length
_LATE = 0.8  # of a stretch: the longest pause behind it is where it is cut
_TELLING = 3 * RATE  # shorter speech does not tell its language
_LEAST = RATE  # of speech that is left between what captions say

LanguageOf = Callable[[Samples], tuple[str, bool]]
"""The language of some sound, and whether it is known."""


@dataclass(frozen=True)
class Stretch:
    """Windows of speech up to `end`, in samples of the recording, and what the recording lacks there."""

    end: int
    windows: tuple[Window, ...]
    dropped: tuple[Dropped, ...]


def stretches(recording: Recording, language_of: LanguageOf) -> Iterator[Stretch]:
    """The recording from `start_ms` to its end, without what is known.

    Raises:
        UnreadableSource: if it cannot be decoded.
    """
    offset = recording.start_ms * RATE // 1000
    dropped: list[Dropped] = []
    pieces: list[Samples] = []
    for piece in _sound(recording, offset):
        if isinstance(piece, Dropped):
            dropped.append(piece)
            continue
        pieces.append(piece)
        if sum(map(len, pieces)) < _STRETCH:
            continue
        sound = np.concatenate(pieces)
        regions = speech_in(sound)
        border = _border(regions, len(sound))
        regions = [region for region in regions if region.end <= border]
        yield Stretch(offset + border, _windows(recording, sound, regions, offset, language_of), tuple(dropped))
        offset, pieces, dropped = offset + border, [sound[border:]], []
    sound = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.float32)
    windows = _windows(recording, sound, speech_in(sound), offset, language_of)
    yield Stretch(offset + len(sound), windows, tuple(dropped))


def _sound(recording: Recording, start: int) -> Iterator[Samples | Dropped]:
    """What lies behind `start`. All of it is decoded: only that gives the same clock as the first time."""
    at = 0
    for piece in samples(recording.path):
        if isinstance(piece, Dropped):
            if at >= start:
                yield piece
            continue
        at += len(piece)
        if at > start:
            yield piece[max(0, start - at + len(piece)) :]


def _border(regions: Sequence[Region], length: int) -> int:
    """The middle of the longest pause near the end of a stretch, on a whole millisecond."""
    if not regions:
        return length
    pauses = [(left.end, right.start) for left, right in pairwise(regions) if right.start > _LATE * length]
    pauses += [(regions[-1].end, length)] if regions[-1].end < length else []
    start, end = max(pauses, key=lambda pause: pause[1] - pause[0], default=(regions[-1].start or length,) * 2)
    middle = length if end == length else (start + end) // 2
    return middle - middle % (RATE // 1000)


def _windows(
    recording: Recording, sound: Samples, regions: list[Region], offset: int, language_of: LanguageOf
) -> tuple[Window, ...]:
    unknown = [part for region in regions for part in _without(region, recording.known, offset)]
    if recording.lang:
        spoken = [replace(region, language=recording.lang) for region in unknown]
    else:
        spoken = _in_languages(sound, unknown, language_of)
    return tuple(packed(sound, spoken, offset))


def _without(region: Region, known: Sequence[Time], offset: int) -> Iterator[Region]:
    """What is left of a region beside stretches whose words are known."""
    start = region.start
    for each in known:
        begin, end = (at * RATE // 1000 - offset for at in (each.start_ms, each.end_ms))
        if end <= start or begin >= region.end:
            continue
        if begin - start >= _LEAST:
            yield replace(region, start=start, end=begin)
        start = end
    if region.end - start >= _LEAST or start == region.start:
        yield replace(region, start=start)


def _in_languages(sound: Samples, regions: list[Region], language_of: LanguageOf) -> list[Region]:
    """Regions with their languages, each by itself: one language for all loses what is said in the other
    (SYSTRAN/faster-whisper issue 918). Too short a region takes that of its neighbour."""
    if not regions:
        return []
    heard = [region for region in regions if len(region) >= _TELLING] or [max(regions, key=len)]
    spoken = {region: language_of(sound[region.start : region.end]) for region in heard}
    language, sure = spoken[heard[0]]
    result = []
    for region in regions:
        language, sure = spoken.get(region, (language, sure))
        result.append(replace(region, language=language, sure=sure))
    return result
