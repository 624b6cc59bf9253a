"""Where the words stand that carry a claim: those that its quote gives, or else the sentences that say it.

A model names evidence, which is cheap and hard to get wrong; finding the very words in it, and holding the claim
against them, is the work of code.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from generate.borne import unborne_by
from generate.passages import Passage
from generate.relation import anchors, figures, words
from generate.reply import Supporting
from kb.text import detect_lang, find_quote, sentences
from kb.types import Lang

_NEARLY_ALL = 0.7  # of a claim's words, in the sentences that carry it and what stands above them …
_HALF = 0.5  # … or in the other language, of its names, numbers and terms of the glossary
_FEW = 4  # words, names and numbers of a claim that can be looked for
_MOST = 3  # sentences that carry one claim
_ANCHOR = 2  # what a name, a number or a term counts, where another word counts 1
_GAIN = 0.25  # of a claim that a further sentence brings which is cited although the others are enough
_ABOVE = 0.5  # what a word counts that only stands above a sentence


def quoted(support: Supporting, passage: Passage) -> Passage | None:
    """The quote where it stands verbatim in the passage, widened to whole sentences; None where it does not."""
    span = find_quote(support.quote, passage.quote) if support.quote else None
    if span is None:
        return None
    touched = [(a, b) for a, b in _sentences(passage.quote) if a < span[1] and b > span[0]]
    start = min([span[0], *(a for a, _ in touched[:1])])
    end = max([span[1], *(b for _, b in touched[-1:])])
    return replace(passage, start=passage.start + start, end=passage.start + end)


def carrying(claim: str, evidence: Sequence[Passage]) -> list[Passage]:
    """The fewest sentences, rows or lines of the evidence that together say `claim`, three at most; else none.

    A model that says it in words of its own has to quote: what code finds must be plain.
    """
    wanted = _Wanted.of(claim)
    if len(wanted.words | wanted.anchors) < _FEW:
        return []
    found = [_Piece.of(piece, wanted) for passage in evidence for piece in passage.parts]
    weights = _weights(wanted, found)
    chosen: list[_Piece] = []
    covered: frozenset[object] = frozenset()
    while len(chosen) < min(_MOST, len(found)):
        best = max(found, key=lambda piece: _sum(weights, piece.own - covered) + _ABOVE * _sum(weights, piece.above))
        gain = _sum(weights, best.own - covered)
        is_enough = _says(chosen, wanted) and not any(unborne_by([piece.passage for piece in chosen], claim))
        if not gain or (is_enough and gain < _GAIN * sum(weights.values())):
            break
        chosen.append(best)
        covered |= best.own
    return _joined([piece.passage for piece in chosen]) if _says(chosen, wanted) else []


@dataclass(frozen=True)
class _Wanted:
    """What a claim is looked for by: its words, or in the other language, what stays the same there."""

    lang: Lang
    words: frozenset[str]
    anchors: frozenset[object]

    @classmethod
    def of(cls, claim: str) -> _Wanted:
        return cls(detect_lang(claim), words(claim), anchors(claim))

    @property
    def has_figures(self) -> bool:
        return any(isinstance(key, Decimal) for key in self.anchors)


@dataclass(frozen=True, eq=False)
class _Piece:
    """What of a claim a sentence has itself, and what stands above it."""

    passage: Passage
    own: frozenset[object]
    above: frozenset[object]
    is_foreign: bool

    @classmethod
    def of(cls, passage: Passage, wanted: _Wanted) -> _Piece:
        is_foreign = detect_lang(passage.quote) != wanted.lang
        above = f"{passage.hit.source.title}\n{passage.around}"
        own, over = (_shared(text, wanted, is_foreign=is_foreign) for text in (passage.quote, above))
        return cls(passage, own, over - own, is_foreign)

    @property
    def near(self) -> frozenset[object]:
        return self.own | self.above


def _shared(text: str, wanted: _Wanted, *, is_foreign: bool) -> frozenset[object]:
    held: frozenset[object] = words(text)
    if is_foreign:
        held |= anchors(text)
    elif wanted.has_figures:
        held |= figures(text)
    return held & (wanted.words | wanted.anchors)


def _weights(wanted: _Wanted, found: Sequence[_Piece]) -> Mapping[object, float]:
    """What each word counts: what few pieces have tells more."""
    seen = Counter(key for piece in found for key in piece.own)
    return {
        key: (_ANCHOR if key in wanted.anchors else 1) * math.log(1 + len(found) / (1 + seen[key]))
        for key in wanted.words | wanted.anchors
    }


def _sum(weights: Mapping[object, float], held: frozenset[object]) -> float:
    return sum(weights[key] for key in held)


def _says(chosen: Sequence[_Piece], wanted: _Wanted) -> bool:
    if not chosen:
        return False
    is_foreign = all(piece.is_foreign for piece in chosen)
    asked, least = (wanted.anchors, _HALF) if is_foreign else (wanted.words, _NEARLY_ALL)
    own: frozenset[object] = frozenset().union(*(piece.own for piece in chosen))
    near = own.union(*(piece.above for piece in chosen))
    if len(asked & near) < max(1.0, least * len(asked)) or 2 * len(asked & own) < least * len(asked):
        return False
    told = [key for key in wanted.anchors if isinstance(key, Decimal)]
    bearers = [piece.near for piece in chosen if len(asked & piece.near) >= _HALF * len(asked)]
    return all(any(figure in held for held in bearers) for figure in told if figure in near)


def _joined(chosen: Sequence[Passage]) -> list[Passage]:
    """In the order of the text; sentences that follow each other are one quote."""
    found: list[Passage] = []
    for one in sorted(chosen, key=lambda one: (chosen.index(_first_of(one, chosen)), one.start)):
        last = found[-1] if found else None
        if last is not None and _follows(last, one):
            found[-1] = replace(last, end=one.end)
        else:
            found.append(one)
    return found


def _first_of(one: Passage, chosen: Sequence[Passage]) -> Passage:
    return next(other for other in chosen if other.hit.chunk.id == one.hit.chunk.id)


def _follows(one: Passage, other: Passage) -> bool:
    text = one.hit.chunk.text
    is_prose = one.form == other.form == "prose"
    return one.hit.chunk.id == other.hit.chunk.id and is_prose and not text[one.end : other.start].strip()


@lru_cache(maxsize=256)
def _sentences(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(sentences(text))
