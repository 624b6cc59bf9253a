"""Ranking measures and intervals."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.metrics import estimate, ranking, sameness

NOTHING: frozenset[int] = frozenset()
FOUND = st.lists(st.frozensets(st.integers(0, 4), max_size=3), max_size=20)


def results(*held: int | None) -> list[frozenset[int]]:
    return [NOTHING if number is None else frozenset({number}) for number in held]


@pytest.mark.parametrize(
    ("found", "gold", "metric", "value"),
    [
        (results(None, 0), 1, "recall@1", 0.0),
        (results(None, 0), 1, "recall@5", 1.0),
        (results(None, 0), 1, "mrr", 1 / 2),
        (results(None, 0), 1, "ndcg@10", 1 / log2(3)),
        (results(*[None] * 10, 0), 1, "ndcg@10", 0.0),
        (results(*[None] * 10, 0), 1, "recall@20", 1.0),
        (results(0, None, 1), 2, "ndcg@10", (1 + 1 / log2(4)) / (1 + 1 / log2(3))),
        (results(0, None, None), 2, "ndcg@10", 1 / (1 + 1 / log2(3))),
        (results(0, None, None), 2, "all@10", 0.0),
        (results(0, None, 1), 2, "all@10", 1.0),
        ([frozenset({0, 1})], 2, "ndcg@10", 1.0),
    ],
)
def test_what_a_person_would_compute(found: list[frozenset[int]], gold: int, metric: str, value: float) -> None:
    assert ranking(found, gold)[metric] == pytest.approx(value)


def test_twins_earn_nothing() -> None:
    assert ranking(results(0, 0, 1), 2)["ndcg@10"] == ranking(results(0, None, 1), 2)["ndcg@10"]


def test_alternatives_found_later_do_no_harm() -> None:
    assert ranking(results(1, None, 0, 2), 1) == ranking(results(1), 1)


@given(FOUND, st.integers(1, 3))
def test_measures_are_shares_and_grow_with_the_cut(found: list[frozenset[int]], gold: int) -> None:
    worth = ranking(found, gold)
    assert all(0 <= value <= 1 for value in worth.values())
    assert worth["recall@1"] <= worth["recall@5"] <= worth["recall@10"] <= worth["recall@20"]
    assert ("all@10" in worth) == (gold > 1)
    assert worth.get("all@10", 0.0) <= worth["recall@10"]


def test_nothing_found_is_zero_everywhere() -> None:
    assert set(ranking([NOTHING] * 20, 1).values()) == {0.0}
    assert set(ranking([], 1).values()) == {0.0}


def test_p30_the_same_results_for_every_question_are_seen() -> None:
    same, other = frozenset({"a", "b"}), frozenset({"c", "d"})
    assert sameness([same, same, same]) == [1.0, 1.0, 1.0]
    assert sameness([same, same, other]) == [0.5, 0.5, 0.0]
    assert sameness([same]) == [0.0]
    assert sameness([frozenset(), same]) == [0.0, 0.0]


def test_intervals_hold_the_mean_and_repeat() -> None:
    cell = estimate([0.0, 1.0, 1.0, 1.0])
    assert cell.low < cell.value < cell.high
    assert cell == estimate([0.0, 1.0, 1.0, 1.0])
