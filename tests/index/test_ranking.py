from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index import ranking
from index.points import LEXICAL
from index.ranking import PointId, Ranked, Ranking
from index.store import Found, Request, Sparse
from kb.types import Filters
from tests.index.corpus import chunk, source

NOTE = source("note.md")
CHUNKS = sorted((chunk(NOTE, f"line {n}", n) for n in range(40)), key=lambda one: one.id)


@dataclass
class Engine:
    """Points by id, with one score each; orders ties by id."""

    scores: dict[PointId, float]
    revision: str = "r1"
    asked: list[list[int]] = field(default_factory=list)
    read: list[set[PointId]] = field(default_factory=list)

    def rank(self, requests: Sequence[Request]) -> list[list[Ranked]]:
        self.asked.append([request.limit for request in requests])
        best = sorted((Ranked(score, point) for point, score in self.scores.items()), key=lambda hit: -hit.score)
        return [best[: request.limit] for request in requests]

    def fetch(self, points: Sequence[PointId]) -> Mapping[PointId, Found]:
        self.read.append(set(points))
        return {at: Found(CHUNKS[int(str(at))], NOTE, self.revision, 0.0) for at in points if at in self.scores}


def requests(*limits: int) -> list[Request]:
    return [Request(LEXICAL, Sparse((1,), (1.0,)), Filters(), limit) for limit in limits]


@given(st.lists(st.sampled_from([0.3, 0.3000001, 0.2, 0.1]), max_size=40), st.lists(st.integers(1, 45), max_size=4))
def test_each_list_is_the_best_of_its_engine_with_ties_by_chunk(scores: list[float], limits: list[int]) -> None:
    engine = Engine(dict(enumerate(scores)))
    expected = sorted((-round(score, 5), CHUNKS[at].id) for at, score in enumerate(scores))
    found = Ranking(engine.rank, engine.fetch).search_batch(requests(*limits))
    assert [[(-hit.score, hit.chunk.id) for hit in hits] for hits in found] == [expected[:limit] for limit in limits]


def test_only_lists_that_are_cut_in_a_tie_are_asked_again() -> None:
    engine = Engine(dict(enumerate([3.0, 2.0] + [1.0] * 30)))
    Ranking(engine.rank, engine.fetch).search_batch(requests(1, 3))
    assert engine.asked == [[9, 11], [44]]


def test_only_what_may_be_shown_is_read() -> None:
    engine = Engine({0: 4.0, 1: 3.0, 2: 3.0, 3: 2.0, 4: 1.0})
    Ranking(engine.rank, engine.fetch).search_batch(requests(2, 1))
    assert engine.read == [{0, 1, 2}]


def test_what_a_point_holds_is_read_once_for_all_lists_and_searches() -> None:
    engine = Engine({0: 2.0, 1: 1.0})
    searched = Ranking(engine.rank, engine.fetch)
    for _ in range(3):
        searched.search_batch(requests(5, 5, 5))
    assert engine.read == [{0, 1}]
    engine.scores[2] = 3.0
    searched.search_batch(requests(5))
    assert engine.read == [{0, 1}, {2}]


def test_what_was_written_since_is_read_anew() -> None:
    engine = Engine({0: 2.0})
    searched = Ranking(engine.rank, engine.fetch)
    searched.search_batch(requests(1))
    engine.revision = "r2"
    searched.forget()
    assert searched.search_batch(requests(1))[0][0].revision == "r2"


def test_a_search_under_way_while_points_are_written_leaves_nothing_old_behind() -> None:
    engine = Engine({0: 2.0})

    def fetch(points: Sequence[PointId]) -> Mapping[PointId, Found]:
        before = engine.fetch(points)
        if engine.revision == "r1":
            engine.revision = "r2"
            searched.forget()
        return before

    searched = Ranking(engine.rank, fetch)
    assert [searched.search_batch(requests(1))[0][0].revision for _ in range(2)] == ["r1", "r2"]


def test_points_that_are_replaced_between_ranking_and_reading_are_ranked_again() -> None:
    engine = Engine({0: 2.0, 1: 1.0})

    def fetch(points: Sequence[PointId]) -> Mapping[PointId, Found]:
        if 0 in engine.scores:
            engine.scores = {1: 1.0, 2: 2.0}
        return engine.fetch(points)

    found = Ranking(engine.rank, fetch).search_batch(requests(5))
    assert [hit.chunk for hit in found[0]] == [CHUNKS[2], CHUNKS[1]]


def test_a_point_that_is_ranked_but_never_readable_is_left_out() -> None:
    engine = Engine({0: 2.0, 1: 1.0})
    found = Ranking(engine.rank, lambda points: engine.fetch([at for at in points if at != 0])).search_batch(
        requests(5)
    )
    assert [hit.chunk for hit in found[0]] == [CHUNKS[1]]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "_REMEMBERED", 4)
    engine = Engine({at: float(at) for at in range(6)})
    searched = Ranking(engine.rank, engine.fetch)
    for limit in (2, 6, 6):
        assert len(searched.search_batch(requests(limit))[0]) == limit
    assert [len(points) for points in engine.read] == [2, 4, 6]
