"""Finds settings by measuring: a coordinate search over a grid, cross-validated."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from eval.cases import Case
from eval.metrics import ranking
from kb.types import Frozen

Setting = tuple[float, ...]
Held = Callable[[Case, Setting], Sequence[frozenset[int]]]
"""For each result of a case under a setting, best first, the numbers of the quotes that it holds."""

_MEASURES = ("recall@1", "recall@10", "ndcg@10")
_FOLDS = 5
_ROUNDS = 3
_BELOW_SINGLE = 1.0  # what a group that falls below its best single list costs, against 1 of its worth
_SMALLEST = 5  # cases of a group; fewer say nothing
_GAIN = 0.01  # what a change must promise; less is noise


class Fit(Frozen):
    """What was found, and what it is worth on cases that it was not fitted on: means over groups, from 0 to 1."""

    setting: Setting
    unseen: float
    default_unseen: float


def fit(
    cases: Sequence[Case],
    held: Held,
    *,
    grid: Sequence[Sequence[float]],
    default: Setting,
    singles: Sequence[Setting],
    on_progress: Callable[[int, int], None],
) -> Fit:
    """The setting that is worth most, or `default` where none does better on cases that it was not fitted on.

    Worth is the mean of recall@1, recall@10 and nDCG@10 over the groups of the answerable cases (language, same or
    other language, kind), less what a group loses against the best of `singles`: settings in which one list decides.

    Args:
        grid: the values that each coordinate may take.
    """
    asked = [case for case in cases if case.answerable]
    worth = _Worth(held, singles)
    unseen, default_unseen = [], []
    for number in range(_FOLDS):
        on_progress(number, _FOLDS + 1)
        kept = [case for case in asked if _fold_of(case) != number]
        left = [case for case in asked if _fold_of(case) == number]
        if kept and left:
            unseen.append(worth(left, _search(worth, kept, grid, default)))
            default_unseen.append(worth(left, default))
    on_progress(_FOLDS, _FOLDS + 1)
    found = _search(worth, asked, grid, default)
    on_progress(_FOLDS + 1, _FOLDS + 1)
    better, before = _mean(unseen), _mean(default_unseen)
    return Fit(setting=found if better > before else default, unseen=better, default_unseen=before)


class _Worth:
    """What a setting is worth on some cases; every case is measured once a setting."""

    def __init__(self, held: Held, singles: Sequence[Setting]) -> None:
        self._held = held
        self._singles = singles
        self._known: dict[tuple[str, Setting], tuple[float, ...]] = {}

    def __call__(self, cases: Sequence[Case], setting: Setting) -> float:
        groups = self._groups(cases, setting)
        singles = [self._groups(cases, single) for single in self._singles]
        worth = []
        for name, value in groups.items():
            lost = max((single[name] for single in singles), default=0.0) - value
            worth.append(value - _BELOW_SINGLE * max(0.0, lost))
        return _mean(worth)

    def _groups(self, cases: Sequence[Case], setting: Setting) -> Mapping[str, float]:
        values: dict[str, list[float]] = defaultdict(list)
        for case in cases:
            value = _mean(self._measured(case, setting))
            for group in case.groups():
                values[group].append(value)
        return {group: _mean(found) for group, found in values.items() if len(found) >= _SMALLEST or group == "all"}

    def _measured(self, case: Case, setting: Setting) -> tuple[float, ...]:
        key = (case.id, setting)
        if key not in self._known:
            measured = ranking(self._held(case, setting), gold=len(case.gold))
            self._known[key] = tuple(measured[name] for name in _MEASURES)
        return self._known[key]


def _search(worth: _Worth, cases: Sequence[Case], grid: Sequence[Sequence[float]], start: Setting) -> Setting:
    """One coordinate after the other, over and over, until nothing is gained."""
    best, value = start, worth(cases, start)
    for _ in range(_ROUNDS):
        before = best
        for coordinate in range(len(grid)):
            for candidate in _along(best, coordinate, grid):
                found = worth(cases, candidate)
                if found > value + _GAIN:
                    best, value = candidate, found
        if best == before:
            break
    return best


def _along(setting: Setting, coordinate: int, grid: Sequence[Sequence[float]]) -> Iterator[Setting]:
    for value in grid[coordinate]:
        if value != setting[coordinate]:
            yield (*setting[:coordinate], value, *setting[coordinate + 1 :])


def _fold_of(case: Case) -> int:
    return zlib.crc32(case.id.encode()) % _FOLDS


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
