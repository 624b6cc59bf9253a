"""Which pieces share a chunk: the cheapest way to draw the borders, as a typesetter breaks lines.

Every border costs (inside a slide more than between two paragraphs), every pair of neighbours that shares a chunk costs
(two sections more than two sentences), and so does a chunk far from its target size. The sum is minimised by dynamic
programming, after D. E. Knuth and M. F. Plass, Breaking Paragraphs into Lines, 1981. The weights are judged on the
shared corpus: how many quotes stand whole in one chunk, and how the chunks read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from ingest.chunking.pieces import CLOSING, Piece
from kb.types import Mark, Page, Role, Time

_NEVER = 20.0  # unless nothing else fits
_ONLY_TITLES = 5.0
_TARGET = 0.7  # of the budget: room for sections that are a little longer
_SPEECH_TARGET = 0.5
_SPEECH_MS = 60_000
_RUNNING_ON = 3.0
_PAUSE_MS = 1_500  # a speaker's pause between topics rather than between sentences

_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")
_FINISHED = re.compile(r"[。！？；.!?…][”’\"'）)】\]」』》*_`]*\s*$")
_LEAD_IN = re.compile(r"[:：][*_`]*\s*$")


def partition(
    pieces: Sequence[Piece], *, room: Callable[[Piece], int], count: Callable[[str], int], joint: int
) -> list[tuple[Piece, ...]]:
    """Pieces in order, as groups of at most `room(first piece)` tokens wherever a group has more than one piece.

    Args:
        pieces: in reading order.
        room: tokens that a chunk beginning with a piece may have, its context taken off.
        count: tokens of a text, without prefix and special tokens.
        joint: tokens that joining two texts adds.
    """
    breaks = [0.0, *(_break_cost(left, right) for left, right in pairwise(pieces)), 0.0]
    joins = [0.0, *(_join_cost(left, right) for left, right in pairwise(pieces)), 0.0]
    best = [0.0] + [float("inf")] * len(pieces)
    since = [0] * (len(pieces) + 1)
    for start, first in enumerate(pieces):
        limit = room(first)
        tokens = count(first.opening) - joint
        joined, only_titles = 0.0, True
        for end, last in enumerate(pieces[start:], start + 1):
            tokens += last.tokens + joint
            only_titles = only_titles and last.segment.role is Role.TITLE
            if end - start > 1 and tokens + count(last.closing) > limit:
                if tokens > limit:
                    break
                continue
            cost = best[start] + joined + breaks[end] + _size_cost(first, last, tokens, limit)
            if only_titles:
                cost += _ONLY_TITLES
            if cost < best[end]:
                best[end], since[end] = cost, start
            joined += joins[end]
    groups: list[tuple[Piece, ...]] = []
    end = len(pieces)
    while end:
        groups.append(tuple(pieces[since[end] : end]))
        end = since[end]
    return groups[::-1]


def _size_cost(first: Piece, last: Piece, tokens: int, limit: int) -> float:
    """How far a chunk is from its target, squared; a stretch of speech that runs on costs more than a short one."""
    begin, finish = first.segment.locator, last.segment.locator
    if isinstance(begin, Time) and isinstance(finish, Time):
        size = max(tokens / (_SPEECH_TARGET * limit), (finish.end_ms - begin.start_ms) / _SPEECH_MS)
        return (1 - size) ** 2 * (_RUNNING_ON if size > 1 else 1)
    return (1 - tokens / (_TARGET * limit)) ** 2


def _break_cost(left: Piece, right: Piece) -> float:
    """The cost of a border between neighbours."""
    if left.segment is right.segment:
        return _inner_break_cost(left, right)
    if right.segment.text[right.start] in "。，、；：！？…）】〕」』》〉｝”’":
        return _NEVER
    match left.segment.locator, right.segment.locator:
        case Time() as before, Time() as after:
            if after.start_ms - before.end_ms >= _PAUSE_MS:
                return 0.0
            return 0.3 if _FINISHED.search(left.text[-8:]) else 0.5
        case Page() as before, Page() as after:
            if before.number != after.number:
                return 0.0
            if left.segment.role is Role.TITLE:
                return _NEVER
            return 0.3 if right.segment.role is Role.NOTES and left.segment.role is not Role.NOTES else 1.0
        case Mark() as before, Mark() as after:
            return _note_break_cost(left, right, before, after)
    return 0.0


def _inner_break_cost(left: Piece, right: Piece) -> float:
    """Between two parts of a segment that is too big for one chunk."""
    text = left.segment.text
    if left.glued or text[right.start] in CLOSING:
        return _NEVER
    between = text[left.end : right.start]
    if "\n" in between:
        return 0.3 if between.count("\n") > 1 else 0.5
    return 0.7 if _FINISHED.search(left.text[-8:]) else 1.5


def _note_break_cost(left: Piece, right: Piece, before: Mark, after: Mark) -> float:
    below = after.heading_path[: len(before.heading_path)] == before.heading_path
    if left.segment.role is Role.TITLE and below:
        return _NEVER
    leads_in = bool(_LEAD_IN.search(left.text[-8:])) and below
    if _section(before) != _section(after):
        return 0.5 if leads_in else 0.0
    if _ITEM.match(left.text) and _ITEM.match(right.text):
        return 0.4
    if left.segment.role is Role.BODY and (right.segment.role is not Role.BODY or _ITEM.match(right.text)):
        return 0.6 if leads_in else 0.3
    return 0.3 if left.segment.role is Role.MATH else 0.1


def _join_cost(left: Piece, right: Piece) -> float:
    """The cost of one chunk for two neighbours."""
    match left.segment.locator, right.segment.locator:
        case Time() as before, Time() as after:
            return 0.2 if after.start_ms - before.end_ms >= _PAUSE_MS else 0.0
        case Page() as before, Page() as after:
            return 0.0 if before.number == after.number else 3.0
        case Mark() as before, Mark() as after:
            if _section(before) == _section(after):
                return 0.0
            if before.heading_path == after.heading_path[:-1]:
                return 0.5  # a section and its first part
            return 0.6 if before.heading_path[:-1] == after.heading_path[:-1] else 2.0
    return 0.0


def _section(mark: Mark) -> tuple[tuple[str, ...], str]:
    return mark.heading_path, mark.anchor
