"""Transcripts in JSON: Whisper's `{"segments": [{start, end, text}]}` or the list alone, and subtitles of platforms."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from statistics import median

from pydantic import BaseModel, ValidationError

from ingest.recordings.cues import Cue, milliseconds
from ingest.recordings.platform_json import platform_entries
from kb.errors import UnreadableSource, UnsupportedSource
from kb.text import canonical
from kb.types import Dropped

_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?", re.ASCII)
_SHAPE = 'A transcript is {"segments": [{"start": 0.0, "end": 2.5, "text": "…"}]} or that list alone'


class _Entry(BaseModel):
    start: float | str
    end: float | str
    text: str
    speaker: str | None = None


def parse(text: str, where: str) -> Iterator[Cue | Dropped]:
    """The cues of a transcript; entries that cannot be read, with their number.

    Times are seconds, as Whisper writes them, or clocks (`00:01:02.5`). Whole numbers alone are milliseconds if the
    usual entry would otherwise last longer than 200 seconds.

    Raises:
        UnreadableSource: if this is no JSON.
        UnsupportedSource: if it holds no list of timed texts.
    """
    entries = _entries(text, where)
    unit = 1 if _in_milliseconds(entries) else 1000
    for number, entry in enumerate(entries, 1):
        place = f"entry {number}"
        try:
            read = _Entry.model_validate(entry)
            start, end = _time(read.start, unit), _time(read.end, unit)
        except ValidationError as error:
            fields = ", ".join(str(problem["loc"][0]) if problem["loc"] else "it" for problem in error.errors())
            yield Dropped(what=str(entry)[:80], where=place, reason=f"no timed text: {fields} cannot be read")
            continue
        except ValueError as error:
            yield Dropped(what=str(entry)[:80], where=place, reason=str(error))
            continue
        words = " ".join(canonical(read.text).split())
        if not words:
            yield Dropped(what=str(entry)[:80], where=place, reason="no text")
            continue
        if end < start:
            start, end = end, start
            yield Dropped(what=f"{read.start} to {read.end}", where=place, reason="times were swapped")
        yield Cue(start, end, (f"{read.speaker}: {words}" if read.speaker else words,), number)


def _entries(text: str, where: str) -> list[object]:
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        line = f"{where} line {error.lineno}" if isinstance(error, json.JSONDecodeError) else where
        raise UnreadableSource("this is no valid JSON", where=line, remedy=_SHAPE) from error
    if isinstance(data, dict) and (entries := platform_entries(data)):
        return list(entries)
    found = data.get("segments") if isinstance(data, dict) else data
    if not isinstance(found, list) or not any(isinstance(item, dict) and "text" in item for item in found):
        raise UnsupportedSource("a JSON file that is no transcript", where=where, remedy=_SHAPE)
    return found


def _in_milliseconds(entries: list[object]) -> bool:
    timed = [entry for entry in entries if isinstance(entry, dict) and {"start", "end"} <= set(entry)]
    spans = [(entry["start"], entry["end"]) for entry in timed]
    lengths = [end - start for start, end in spans if type(start) is int and type(end) is int]
    return bool(lengths) and len(lengths) == len(spans) and median(lengths) > 200


def _time(value: float | str, unit: int) -> int:
    if isinstance(value, str):
        found = _CLOCK.fullmatch(value.strip())
        if not found:
            raise ValueError(f"{value!r} is no time")
        return milliseconds(*found.groups())
    if not math.isfinite(value) or value < 0 or value * unit > 1e12:
        raise ValueError(f"{value} is no time of a recording")
    return round(value * unit)
