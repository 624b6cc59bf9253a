"""The quotes of an answer: few, each with something of its own, each whole enough to be read alone."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from generate.extract import Reading, Scored
from generate.fitness import is_signpost
from generate.passages import Passage
from generate.quantity import quantities
from generate.question import Want
from generate.slots import change
from kb.text import HAN, folded
from kb.types import Page, Role, Span

MOST = 4  # quotes in an answer
_LOOKED_AT = 60  # passages, best first
_ENOUGH = 0.75  # a further quote must score this share of the best one …
_ENOUGH_OTHERWISE = 0.85  # … this one if it stands in another source or, as the third or fourth, brings nothing new …
_LEAST_OWN = 0.15  # … and name this share of what the best one names itself …
_NEW = 0.15  # … after a credit, up to this, for the share of the question that only it covers
_NEWS = 0.03  # … which brings something new if it is more than this, or if the quote has a figure that is asked for
_LONGEST = 560  # columns of a quote that grows beyond its sentence; a hanzi takes two
_READABLE = 320  # columns up to which a quote takes in the rest of its paragraph …
_SPOKEN = 160  # … and, as speech has no paragraphs, what was said around it
_SAME_SLIDE = 0.3
_SAME = 0.6  # quotes that share this much of the shorter one's words say the same

_POINTS_BACK = re.compile(
    r"[*_`]*(?:This|It|These|Those|That|They|Thus|So|Therefore|Hence|Such|Here|Otherwise|However|But|e\.g\.|i\.e\.|这|该|此|其|因此|所以|从而|"
    r"否则|但|而|它|即|也就是|换言之)"
)
_OPENS = re.compile(r"[:：]\W*$")
_LEAD_IN = re.compile(r"\*\*[^*\n]+\*\*")  # `**Reuse the cache.** It lies in …`
_NEXT_ITEM = re.compile(r"\s*\n[ \t]*(?:[-*+•]|\d{1,2}[.)、])[ \t]*(?:\[[ xX]\][ \t]*)?")
_SAME_PARAGRAPH = re.compile(r"[ \t]*\n?[ \t]*")

Line = Sequence[Scored]
"""The passages of one chunk, in the order of its text."""


def select(reading: Reading) -> list[Scored]:
    """The quotes of the answer, best first.

    A question that names several versions gets the best quote of each, however alike they are; one that asks several
    things gets the best quote for each.
    """
    lines = _lines(reading.scored)
    chosen = [_whole(one, lines[one.passage.hit.chunk.id]) for one in _of_versions(reading)]
    for one in _candidates(reading, is_open=not chosen):
        if len(chosen) == MOST:
            break
        if chosen and not _worth_adding(one, chosen, reading):
            continue
        whole = _whole(one, lines[one.passage.hit.chunk.id])
        if not any(_says_same(whole, other) for other in chosen):
            chosen.append(whole)
    return chosen


def _candidates(reading: Reading, *, is_open: bool) -> Iterator[Scored]:
    if is_open and len(reading.parts) > 1:
        yield from (part[0] for part in reading.parts if part)
    yield from reading.scored[:_LOOKED_AT]


def _of_versions(reading: Reading) -> list[Scored]:
    """The best quote of each version that the question names; a version that says little about it gives none."""
    versions = reading.question.versions
    if len(versions) < 2:
        return []
    best = reading.scored[0] if reading.scored else None
    found = []
    for version in versions:
        one = next((one for one in reading.scored if one.passage.hit.source.version == version), None)
        if one and best and _names_enough(one, [best], reading):
            found.append(one)
    return found[:MOST]


def _names_enough(one: Scored, chosen: Sequence[Scored], reading: Reading) -> bool:
    return reading.coverage(one.own) >= _LEAST_OWN * max(reading.coverage(other.own) for other in chosen)


def _worth_adding(one: Scored, chosen: Sequence[Scored], reading: Reading) -> bool:
    if slot := change(reading.question):
        shown = [other.passage.under_header for other in chosen]
        if slot.filled_by(shown):
            named = reading.coverage(frozenset().union(*(other.near for other in chosen)))
            return slot.fills(one.passage.under_header) and reading.coverage(one.near) >= named
        if slot.filled_by([*shown, one.passage.under_header]):
            return True
    if not _names_enough(one, chosen, reading):
        return False
    covered: frozenset[int] = frozenset().union(*(other.own for other in chosen))
    adds = reading.coverage(one.own - covered)
    if reading.question.wants - {Want.CHANGE} == {Want.NUMBER} and not _brings_figure(one, chosen, reading):
        return False
    is_new = len(chosen) == 1 or adds > _NEWS or _brings_figure(one, chosen, reading)
    if one.passage.form == "code" and adds <= _NEWS:  # an example of what was said
        return False
    is_elsewhere = all(one.passage.hit.source.id != other.passage.hit.source.id for other in chosen)
    enough = _ENOUGH if is_new and not is_elsewhere else _ENOUGH_OTHERWISE
    return one.score + min(adds, _NEW) >= enough * max(other.score for other in chosen)


def _brings_figure(one: Scored, chosen: Sequence[Scored], reading: Reading) -> bool:
    """Whether a number is asked for, and this quote has one that neither the question nor another quote has."""
    if Want.NUMBER not in reading.question.wants:
        return False
    known = _numbers(reading.question.text).union(*(_numbers(other.passage.quote) for other in chosen))
    return not _numbers(one.passage.quote) <= known


# --- whole quotes -----------------------------------------------------------------------------------------------


def _lines(scored: Sequence[Scored]) -> Mapping[str, list[Scored]]:
    lines: dict[str, list[Scored]] = defaultdict(list)
    for one in sorted(scored, key=lambda one: one.passage.start):
        lines[one.passage.hit.chunk.id].append(one)
    return lines


def _whole(one: Scored, line: Line) -> Scored:
    """The passage with what it points back to, what points back to it, its list, and the rest of a short paragraph."""
    first = last = next(at for at, other in enumerate(line) if other.passage.start == one.passage.start)
    while first > 0 and _points_back(line, first) and _joined(line, first - 1, last, _LONGEST):
        first -= 1
    while last + 1 < len(line) and _joined(line, first, last + 1, _reach(line, first, last)):
        last += 1
    while first > 0 and _is_paragraph(line, first - 1) and _joined(line, first - 1, last, _paragraph(line)):
        first -= 1
    passage = replace(one.passage, start=line[first].passage.start, end=line[last].passage.end)
    parts = line[first : last + 1]
    return replace(one, passage=passage, own=one.own.union(*(part.own for part in parts)))


def _points_back(line: Line, at: int) -> bool:
    return bool(_POINTS_BACK.match(line[at].passage.quote)) and not is_signpost(line[at - 1].passage.quote)


def _reach(line: Line, first: int, last: int) -> int:
    """Columns that the quote from `first` to `last` may have with the passage behind it."""
    gap = _gap(line, last)
    opens = any(_OPENS.search(one.passage.quote) for one in line[first : last + 1])
    if _OPENS.search(line[last].passage.quote) or (opens and _NEXT_ITEM.fullmatch(gap)):
        return _LONGEST
    if "\n\n" not in gap and _POINTS_BACK.match(line[last + 1].passage.quote):
        return _LONGEST
    if "\n" not in gap and _LEAD_IN.fullmatch(line[last].passage.quote):
        return _LONGEST
    return _paragraph(line) if _is_paragraph(line, last) else 0


def _paragraph(line: Line) -> int:
    """Columns up to which a quote grows within its paragraph."""
    return _SPOKEN if line[0].passage.hit.chunk.role is Role.SPEECH else _READABLE


def _joined(line: Line, first: int, last: int, longest: int) -> bool:
    """Whether these passages make one quote of prose that is not too long."""
    left, right = line[first].passage, line[last].passage
    text = left.hit.chunk.text[left.start : right.end]
    return left.form == right.form == "prose" and len(text) + len(HAN.findall(text)) <= longest


def _gap(line: Line, at: int) -> str:
    left, right = line[at].passage, line[at + 1].passage
    return left.hit.chunk.text[left.end : right.start]


def _is_paragraph(line: Line, at: int) -> bool:
    """Whether the passage at `at` and the next one belong to one paragraph; on a slide, to one text of it."""
    left, right = line[at].passage, line[at + 1].passage
    if is_signpost(left.quote) or (isinstance(left.locator, Page) and _span(left) != _span(right)):
        return False
    return bool(_SAME_PARAGRAPH.fullmatch(_gap(line, at)))


def _span(passage: Passage) -> Span | None:
    return next(
        (span for span in passage.hit.chunk.spans if span.start < passage.end and span.end > passage.start), None
    )


# --- the same twice ---------------------------------------------------------------------------------------------


def _says_same(one: Scored, other: Scored) -> bool:
    """Whether two quotes share text or say the same in nearly the same words, figures included."""
    left, right = one.passage, other.passage
    if left.overlaps(right):
        return True
    words, others = _bigrams(left.quote), _bigrams(right.quote)
    same = _SAME_SLIDE if _is_same_slide(left, right) else _SAME
    if len(words & others) < same * min(len(words), len(others)):
        return False
    figures, more = sorted((_numbers(left.quote), _numbers(right.quote)), key=len)
    return figures <= more


def _is_same_slide(left: Passage, right: Passage) -> bool:
    """Whether both stand on one slide of a talk whose deck is there in two files."""
    talk = left.hit.source.talk
    return (
        talk is not None
        and talk == right.hit.source.talk
        and left.locator == right.locator
        and isinstance(left.locator, Page)
    )


@lru_cache(maxsize=4096)
def _bigrams(text: str) -> frozenset[str]:
    plain = folded(text).casefold()
    return frozenset(plain[at : at + 2] for at in range(len(plain) - 1))


@lru_cache(maxsize=4096)
def _numbers(text: str) -> frozenset[str]:
    return frozenset(str(quantity.value) for quantity in quantities(text))
