"""A talk in chapters: where its slides and its words turn, named after its slides or its terms.

Boundaries are the best set under a price for chapters that are shorter or longer than wanted (dynamic programming).
Cohesion of words follows TextTiling (Hearst, 1997): a deep valley between two blocks is a turn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from generate.question import content_terms
from generate.titles import Titles, title_of
from kb.types import MOST_CHAPTERS, Chapter, Frozen, Lang, Line

MINUTES = 8.0  # of a chapter; three quarters of it to five quarters are as good: six to ten minutes
_FEWEST = 3  # chapters of a talk that is too short for that: platforms show no fewer
_SHORTEST_MS = 10_000  # of a chapter, as platforms demand
_BLOCK = 12  # sentences on each side of a gap whose words are compared
_NEW_TITLE, _NEW_SLIDE, _VALLEY, _PAUSE = 1.0, 0.5, 0.8, 0.15  # what speaks for a boundary
_SAME_SLIDE, _BOUNDARY = 1.0, 0.6  # and against it: that the slide stays; that it is one more
_UNEVEN = 4.0  # price of a chapter of twice the length, or half of it, beyond what is as good


class Length(Frozen):
    """How long chapters shall be, in minutes (None to choose by the talk), and how many there may be."""

    minutes: float | None = None
    most: int = MOST_CHAPTERS


def chapters(lines: Sequence[Line], lang: Lang, length: Length, titles: Titles = title_of) -> tuple[Chapter, ...]:
    """The chapters of a transcript, in order; the first begins at 0. None without a line.

    Args:
        lines: what is said, in order, with the slide that was on the screen.
        lang: language of the titles.
        length: how long and how many.
        titles: names the chapters.
    """
    if not lines:
        return ()
    end = lines[-1].locator.end_ms
    starts = _starts(lines, _wanted(end, length), length.most)
    parts = [tuple(lines[start:stop]) for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True)]
    named = titles(parts, lang)
    begins = [0, *(part[0].locator.start_ms for part in parts[1:])]
    return tuple(
        Chapter(
            title=title,
            start_ms=begin,
            end_ms=stop,
            href=part[0].href,
            first=part[0].order,
            screen=next((line.screen for line in part if line.screen), None),
        )
        for title, part, begin, stop in zip(named, parts, begins, [*begins[1:], end], strict=True)
    )


def _wanted(end: int, length: Length) -> float:
    """Milliseconds of a chapter."""
    if length.minutes is not None:
        wanted = length.minutes * 60_000
    else:
        wanted = min(MINUTES * 60_000, max(_SHORTEST_MS, end / (_FEWEST + 0.5)))
    return max(wanted, end / length.most)


def _starts(lines: Sequence[Line], wanted: float, most: int) -> list[int]:
    """Numbers of the lines with which chapters begin."""
    begins = np.array([0, *(line.locator.start_ms for line in lines[1:])], dtype=np.float64)
    gain = _gain(lines)
    end = lines[-1].locator.end_ms
    best = np.full((most + 1, len(lines) + 1), -np.inf)
    came = np.zeros((most + 1, len(lines) + 1), dtype=np.intp)
    best[0, 0] = 0.0
    edges = np.append(begins, end)
    for stop in range(1, len(lines) + 1):
        values = best[:-1, :stop] + (gain[:stop] - _price(edges[stop] - begins[:stop], wanted))
        came[1:, stop] = values.argmax(axis=1)
        best[1:, stop] = values.max(axis=1)
    count = int(best[1:, -1].argmax()) + 1
    starts, at = [], len(lines)
    for left in range(count, 0, -1):
        at = int(came[left, at])
        starts.append(at)
    return starts[::-1]


def _price(lengths: NDArray[np.float64], wanted: float) -> NDArray[np.float64]:
    """Nothing from three quarters to five quarters of what is wanted; growing with the ratio beyond."""
    ratio = np.maximum(lengths, 1.0) / wanted
    off = np.maximum(np.log2(ratio / 1.25), 0) + np.maximum(np.log2(0.75 / ratio), 0)
    price = _UNEVEN * off + np.where(lengths < _SHORTEST_MS, 50.0, 0.0)
    return np.asarray(price, dtype=np.float64)


@dataclass(frozen=True)
class _Words:
    """Terms of each line, and how rare each is among the lines."""

    lines: tuple[frozenset[str], ...]
    rarity: dict[str, float]

    @classmethod
    def of(cls, lines: Sequence[Line]) -> _Words:
        found = tuple(content_terms(line.text) for line in lines)
        spread = Counter(term for terms in found for term in terms)
        return cls(found, {term: math.log(1 + len(lines) / count) for term, count in spread.items()})

    def alike(self, left: slice, right: slice) -> float:
        """Cosine of two blocks of lines."""
        one, two = (Counter(term for terms in self.lines[block] for term in terms) for block in (left, right))
        weighted = [{term: count * self.rarity[term] for term, count in bag.items()} for bag in (one, two)]
        shared = sum(weight * weighted[1].get(term, 0.0) for term, weight in weighted[0].items())
        norms = [math.sqrt(sum(weight**2 for weight in bag.values())) for bag in weighted]
        return shared / (norms[0] * norms[1]) if all(norms) else 0.0


def _gain(lines: Sequence[Line]) -> NDArray[np.float64]:
    """What speaks for a boundary before each line."""
    words = _Words.of(lines)
    alike = np.array([words.alike(slice(max(0, n - _BLOCK), n), slice(n, n + _BLOCK)) for n in range(len(lines))])
    gain = np.zeros(len(lines))
    for number in range(1, len(lines)):
        before, line = lines[number - 1], lines[number]
        left, right = alike[max(1, number - _BLOCK) : number + 1].max(), alike[number : number + _BLOCK].max()
        pause = max(0, line.locator.start_ms - before.locator.end_ms) / 1000
        valley = min(1.0, left + right - 2 * alike[number])
        gain[number] = _VALLEY * valley + _PAUSE * min(2.0, pause) + _change(before, line) - _BOUNDARY
    return gain


def _change(before: Line, line: Line) -> float:
    """What the screen says about a boundary between two lines."""
    if before.screen is None and line.screen is None:
        return 0.0
    if before.screen is None or line.screen is None:
        return _NEW_SLIDE
    if (before.screen.source_id, before.screen.page) == (line.screen.source_id, line.screen.page):
        return -_SAME_SLIDE
    return _NEW_SLIDE + (_NEW_TITLE if line.screen.title != before.screen.title else 0.0)
