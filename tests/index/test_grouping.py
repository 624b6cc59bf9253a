"""Vectors that are near on average make a group."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from index import grouping
from index.grouping import group


def at(*degrees: float) -> NDArray[np.float32]:
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_near_ones_meet_and_far_ones_do_not() -> None:
    assert group(at(0, 90, 5, 93, 180), 0.9) == [[0, 2], [1, 3], [4]]


def test_a_chain_is_no_group() -> None:
    """By the average, the ends of a chain count; a single link would join all of it."""
    assert len(group(at(0, 20, 40, 60, 80, 100), 0.9)) > 1


@given(st.lists(st.integers(0, 359), min_size=1, max_size=12), st.floats(-1, 1))
def test_every_row_is_in_one_group_and_the_result_is_the_same_again(degrees: list[int], least: float) -> None:
    groups = group(at(*degrees), least)
    assert sorted(row for rows in groups for row in rows) == list(range(len(degrees)))
    assert groups == sorted(map(sorted, groups))
    assert group(at(*degrees), least) == groups


def test_rows_beyond_the_most_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "MOST", 3)
    assert group(at(0, 90, 5, 1, 91), 0.9) == [[0, 2], [1], [3], [4]]


def test_thousands_take_seconds() -> None:
    rows = np.random.default_rng(0).normal(size=(2500, 64)).astype(np.float32)
    started = time.process_time()
    assert len(group(rows / np.linalg.norm(rows, axis=1, keepdims=True), 0.55)) > 1
    assert time.process_time() - started < 10
