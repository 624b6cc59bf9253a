from __future__ import annotations

from collections.abc import Sequence

from eval.cases import Case, Gold
from eval.fit import Fit, Setting, fit

GRID = ((0.0, 1.0, 2.0), (0.0, 1.0))
SINGLES = ((1.0, 0.0), (0.0, 1.0))
HIT, MISS = frozenset({0}), frozenset[int]()


def cases(count: int = 40) -> list[Case]:
    return [
        Case(id=f"c{number}", question="?", lang="en", kind="fact", gold=(Gold(file="a.md", quote="a"),))
        for number in range(count)
    ]


def found(held: object, default: Setting = (1.0, 1.0)) -> Fit:
    return fit(
        cases(),
        held,  # type: ignore[arg-type]
        grid=GRID,
        default=default,
        singles=SINGLES,
        on_progress=lambda done, total: None,
    )


def test_the_setting_that_finds_most_is_found() -> None:
    def held(case: Case, setting: Setting) -> Sequence[frozenset[int]]:
        return [HIT] if setting == (2.0, 0.0) else [MISS, HIT] if setting[1] == 0.0 else [MISS, MISS, HIT]

    result = found(held)
    assert result.setting == (2.0, 0.0)
    assert result.unseen > result.default_unseen


def test_what_helps_no_unseen_case_is_not_taken() -> None:
    """A setting that is good for one case by chance."""

    def held(case: Case, setting: Setting) -> Sequence[frozenset[int]]:
        return [HIT] if setting == (1.0, 1.0) or case.id == "c3" else [MISS, HIT]

    assert found(held).setting == (1.0, 1.0)


def test_a_group_that_falls_below_its_best_single_list_weighs_double() -> None:
    """One setting is better on English, but loses on Chinese what a single list has."""
    both = [
        case.model_copy(update={"lang": "zh" if number % 3 == 0 else "en"}) for number, case in enumerate(cases(60))
    ]

    def held(case: Case, setting: Setting) -> Sequence[frozenset[int]]:
        if setting == (2.0, 0.0):
            return [HIT] if case.lang == "en" else [MISS] * 10
        if setting in SINGLES:
            return [HIT] if case.lang == "zh" else [MISS] * 10
        return [MISS, HIT]

    result = fit(both, held, grid=GRID, default=(1.0, 1.0), singles=SINGLES, on_progress=lambda done, total: None)
    assert result.setting != (2.0, 0.0)


def test_progress_ends() -> None:
    told: list[tuple[int, int]] = []
    fit(
        cases(5),
        lambda case, setting: [HIT],
        grid=GRID,
        default=(1.0, 1.0),
        singles=(),
        on_progress=lambda done, total: told.append((done, total)),
    )
    assert told[-1][0] == told[-1][1]
