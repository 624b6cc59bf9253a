"""How far each list can be trusted with one question, for embedders that nobody has fitted weights for.

A list that means something agrees with others: among its best, many lie beside each other in their source, or are among
the best of another list. Chance gives a random list next to none of that (measured: .07 of its best ten, where the
weakest of three real embedders has .5), so it loses its say, and a real one keeps it. Conversely, where even the best
lexical match has few of the question's words, words are the wrong clue, and meaning leads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from index.fusion import FusionWeights, Leg
from index.points import LEXICAL
from index.sparse import document_vector
from index.store import Sparse

_BEST = 10  # candidates of each list in each language
_SUPPORTED = 0.3  # the share of them from which on a list counts in full; its square below
_COVERED = 0.5  # the share of the question's words from which on the lexical list counts in full
_LEAST = 0.3  # what it counts with none


def trusted(legs: Sequence[Leg], weights: FusionWeights) -> FusionWeights:
    """`weights`, lowered where the candidates of a list speak against it.

    The lexical list loses only as much as the most trusted dense list can take over.
    """
    names = {leg.name for leg in legs} - {LEXICAL}
    shares = {name: min(1.0, _support(name, legs) / _SUPPORTED) ** 2 for name in names}
    floor = 1.0 - max(shares.values(), default=0.0)
    lexical = max(floor, _LEAST, min(1.0, _coverage(legs) / _COVERED))
    dense = {name: share * weights.dense.get(name, 1.0) for name, share in shares.items()}
    return replace(weights, lexical=lexical * weights.lexical, dense=dense)


def _support(name: str, legs: Sequence[Leg]) -> float:
    """The share of the list's best candidates that lie beside another of them, or that another list has, too."""
    best = [(leg, leg.found[:_BEST]) for leg in legs]
    elsewhere = {one.chunk.id for leg, found in best if leg.name != name for one in found}
    own = [(one, {other.chunk.id for other in found}) for leg, found in best if leg.name == name for one in found]
    supported = sum(
        one.chunk.id in elsewhere or one.chunk.previous_id in ids or one.chunk.next_id in ids for one, ids in own
    )
    return supported / len(own) if own else 0.0


def _coverage(legs: Sequence[Leg]) -> float:
    """The share of the question's words, by weight, that the best lexical match has."""
    best = max((leg for leg in legs if leg.name == LEXICAL and leg.found), key=_top, default=None)
    if best is None or not isinstance(best.asked, Sparse):
        return 0.0
    held = set(document_vector(best.found[0].chunk).indices)
    weights = dict(zip(best.asked.indices, best.asked.values, strict=True))
    return sum(weight for term, weight in weights.items() if term in held) / sum(weights.values())


def _top(leg: Leg) -> float:
    return leg.found[0].score
