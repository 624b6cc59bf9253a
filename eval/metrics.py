"""Numbers from judged results. Ranking measures come from ir-measures (trec_eval); intervals are bootstrap ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

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


def ranking(found: Sequence[frozenset[int]], gold: int) -> dict[str, float]:
    """Measures of one ranked list, for a question that needs `gold` quotes.

    Args:
        found: for each result, best first, the numbers of the quotes, gold or alternative, that it holds.

    A result is relevant when it holds a quote that no result before it holds, until as many quotes are found as the
    question needs: twins earn nothing, and further alternatives neither help nor harm. What nDCG measures against:
    those results, and one more for each quote that was missed, all at the top. `all@10` is there for questions that
    need several quotes.
    """
    import ir_measures
    from ir_measures import RR, Success, nDCG

    seen: set[int] = set()
    relevant = []
    for rank, held in enumerate(found):
        if held - seen and len(seen) < gold:
            relevant.append(rank)
            seen |= held
    qrels = [ir_measures.Qrel("q", str(rank), 1) for rank in relevant]
    qrels += [ir_measures.Qrel("q", f"missed-{number}", 1) for number in range(gold - len(seen))]
    run = [ir_measures.ScoredDoc("q", str(rank), float(len(found) - rank)) for rank in range(len(found))]
    wanted = {f"recall@{cut}": Success @ cut for cut in CUTS} | {"ndcg@10": nDCG @ 10, "mrr": RR}
    values = ir_measures.calc_aggregate(wanted.values(), qrels, run) if run else {}
    result = {name: float(values.get(measure, 0.0)) for name, measure in wanted.items()}
    if gold > 1:
        result["all@10"] = float(len(frozenset[int]().union(*found[:10])) >= gold)
    return result


def sameness(lists: Sequence[frozenset[str]]) -> list[float]:
    """For each list of results, the mean share of it that another question's list holds, too.

    Questions of one language that all get the same results have a broken tokenizer, or vectors that crowd together.
    """
    held = Counter(result for results in lists for result in results)
    others = len(lists) - 1
    return [
        sum(held[result] - 1 for result in results) / (others * len(results)) if others and results else 0.0
        for results in lists
    ]
