"""The sentence of a chunk that answers a question best, word for word."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterator, Mapping

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
    spans = list(_sentences(chunk))
    if not spans:
        return 0, len(chunk.text)
    counts = [_counted(chunk.text[start:end]) for start, end in spans]
    holding = Counter(term for found in counts for term in found)
    context = _counted(chunk.context)
    weights = {
        term: weight * (_IN_CONTEXT if term in context else 1) * _rarity(holding[term], len(spans))
        for term, weight in wanted.items()
        if term in holding
    }

    def score(found: Counter[str]) -> float:
        shared = sum(weight for term, weight in weights.items() if term in found)
        size = min(found.total(), _ENOUGH) / _ENOUGH
        return shared * (_SHORT + (1 - _SHORT) * size) + 0.01 * size

    best = max(range(len(spans)), key=lambda index: (score(counts[index]), -index))
    return spans[best]


def _rarity(holding: int, sentences: int) -> float:
    return math.log(1 + (sentences - holding + 0.5) / (holding + 0.5))


# What is found often is read again and again; both functions below are pure.


@functools.lru_cache(maxsize=8192)
def _counted(sentence: str) -> Counter[str]:
    return Counter(terms(sentence))


@functools.lru_cache(maxsize=8192)
def _parted(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(
        (start, end) for start, end in sentences(text) if any(character.isalnum() for character in text[start:end])
    )


def _sentences(chunk: Chunk) -> Iterator[tuple[int, int]]:
    """Sentences never leave their segment: what stands between spans is not in the source."""
    for span in chunk.spans:
        for start, end in _parted(chunk.text[span.start : span.end]):
            yield span.start + start, span.start + end
