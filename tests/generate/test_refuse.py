from __future__ import annotations

from dataclasses import replace

import pytest

from generate.extract import Scored
from generate.passages import Passage
from generate.refuse import Calibration, packaged, unrepeated
from generate.strength import SIGNALS, Signals, Strength
from tests.generate.material import hit

STRONG = Strength(Signals(0.9, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 6.0), is_named=True)


def probability(**changed: float) -> float:
    return packaged().probability(replace(STRONG, signals=replace(STRONG.signals, **changed)))


@pytest.mark.parametrize(
    "weaker",
    [
        {"wide": 0.2}, {"lacking": 4.0}, {"together": 0.0}, {"filled": 0.0}, {"unfilled": 1.0}, {"absent_names": 0.3},
        {"absent_words": 0.3}, {"agreement": 0.3},
    ],
)  # fmt: skip
def test_weaker_evidence_lowers_the_probability(weaker: dict[str, float]) -> None:
    assert probability(**weaker) < probability()


def test_strong_evidence_is_answered_and_hopeless_evidence_is_not() -> None:
    assert probability() > packaged().threshold > packaged().threshold_generated
    for hopeless in ({"missing_flags": ("--x",)}, {"missing_versions": ("1.5",)}, {"is_named": False}):
        assert packaged().probability(replace(STRONG, **hopeless)) == 0.0


def test_a_calibration_of_other_signals_is_an_error() -> None:
    with pytest.raises(ValueError, match="lacking"):
        Calibration({"wide": 1.0}, 0.0, 0.5, 0.1, 0.8)
    assert set(packaged().weights) == set(SIGNALS)


def scored(*quotes: str) -> list[Scored]:
    return [Scored(p, 1.0, frozenset(), frozenset(), frozenset()) for p in (_passage(quote) for quote in quotes)]


def _passage(quote: str) -> Passage:
    return Passage(hit(quote), 0, len(quote), "prose")


FIRST, SECOND = "The pool keeps free blocks in a list.", "A block is evicted when no request holds it."
THIRD = "Blocks of a prefix are shared."


@pytest.mark.parametrize(
    ("ranked", "kept"),
    [
        ((FIRST, SECOND, THIRD), (FIRST, SECOND, THIRD)),
        ((FIRST, f"- {FIRST}", SECOND), (f"- {FIRST}", SECOND)),  # the same, as an item
        ((f"{FIRST} {SECOND}", FIRST, THIRD, SECOND), (f"{FIRST} {SECOND}", THIRD)),
        ((FIRST, THIRD, f"{FIRST} {SECOND}", SECOND), (f"{FIRST} {SECOND}", THIRD)),
        ((FIRST, SECOND, THIRD, f"{FIRST} {SECOND}"), (f"{FIRST} {SECOND}", THIRD)),  # the whole, for both halves
        ((f"{FIRST} {SECOND}", f"{SECOND} {THIRD}"), (f"{FIRST} {SECOND}",)),  # chunks that overlap
        (("块池有空闲块。没用的块会被逐出。", "没用的块会被逐出。"), ("块池有空闲块。没用的块会被逐出。",)),
        (("Note: yes. " + FIRST, "Note: yes. " + SECOND), ("Note: yes. " + FIRST, "Note: yes. " + SECOND)),
    ],
)  # fmt: skip
def test_the_nearest_evidence_says_nothing_twice(ranked: tuple[str, ...], kept: tuple[str, ...]) -> None:
    assert tuple(one.passage.quote for one in unrepeated(scored(*ranked))) == kept


def test_no_more_than_three_are_nearest() -> None:
    assert len(unrepeated(scored(*(f"Sentence number {n} says something." for n in range(9))))) == 3
