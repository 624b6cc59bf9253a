from __future__ import annotations

from dataclasses import replace

import pytest

from generate.refuse import Calibration, packaged
from generate.strength import SIGNALS, Signals, Strength

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
        Calibration({"wide": 1.0}, 0.0, 0.5, 0.1)
    assert set(packaged().weights) == set(SIGNALS)
