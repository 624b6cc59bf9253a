"""Numbers from judged results. Ranking measures come from ir-measures (trec_eval); intervals are bootstrap ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kb.types import Frozen

CUTS = (1, 5, 10, 20)
_SEED, _RESAMPLES = 20261130, 1000


class Estimate(Frozen):
    """A mean over `n` cases with its 95 % bootstrap interval (percentile method, Efron 1979)."""

    value: float
    low: float
    high: float
    n: int


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of at least one value, with its interval; the same values give the same interval, always."""
    sample = np.asarray(values, dtype=float)
    draws = np.random.default_rng(_SEED).integers(0, len(sample), size=(_RESAMPLES, len(sample)))
    low, high = np.percentile(sample[draws].mean(axis=1), [2.5, 97.5])
    return Estimate(value=float(sample.mean()), low=float(low), high=float(high), n=len(sample))


def percentile(values: Sequence[float], share: float) -> float:
    return float(np.percentile(np.asarray(values, dtype=float), share))


def ranking(found: Sequence[frozenset[int]], quotes: int, gold: int) -> Mapping[str, float]:
    """Measures of one ranked list.

    Args:
        found: for each result, best first, the numbers of the quotes it holds; the gold quotes come first.
        quotes: how many quotes count, gold and alternatives together.
        gold: how many of them are gold.

    A result is relevant when it holds a quote that no result before it holds, so that twins earn nothing. What nDCG
    measures against: those results, and for a question whose quotes were all missed one result more, at the top.
    """
    import ir_measures
    from ir_measures import RR, Success, nDCG

    seen: set[int] = set()
    relevant = []
    for rank, held in enumerate(found):
        if held - seen:
            relevant.append(rank)
        seen |= held
    missing = max(0, gold - len(seen)) if len(seen) < gold else 0
    qrels = [ir_measures.Qrel("q", str(rank), 1) for rank in relevant]
    qrels += [ir_measures.Qrel("q", f"missed-{number}", 1) for number in range(missing)]
    run = [ir_measures.ScoredDoc("q", str(rank), float(len(found) - rank)) for rank in range(len(found))]
    wanted = {f"recall@{cut}": Success @ cut for cut in CUTS} | {"ndcg@10": nDCG @ 10, "mrr": RR}
    values = ir_measures.calc_aggregate(wanted.values(), qrels, run) if run else {}
    result = {name: float(values.get(measure, 0.0)) for name, measure in wanted.items()}
    held_at_10 = frozenset[int]().union(*found[:10])
    result["all_gold@10"] = float(held_at_10.issuperset(range(gold)) or (quotes > gold and bool(held_at_10)))
    return result
