"""Scores of several lists to one score a chunk.

Ranks throw away what the better list knows, and cosines of different languages do not compare. So each dense list is
standardised inside a language, over its own candidates there; lexical scores compare across languages as they are,
since rarity is already in them. The weighted sum is a score of this query alone: scores of two queries do not compare.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from index.embed import CROSS, DENSE
from index.points import LEXICAL
from index.store import Found
from kb.types import Rank

_FEW = 8  # candidates that are too few to standardise by themselves


@dataclass(frozen=True)
class FusionWeights:
    """What each list counts: a fact of the recipe, fitted by evaluation (docs/retrieval.md), never a constant.

    `lexical` is what the best lexical match counts, `dense` by list name what one standard deviation counts.
    `translated` is what a word that the glossary adds counts against 1 of a word of the question. `depth` is how many
    candidates each list gives in each language.
    """

    lexical: float
    dense: Mapping[str, float] = field(default_factory=dict)
    translated: float = 0.6
    depth: int = 50


PACKAGED = FusionWeights(lexical=6.0, dense={DENSE: 1.0, CROSS: 1.0})
UNKNOWN = FusionWeights(lexical=4.0, dense={DENSE: 1.5, CROSS: 1.0})  # any embedder that nobody has fitted weights for


class Leg(NamedTuple):
    """What one list found in one language, best first."""

    name: str
    found: Sequence[Found]


class Fused(NamedTuple):
    """A chunk with its place and raw score in every list that found it."""

    found: Found
    score: float
    ranks: tuple[Rank, ...]


def fuse(legs: Sequence[Leg], weights: FusionWeights) -> list[Fused]:
    """All candidates, best first, ties by chunk id. A list that did not find a chunk adds nothing to it."""
    scores: dict[str, float] = defaultdict(float)
    ranks: dict[str, list[Rank]] = defaultdict(list)
    candidates: dict[str, Found] = {}
    for leg in legs:
        pooled = [found.score for other in legs if other.name == leg.name for found in other.found]
        parts = _lexical(leg, pooled, weights) if leg.name == LEXICAL else _dense(leg, pooled, weights)
        for place, (found, part) in enumerate(zip(leg.found, parts, strict=True), start=1):
            candidates[found.chunk.id] = found
            scores[found.chunk.id] += part
            ranks[found.chunk.id].append(Rank(list=leg.name, rank=place, score=found.score))
    fused = [Fused(found, scores[key], tuple(ranks[key])) for key, found in candidates.items()]
    return sorted(fused, key=lambda one: (-one.score, one.found.chunk.id))


def _lexical(leg: Leg, pooled: Sequence[float], weights: FusionWeights) -> Iterable[float]:
    best = max(pooled, default=0.0)
    return [weights.lexical * found.score / best if best > 0 else 0.0 for found in leg.found]


def _dense(leg: Leg, pooled: Sequence[float], weights: FusionWeights) -> Iterable[float]:
    """Standard deviations above the last candidate; where a language has few, above the last of all."""
    own = [found.score for found in leg.found]
    yardstick = own if len(own) >= _FEW else pooled
    spread = statistics.pstdev(yardstick) if len(yardstick) > 1 else 0.0
    lowest = min(yardstick, default=0.0)
    weight = weights.dense.get(leg.name, 1.0)
    return [weight * (score - lowest) / spread if spread > 0 else 0.0 for score in own]
