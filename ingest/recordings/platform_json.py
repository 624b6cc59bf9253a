"""Subtitles as video platforms give them in JSON: YouTube's `json3` and Bilibili's."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TypedDict

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Entry(TypedDict):
    """A timed text as Whisper writes it; times in seconds."""

    start: float
    end: float
    text: str


class _Word(BaseModel):
    utf8: str = ""


class _Event(BaseModel):
    """Of `json3`: a caption, or a window for captions without text."""

    start: int = Field(alias="tStartMs")
    length: int = Field(default=0, alias="dDurationMs", ge=0)
    words: list[_Word] = Field(default=[], alias="segs")
    appends: int = Field(default=0, alias="aAppend")

    @property
    def text(self) -> str:
        return "".join(word.utf8 for word in self.words).strip()


class _Json3(BaseModel):
    events: list[_Event]


class _Line(BaseModel):
    """Of Bilibili."""

    model_config = ConfigDict(extra="allow")

    start: float = Field(alias="from")
    end: float = Field(alias="to")
    text: str = Field(alias="content")


class _Bilibili(BaseModel):
    body: list[_Line]


def platform_entries(data: dict[str, object]) -> list[Entry] | None:
    """The timed texts of a platform's subtitles; None for another kind of JSON."""
    try:
        if "events" in data:
            return list(_of_json3(_Json3.model_validate(data).events))
        if "body" in data:
            lines = _Bilibili.model_validate(data).body
            return [Entry(start=line.start, end=line.end, text=line.text) for line in lines]
    except ValidationError:
        return None
    return None


def _of_json3(events: list[_Event]) -> Iterator[Entry]:
    """Captions made by a machine stay on the screen while the next ones come: they end where those begin."""
    said = [event for event in events if event.text]
    rolls = any(event.appends for event in events)
    for event, following in zip_longest(said, said[1:]):
        end = event.start + event.length
        if rolls and following is not None:
            end = max(event.start, min(end, following.start))
        yield Entry(start=event.start / 1000, end=end / 1000, text=event.text)
