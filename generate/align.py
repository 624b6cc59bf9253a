"""Which slide was on screen while a sentence was spoken, told from the words that both use.

A monotonic alignment by dynamic programming, as in Viterbi decoding of a left-to-right model: a talk moves forward
through its deck, may skip slides, and never goes back.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from generate.question import content_terms
from kb.glossary import load_glossary

_PACE = 0.6  # weight of the assumption that a talk moves through its deck at an even pace
_TURN = 0.35  # cost of going on to another slide


@dataclass(frozen=True)
class Alignment:
    """For each sentence its slide, counted from 0, or None without slides; `confidence` is the share of sentences that
    have a word of their own in common with their slide."""

    slides: tuple[int | None, ...]
    confidence: float


def align(speech: Sequence[str], slides: Sequence[str]) -> Alignment:
    if not speech or not slides:
        return Alignment((None,) * len(speech), 0.0)
    overlap = _overlap(speech, slides)
    path = _best_path(overlap - _PACE * _offset(len(speech), len(slides)))
    matched = sum(bool(overlap[row, column] > 0) for row, column in enumerate(path))
    return Alignment(tuple(path), matched / len(speech))


def _overlap(speech: Sequence[str], slides: Sequence[str]) -> NDArray[np.float64]:
    """Shape `(sentences, slides)`: rarity-weighted words in common, over the root of the sentence's length."""
    said = [_words(text) for text in speech]
    shown = [_words(text) for text in slides]
    spread = Counter(word for words in shown for word in words)
    rarity = {word: math.log(1 + len(slides) / count) for word, count in spread.items()}
    matrix = np.zeros((len(said), len(shown)))
    for row, words in enumerate(said):
        for column, other in enumerate(shown):
            matrix[row, column] = sum(rarity[word] for word in words & other) / math.sqrt(1 + len(words))
    return matrix


def _words(text: str) -> frozenset[str]:
    """Content words, and the concepts of the glossary, which meet across languages."""
    return content_terms(text) | {f"\x00{term.en[0]}" for term in load_glossary().find(text)}


def _offset(sentences: int, slides: int) -> NDArray[np.float64]:
    """Distance from an even pace, as a share of the deck."""
    rows = (np.arange(sentences) + 0.5) / sentences
    columns = (np.arange(slides) + 0.5) / slides
    return np.abs(rows[:, None] - columns[None, :])


def _best_path(gain: NDArray[np.float64]) -> list[int]:
    total = gain[0].copy()
    came_from = np.zeros(gain.shape, dtype=np.intp)
    for row in range(1, len(gain)):
        best_before = np.maximum.accumulate(total)
        where = _argmax_so_far(total)
        moved = np.concatenate(([-np.inf], best_before[:-1])) - _TURN
        stays = total >= moved
        came_from[row] = np.where(stays, np.arange(gain.shape[1]), np.concatenate(([0], where[:-1])))
        total = np.where(stays, total, moved) + gain[row]
    path = [int(np.argmax(total))]
    for row in range(len(gain) - 1, 0, -1):
        path.append(int(came_from[row, path[-1]]))
    return path[::-1]


def _argmax_so_far(values: NDArray[np.float64]) -> NDArray[np.intp]:
    best = np.maximum.accumulate(values)
    is_new = np.concatenate(([True], values[1:] > best[:-1]))
    return np.maximum.accumulate(np.where(is_new, np.arange(len(values)), 0))
