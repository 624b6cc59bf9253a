"""Where someone speaks in a recording, and what Whisper hears at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from ingest.recordings.media import RATE, Samples

# What Whisper hears at once, with room for the silence behind it (see `trimmed`). Shorter windows cut more sentences in
# two: of 16 seconds, they mishear a fifth more of the sample talk.
_WINDOW = 26 * RATE
_REGION = 25  # seconds of a region, without the margins of the voice detector


@dataclass(frozen=True)
class Region:
    """Speech, in samples of the recording from `start` to `end`, and its language; `sure` if that is known."""

    start: int
    end: int
    language: str = ""
    sure: bool = True

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class Window:
    """Regions of one language, heard at once one behind the other, and their sound."""

    regions: tuple[Region, ...]
    sound: Samples

    def place(self, start: float, end: float) -> tuple[int, int]:
        """Seconds of the window as milliseconds of the recording.

        Both ends stay in the region that holds most of the word: none reaches into the silence that was left out.
        """
        middle = (start + end) / 2 * RATE
        before = 0
        for region in self.regions:
            if middle < before + len(region) or region is self.regions[-1]:
                break
            before += len(region)
        ends = (min(max(round(time * RATE) - before, 0), len(region)) + region.start for time in (start, end))
        first, last = (sample * 1000 // RATE for sample in ends)
        return first, last

    def part(self, start: float, end: float) -> Window:
        """What lies between two moments, in seconds of the window."""
        first, last = round(start * RATE), round(end * RATE)
        regions, before = [], 0
        for region in self.regions:
            begin, finish = max(first - before, 0), min(last - before, len(region))
            if begin < finish:
                regions.append(replace(region, start=region.start + begin, end=region.start + finish))
            before += len(region)
        return Window(tuple(regions), self.sound[first:last])


def speech_in(sound: Samples) -> list[Region]:
    """Where someone speaks, by the voice detector that faster-whisper brings; no region is longer than a window."""
    from faster_whisper.vad import VadOptions, get_speech_timestamps

    options = VadOptions(min_speech_duration_ms=250, min_silence_duration_ms=1000, max_speech_duration_s=_REGION)
    return [Region(each["start"], each["end"]) for each in get_speech_timestamps(sound, options) if len(sound)]


def packed(sound: Samples, regions: list[Region], offset: int) -> Iterator[Window]:
    """Regions in as few windows as they need, evenly filled: Whisper invents words in very short ones."""
    for _, run in groupby(regions, key=lambda region: (region.language, region.sure)):
        waiting = list(run)
        total = sum(map(len, waiting))
        fill = total / math.ceil(total / _WINDOW)
        group: list[Region] = []
        for region in waiting:
            length = sum(map(len, group))
            if group and (length + len(region) > _WINDOW or length + len(region) / 2 > fill):
                yield _window(sound, group, offset)
                group = []
            group.append(region)
        yield _window(sound, group, offset)


def _window(sound: Samples, regions: list[Region], offset: int) -> Window:
    return Window(
        regions=tuple(replace(each, start=each.start + offset, end=each.end + offset) for each in regions),
        sound=np.concatenate([sound[region.start : region.end] for region in regions]),
    )
