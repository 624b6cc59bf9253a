"""Where the words stand that carry a claim: those that its quote gives, or those that say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from generate.passages import Passage
from generate.question import content_terms
from generate.reply import Supporting
from kb.text import find_quote, sentences

_NEARLY_ALL = 0.7  # of a claim's words: a sentence that has so many says it
_POINTING = 0.5  # of a quote's words: it means a sentence that has so many
_FEW = 4  # words of a claim that is looked for


def said(text: str, quote: str, evidence: Mapping[str, Passage]) -> Passage | None:
    """The sentence of the evidence that shares nearly all words of `text`, and that `quote` points at: it has half of
    the quote's words itself or in its headings. None where there is none."""
    words, pointed = content_terms(text), content_terms(quote)
    if len(words) < _FEW or not pointed:
        return None
    best, most = None, _NEARLY_ALL * len(words)
    for passage in evidence.values():
        above = content_terms(f"{passage.hit.source.title}\n{passage.around}")
        for start, end in _sentences(passage.quote):
            own = content_terms(passage.quote[start:end])
            shared = len(words & own)
            is_best = shared > most or (best is None and shared >= most)
            if is_best and len(pointed & (own | above)) >= _POINTING * len(pointed):
                best, most = replace(passage, start=passage.start + start, end=passage.start + end), shared
    return best


def quoted(support: Supporting, passage: Passage) -> Passage | None:
    """The quote where it stands verbatim in the passage, widened to whole sentences; None where it does not."""
    span = find_quote(support.quote, passage.quote)
    if span is None:
        return None
    touched = [(a, b) for a, b in _sentences(passage.quote) if a < span[1] and b > span[0]]
    start = min([span[0], *(a for a, _ in touched[:1])])
    end = max([span[1], *(b for _, b in touched[-1:])])
    return replace(passage, start=passage.start + start, end=passage.start + end)


@lru_cache(maxsize=256)
def _sentences(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(sentences(text))
