"""Scores of several lists to one score a chunk.

Ranks throw away what the better list knows, and cosines of different languages do not compare. So each dense list is
standardised inside a language, over its own candidates there; lexical scores compare across languages as they are,
since rarity is already in them. The weighted sum is a score of this query alone: scores of two queries do not compare.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from index.embed import CROSS, DENSE
from index.points import LEXICAL
from index.store import Dense, Found, Sparse
from kb.types import Chunk

_FEW = 8  # candidates; fewer are too few to standardise by themselves
_APART = 3  # candidates at the head of a list that may stand out
_FLAT = 1e-6  # scores that differ by less than single precision keeps are equal


@dataclass(frozen=True)
class FusionWeights:
    """What each list counts: a fact of the recipe, fitted by evaluation (docs/retrieval.md), never a constant.

    `lexical` is what the best lexical match counts, `dense` by list name what one standard deviation counts.
    `translated` is what a word that the glossary adds counts against 1 of a word of the question, `alike` what an
    ordinary word of the other language does. `beside` is the share of its score that a candidate lends to those just
    before and after it in their source: a passage between two that fit is likely to fit. `depth` is how many candidates
    each list gives in each language. `guarded` weights are lowered question by question, where the candidates speak
    against a list (`index.trust`), and measure a dense list without its first three: what a strong embedder is sure of
    stands out by far more than its usual spread.
    """

    lexical: float
    dense: Mapping[str, float]
    translated: float = 0.8
    alike: float = 0.5
    beside: float = 0.2
    depth: int = 40
    guarded: bool = False


PACKAGED = FusionWeights(lexical=8.0, dense={DENSE: 1.0, CROSS: 0.75})
UNKNOWN = FusionWeights(lexical=13.0, dense={DENSE: 1.0}, guarded=True)  # any other embedder


class Leg(NamedTuple):
    """What one list found in one language, best first, and the vector that it was `asked`."""

    name: str
    found: Sequence[Found]
    asked: Dense | Sparse | None = None


class Place(NamedTuple):
    """Where a list has a chunk: its name, the place counted from 1, the raw score."""

    name: str
    place: int
    score: float


class Fused(NamedTuple):
    """A chunk with its place in every list that found it."""

    found: Found
    score: float
    places: tuple[Place, ...]


def fuse(legs: Sequence[Leg], weights: FusionWeights) -> list[Fused]:
    """All candidates, best first, ties by chunk id. A list that did not find a chunk adds nothing to it."""
    scores: dict[str, float] = defaultdict(float)
    places: dict[str, list[Place]] = defaultdict(list)
    candidates: dict[str, Found] = {}
    for leg in legs:
        pooled = [found.score for other in legs if other.name == leg.name for found in other.found]
        parts = _lexical(leg, pooled, weights) if leg.name == LEXICAL else _dense(leg, pooled, weights)
        for place, (found, part) in enumerate(zip(leg.found, parts, strict=True), start=1):
            key = found.chunk.id
            candidates[key] = found
            scores[key] += part
            places[key].append(Place(leg.name, place, found.score))
    lent = {key: weights.beside * _beside(found.chunk, scores) for key, found in candidates.items()}
    order = sorted(candidates, key=lambda key: (-scores[key] - lent[key], key))
    return [Fused(candidates[key], scores[key] + lent[key], tuple(places[key])) for key in order]


def _lexical(leg: Leg, pooled: Sequence[float], weights: FusionWeights) -> list[float]:
    best = max(pooled, default=0.0)
    return [weights.lexical * found.score / best if best > 0 else 0.0 for found in leg.found]


def _dense(leg: Leg, pooled: Sequence[float], weights: FusionWeights) -> list[float]:
    """Standard deviations above the last candidate; where a language has few, above the last of all."""
    own = [found.score for found in leg.found]
    apart = _APART if weights.guarded else 0
    yardstick = np.array(own[apart:] if len(own) >= _FEW + apart else pooled)
    spread = float(yardstick.std()) if len(yardstick) else 0.0
    if spread < _FLAT:
        return [0.0] * len(own)
    factor = weights.dense.get(leg.name, 1.0) / spread
    lowest = float(yardstick.min())
    return [factor * (score - lowest) for score in own]


def _beside(chunk: Chunk, scores: Mapping[str, float]) -> float:
    return scores.get(chunk.previous_id or "", 0.0) + scores.get(chunk.next_id or "", 0.0)
