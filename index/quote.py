"""The sentence of a chunk that answers a question best, word for word."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from index.sparse import terms
from kb.text import sentences
from kb.types import Chunk

# Fitted on the development questions: how often the quote is, holds or lies in the gold one.
_ENOUGH = 25  # terms; a shorter sentence counts less, down to _SHORT
_SHORT = 0.3
_IN_CONTEXT = 0.2  # what a term of the headings counts: the whole chunk is about it


def best_quote(chunk: Chunk, wanted: Mapping[str, float]) -> tuple[int, int]:
    """Span in `chunk.text` of the sentence that shares most with the question, inside one segment.

    Args:
        wanted: terms of the question and what each counts.

    Terms that stand in many sentences of the chunk tell less (the IDF of BM25, over sentences). Without any shared
    term it is the first sentence that is long enough to say something.
    """
    read = _read(chunk.text, _segments(chunk))
    if not read.spans:
        return 0, len(chunk.text)
    context = _terms(chunk.context)
    weights = {
        term: weight * (_IN_CONTEXT if term in context else 1) * _rarity(holding, len(read.spans))
        for term, weight in wanted.items()
        if (holding := read.holding.get(term))
    }

    def score(index: int) -> float:
        shared = sum(weight for term, weight in weights.items() if term in read.terms[index])
        size = read.sizes[index]
        return shared * (_SHORT + (1 - _SHORT) * size) + 0.01 * size

    return read.spans[max(range(len(read.spans)), key=lambda index: (score(index), -index))]


def sentence_spans(chunk: Chunk) -> tuple[tuple[int, int], ...]:
    """Where the sentences of a chunk stand in its text, in order; each lies inside one segment."""
    return _read(chunk.text, _segments(chunk)).spans


def _segments(chunk: Chunk) -> tuple[tuple[int, int], ...]:
    return tuple((span.start, span.end) for span in chunk.spans)


def _rarity(holding: int, sentences: int) -> float:
    return math.log(1 + (sentences - holding + 0.5) / (holding + 0.5))


class _Read(NamedTuple):
    """The sentences of a chunk: where they stand, their terms, their sizes from 0 to 1, how many hold each term."""

    spans: tuple[tuple[int, int], ...]
    terms: tuple[frozenset[str], ...]
    sizes: tuple[float, ...]
    holding: Mapping[str, int]


# What is found often is read again and again; both functions below are pure.


@functools.lru_cache(maxsize=4096)
def _read(text: str, segments: tuple[tuple[int, int], ...]) -> _Read:
    """Sentences never leave their segment: what stands between segments is not in the source."""
    spans = tuple(
        (begin + start, begin + end)
        for begin, finish in segments
        for start, end in sentences(text[begin:finish])
        if any(character.isalnum() for character in text[begin + start : begin + end])
    )
    found = [terms(text[start:end]) for start, end in spans]
    held = tuple(frozenset(each) for each in found)
    sizes = tuple(min(len(each), _ENOUGH) / _ENOUGH for each in found)
    return _Read(spans, held, sizes, Counter(term for each in held for term in each))


@functools.lru_cache(maxsize=4096)
def _terms(context: str) -> frozenset[str]:
    return frozenset(terms(context))
