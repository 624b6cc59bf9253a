"""Which concepts of a question a text names: under any of their names, whatever the ending, with slips of the pen."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from generate.question import Question
from index.sparse import terms
from kb.glossary import Term, load_glossary
from kb.types import Hit
from kb.words import load_words

_ALIKE = 0.8  # difflib's ratio of two words of which one may be a slip of the other


def aliases(question: Question, hits: Sequence[Hit]) -> Mapping[str, frozenset[str]]:
    """For each concept's name, the stems that stand for it: its own, and where no hit has that, near spellings.

    For a term, those of its names that are one word, which may be a word of a longer term, too: `optimization` in
    `optimization level`.
    """
    vocabulary = frozenset().union(*(stems(hit.chunk.full_text) for hit in hits)) if hits else frozenset()
    words = {}
    for concept in question.concepts:
        if concept.term is not None:
            spelled = (stems(name) for name in concept.term.names("und"))
            words[concept.name] = frozenset().union(*(one for one in spelled if len(one) == 1))
            continue
        stem = _stem(concept.name)
        words[concept.name] = frozenset({stem, *map(_stem, load_words().counterparts(concept.name))})
        if stem not in vocabulary and len(stem) >= 4 and stem.isalpha() and stem.isascii():
            words[concept.name] |= _near(stem, vocabulary) | _near(concept.name, vocabulary)
    return words


def _near(stem: str, vocabulary: frozenset[str]) -> frozenset[str]:
    """Words of `vocabulary` that `stem` may be a slip of: alike, or with letters swapped."""
    swapped = {word for word in vocabulary if word[:1] == stem[0] and sorted(word) == sorted(stem)}
    alike = difflib.get_close_matches(stem, _similar(stem, vocabulary), n=2, cutoff=_ALIKE) if len(stem) >= 5 else []
    return frozenset(swapped.union(alike))


def _similar(stem: str, vocabulary: frozenset[str]) -> list[str]:
    """Those words that can be alike at all, which is told fast: about as long, and with two letters in a row shared."""
    pairs = [stem[at : at + 2] for at in range(len(stem) - 1)]
    return [
        word
        for word in vocabulary
        if 2 * min(len(stem), len(word)) / (len(stem) + len(word)) >= _ALIKE and any(pair in word for pair in pairs)
    ]


def named(question: Question, words: Mapping[str, frozenset[str]], *texts: str) -> frozenset[int]:
    """The concepts that any of `texts` names, by their place in the question."""
    said = frozenset().union(*map(stems, texts))
    has_terms = any(concept.term for concept in question.concepts)
    known = frozenset().union(*map(_glossary_terms, texts)) if has_terms else frozenset()
    return frozenset(
        number
        for number, concept in enumerate(question.concepts)
        if not said.isdisjoint(words[concept.name]) or (concept.term and concept.term in known)
    )


def rarity_weights(question: Question, named: Sequence[frozenset[int]]) -> tuple[float, ...]:
    """Prior weight times rarity among the hits; a concept that no hit names counts as rare as one hit's."""
    raw = []
    for number, concept in enumerate(question.concepts):
        frequency = max(1, sum(number in one for one in named))
        raw.append(concept.weight * math.log(1.5 + len(named) / frequency))
    total = sum(raw) or 1.0
    return tuple(weight / total for weight in raw)


@lru_cache(maxsize=8192)
def stems(text: str) -> frozenset[str]:
    """The terms of `text`, English ones without their endings."""
    return frozenset(_stem(term) for term in terms(text))


@lru_cache(maxsize=8192)
def _glossary_terms(text: str) -> frozenset[Term]:
    return frozenset(load_glossary().find(text))


@lru_cache(maxsize=1 << 15)
def _stem(word: str) -> str:
    """English endings off: enough to meet `caching`, `cached` and `caches` in `cach`."""
    if not word.isascii() or not word.isalpha() or len(word) < 4:
        return word
    word = re.sub(r"(?<=\w{3})(?:ings?|ed|es|s|ly|e)$", "", word)
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl" else word


def inflected(word: str) -> str:
    """A query that finds an English word in its other forms, too."""
    stem = _stem(word)
    return " ".join([word, stem, f"{stem}e", f"{stem}s", f"{stem}ed", f"{stem}ing"]) if stem.isascii() else word
