"""Cues, and the SRT and WebVTT files that hold them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kb.types import Dropped


@dataclass(frozen=True)
class Cue:
    """A caption on the screen: times in milliseconds, its lines of text, and the line of the file it stands at."""

    start: int
    end: int
    lines: tuple[str, ...]
    at: int

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


_STAMP = r"(?:(\d+):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?"
_TIMING = re.compile(rf"\s*{_STAMP}\s*-->\s*{_STAMP}(?:\s.*)?", re.ASCII)
_ASIDE = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)*\s+([^>]+)>")
_TAG = re.compile(
    r"</?(?:[cbiu]|v|lang|ruby|rt|font|s|span)(?:[.\s][^<>]*)?>|<(?:\d+:)?\d+:\d+[.,]\d+>|\{\\[^{}]*\}", re.IGNORECASE
)
_ENTITY = re.compile(r"&(?:#\d+|#x[\da-f]+|[a-z]+\d*);", re.IGNORECASE)


def parse(text: str) -> Iterator[Cue | Dropped]:
    """The cues of an SRT or WebVTT file in its order; what is no cue, with its line.

    Tolerates a missing index, missing hours, a dot or comma before one to three decimals, blank lines anywhere, and
    several cues without a blank line between. Reversed times are swapped, with a note.
    """
    lines = text.split("\n")
    arrows = [number for number, line in enumerate(lines) if "-->" in line and not line.lstrip().startswith("NOTE")]
    for position, number in enumerate(arrows):
        following = arrows[position + 1] if position + 1 < len(arrows) else len(lines)
        timing = _TIMING.fullmatch(lines[number])
        payload = tuple(_payload(lines[number + 1 : following], last=following == len(lines)))
        where = f"line {number + 1}"
        if timing is None:
            yield Dropped(what=" ".join([lines[number].strip(), *payload]), where=where, reason="times cannot be read")
            continue
        start, end = milliseconds(*timing.groups()[:4]), milliseconds(*timing.groups()[4:])
        if not payload:
            yield Dropped(what=lines[number].strip(), where=where, reason="a cue without text")
            continue
        if end < start:
            start, end = end, start
            yield Dropped(what=lines[number].strip(), where=where, reason="ends before it starts: times were swapped")
        yield Cue(start, end, payload, number + 1)


def milliseconds(hours: str | None, minutes: str, seconds: str, fraction: str | None) -> int:
    """Decimals are a fraction: `.5` and `.500` are half a second."""
    return ((int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int((fraction or "0").ljust(3, "0"))


def _payload(lines: list[str], *, last: bool) -> Iterator[str]:
    """The text below a timing line; without the identifier of the next cue, notes and style sheets."""
    if not last and lines and lines[-1].strip() and _is_identifier(lines):
        lines = lines[:-1]
    aside = False
    for position, line in enumerate(lines):
        if not line.strip():
            aside = False
        elif aside or (_ASIDE.match(line) and position and not lines[position - 1].strip()):
            aside = True
        elif plain := _plain(line):
            yield plain


def _is_identifier(lines: list[str]) -> bool:
    """Whether the last line names the next cue: a number, or in WebVTT any line of its own below other text."""
    if lines[-1].strip().isdecimal():
        return True
    return len(lines) > 1 and not lines[-2].strip() and any(line.strip() for line in lines[:-1])


def _plain(line: str) -> str:
    line = _VOICE.sub(lambda voice: f"{voice[1].strip()}: ", line)
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), _TAG.sub("", line)).replace("\xa0", " ").strip()
