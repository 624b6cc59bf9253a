"""`kb eval --fit`: weights of the lists, found by measuring on questions with known answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from api.base import OnProgress, unwatched
from eval import fit as fits
from eval.cases import Case
from eval.judge import folded, stands_in
from index.fusion import FusionWeights, Leg, fuse
from index.points import LEXICAL
from index.question import prefer
from index.search import Searcher, weigh
from index.store import Found
from kb.errors import BadRequest
from kb.types import Progress, Query

_DEEPEST = 20  # results that are judged
_GUARDED = (0.0, 1.0)
_LEXICAL = (0.0, 1.0, 2.0, 3.5, 5.0, 7.0, 10.0, 13.0)
_DENSE = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
_BESIDE = (0.0, 0.1, 0.2, 0.3)


class Fitted(NamedTuple):
    """The weights, and what they and those before them are worth on questions that they were not fitted on: means of
    recall@1, recall@10 and nDCG@10 over the groups, less what a group loses to its best single list."""

    weights: FusionWeights
    unseen: float
    before_unseen: float


def fit_weights(searcher: Searcher, cases: Sequence[Case], on_progress: OnProgress = unwatched) -> Fitted:
    """Weights for the searcher's lists, cross-validated; those it has where nothing is better.

    Every question is embedded and asked of the lists once; the rest is arithmetic.

    Raises:
        BadRequest: if no case has an answer.
    """
    before = searcher.weights
    names = sorted(searcher.embedders)
    asked = [case for case in cases if case.answerable]
    if not asked:
        raise BadRequest("no question has a gold quote to fit by", remedy="Name a file of cases with answers")

    def tell(stage: str, done: int, total: int) -> None:
        on_progress(Progress(done=done, total=total, path="", stage=stage))

    legs: dict[str, Sequence[Leg]] = {}
    for done, case in enumerate(asked):
        tell("asking", done, len(asked))
        legs[case.id] = searcher.legs(Query(text=case.question, limit=_DEEPEST))
    quotes = {case.id: _quotes(case, legs[case.id]) for case in asked}

    def weights_of(setting: fits.Setting) -> FusionWeights:
        guarded, lexical, beside, *dense = setting
        counted = dict(zip(names, dense, strict=True))
        return replace(before, guarded=bool(guarded), lexical=lexical, beside=beside, dense=counted)

    def held(case: Case, setting: fits.Setting) -> Sequence[frozenset[int]]:
        weights = weights_of(setting)
        found = legs[case.id]
        fused = prefer(fuse(found, weigh(found, weights, case.question)), case.question)
        return [quotes[case.id].get(one.found.chunk.id, frozenset()) for one in fused[:_DEEPEST]]

    alone = [tuple(float(name == other) for other in (LEXICAL, *names)) for name in (LEXICAL, *names)]
    found = fits.fit(
        asked,
        held,
        grid=(_GUARDED, _LEXICAL, _BESIDE, *(_DENSE for _ in names)),
        default=(before.guarded, before.lexical, before.beside, *(before.dense.get(name, 1.0) for name in names)),
        singles=[(0.0, lexical, 0.0, *dense) for lexical, *dense in alone],
        on_progress=lambda done, total: tell("fitting", done, total),
    )
    return Fitted(weights_of(found.setting), found.unseen, found.default_unseen)


def _quotes(case: Case, legs: Sequence[Leg]) -> Mapping[str, frozenset[int]]:
    """The numbers of the case's quotes that each candidate holds, by chunk id."""
    candidates: dict[str, Found] = {one.chunk.id: one for leg in legs for one in leg.found}
    return {
        chunk_id: frozenset(
            number
            for number, gold in enumerate(case.quotes)
            if stands_in(gold, one.source) and folded(gold.quote) in folded(one.chunk.text)
        )
        for chunk_id, one in candidates.items()
    }
