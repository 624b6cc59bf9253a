"""How far each list can be trusted with one question, for embedders that nobody has fitted weights for.

A dense list that means something agrees with others at its head: there, more candidates lie beside each other in their
source, or are among the best of another list, than at its tail, where chance rules. Without that it loses its say.
The lexical list is strong where its best match has the question's rare words and few others have them. Where it is
weak, words are the wrong clue, and a dense list that can be trusted leads.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from index.fusion import FusionWeights, Leg
from index.points import LEXICAL
from index.store import Found, Sparse

# Found on two thirds of the questions of three sets, with eight embedders from strong to random (docs/retrieval.md).
_BEST = 10  # candidates at either end of a list in each language
_FEW = 8  # at its heads together; fewer tell nothing
_SUPPORTED = 0.15  # the share above chance from which on a list counts in full
_STRONG = 2.0  # the strength from which on the lexical list counts in full


def trusted(legs: Sequence[Leg], weights: FusionWeights) -> FusionWeights:
    """`weights`, lowered where the candidates of a list speak against it.

    The lexical list loses only as much as the most trusted dense list can take over.
    """
    names = {leg.name for leg in legs if leg.found} - {LEXICAL}
    shares = {name: share for name in names if (share := _agreement(name, legs)) is not None}
    weak = 1.0 - min(1.0, _strength(legs) / _STRONG)
    lexical = 1.0 - weak * max(shares.values(), default=0.0)
    dense = {name: shares.get(name, 1.0) * weights.dense.get(name, 1.0) for name in names}
    return replace(weights, lexical=lexical * weights.lexical, dense=dense)


def _agreement(name: str, legs: Sequence[Leg]) -> float | None:
    """From 0 to 1, by how much more of the list's head is supported than of its tail; None for too short a list."""
    own = [leg.found for leg in legs if leg.name == name]
    elsewhere = {one.chunk.id for leg in legs if leg.name != name for one in leg.found[:_BEST]}
    ends = [min(_BEST, len(found) // 2) for found in own]
    if sum(ends) < _FEW:
        return None
    head = _supported([found[:end] for found, end in zip(own, ends, strict=True)], elsewhere)
    tail = _supported([found[len(found) - end :] for found, end in zip(own, ends, strict=True)], elsewhere)
    return min(1.0, max(0.0, head - tail) / (1 - tail) / _SUPPORTED) if tail < 1 else 0.0


def _supported(parts: Sequence[Sequence[Found]], elsewhere: Set[str]) -> float:
    """The share of candidates that another list has, too, or whose neighbour in the source is in the same part."""
    count = 0
    for part in parts:
        ids = {one.chunk.id for one in part}
        count += sum(
            one.chunk.id in elsewhere or one.chunk.previous_id in ids or one.chunk.next_id in ids for one in part
        )
    return count / sum(map(len, parts))


def _strength(legs: Sequence[Leg]) -> float:
    """What the best lexical match scores for each word of the question, by weight, and how far it leads the tenth.

    Rarity is in the score already, so it is low both where few words are held and where only common ones are.
    """
    lexical = [leg for leg in legs if leg.name == LEXICAL and leg.found and isinstance(leg.asked, Sparse)]
    each = [leg.found[0].score / sum(leg.asked.values) for leg in lexical if isinstance(leg.asked, Sparse)]
    scores = sorted((one.score for leg in lexical for one in leg.found), reverse=True)[:_BEST]
    return max(each) * (1.0 - scores[-1] / scores[0]) ** 0.5 if scores else 0.0
