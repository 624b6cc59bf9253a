"""How far each list can be trusted with one question, for embedders that nobody has fitted weights for.

A list that means something agrees with others: among its best, many lie beside each other in their source, or are among
the best of another list. Chance gives a random list next to none of that (measured: .07 of its best, where the weakest
of three real embedders has .5), and without it a list loses its say. Conversely, where even the best lexical match has
few of the question's rare words, and nothing agrees with it, words are the wrong clue, and meaning leads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from index.fusion import FusionWeights, Leg
from index.points import LEXICAL
from index.store import Sparse

_BEST = 10  # candidates of each list in each language
_SUPPORTED = 0.3  # the share of them from which on a list counts in full; its square below
_STRONG = 3.0  # the score a word from which on the lexical list counts in full


def trusted(legs: Sequence[Leg], weights: FusionWeights) -> FusionWeights:
    """`weights`, lowered where the candidates of a list speak against it.

    The lexical list loses only as much as the most trusted dense list can take over.
    """
    names = {leg.name for leg in legs} - {LEXICAL}
    shares = {name: _agreement(name, legs) for name in names}
    strength = min(1.0, _strength(legs) / _STRONG)
    lexical = max(1.0 - max(shares.values(), default=0.0), strength * max(strength, _agreement(LEXICAL, legs)))
    dense = {name: share * weights.dense.get(name, 1.0) for name, share in shares.items()}
    return replace(weights, lexical=lexical * weights.lexical, dense=dense)


def _agreement(name: str, legs: Sequence[Leg]) -> float:
    """From 0 to 1, by the share of the list's best that lie beside another of them, or that another list has, too."""
    best = [(leg, leg.found[:_BEST]) for leg in legs]
    elsewhere = {one.chunk.id for leg, found in best if leg.name != name for one in found}
    own = [(one, {other.chunk.id for other in found}) for leg, found in best if leg.name == name for one in found]
    supported = sum(
        one.chunk.id in elsewhere or one.chunk.previous_id in ids or one.chunk.next_id in ids for one, ids in own
    )
    return min(1.0, supported / len(own) / _SUPPORTED) ** 2 if own else 0.0


def _strength(legs: Sequence[Leg]) -> float:
    """What the best lexical match scores for each word of the question, by weight. Rarity is in the score already, so
    it is low both where few words are held and where only common ones are."""
    scores = (
        leg.found[0].score / sum(leg.asked.values)
        for leg in legs
        if leg.name == LEXICAL and leg.found and isinstance(leg.asked, Sparse)
    )
    return max(scores, default=0.0)
