"""The sentence of a chunk that answers a question best, word for word."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from index.sparse import terms
from kb.text import sentences
from kb.types import Chunk

_ENOUGH_TERMS = 12  # a sentence this long says something; shorter ones count less


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
    found = [Counter(terms(chunk.text[start:end])) for start, end in spans]
    in_sentences = Counter(term for counts in found for term in counts)

    def score(counts: Counter[str]) -> float:
        shared = sum(
            weight * math.log(1 + (len(spans) - in_sentences[term] + 0.5) / (in_sentences[term] + 0.5))
            for term, weight in wanted.items()
            if term in counts
        )
        size = min(counts.total(), _ENOUGH_TERMS) / _ENOUGH_TERMS
        return shared * (0.5 + 0.5 * size) + 0.01 * size

    best = max(range(len(spans)), key=lambda index: (score(found[index]), -index))
    return spans[best]


def _sentences(chunk: Chunk) -> Iterator[tuple[int, int]]:
    """Sentences never leave their segment: what stands between spans is not in the source."""
    for span in chunk.spans:
        for start, end in sentences(chunk.text[span.start : span.end]):
            if any(character.isalnum() for character in chunk.text[span.start + start : span.start + end]):
                yield span.start + start, span.start + end
