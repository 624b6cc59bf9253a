from __future__ import annotations

import random

import pytest

from eval.calibrate import FALSE_REFUSALS, FEWEST, Example, TooFew, calibrate, judged


def examples(count: int = 60, *, apart: float = 4.0, hopeless: bool = False) -> list[Example]:
    """Two signals: the first tells the sorts `apart`, the second is noise."""
    chance = random.Random(1)
    return [
        Example(
            f"c{number}",
            (chance.gauss(apart * (number % 2), 1.0), chance.gauss(0.0, 1.0)),
            answerable=bool(number % 2),
            is_hopeless=hopeless and not number % 2,
        )
        for number in range(count)
    ]


def test_a_signal_that_tells_is_found_and_noise_weighs_little() -> None:
    line = calibrate(examples())
    assert line.weights[0] > 5 * abs(line.weights[1])
    assert line.refused > 0.9
    assert line.false_refusal <= 0.15
    assert 0 < line.threshold_generated <= line.threshold <= line.threshold_declined < 1


def test_noise_refuses_hardly_more_than_is_allowed() -> None:
    line = calibrate(examples(400, apart=0.0))
    assert abs(line.false_refusal - FALSE_REFUSALS) < 0.06
    assert line.refused < 0.2


def test_what_is_hopeless_is_refused_whatever_the_line() -> None:
    made = examples(apart=0.0, hopeless=True)
    refused = judged(made)
    assert all(refused[number] for number, example in enumerate(made) if example.is_hopeless)


def test_the_same_examples_give_the_same_line() -> None:
    assert calibrate(examples()) == calibrate(examples())


def test_too_few_draw_no_line() -> None:
    few = [example for example in examples() if example.answerable] + examples()[: 2 * FEWEST - 2]
    with pytest.raises(TooFew):
        calibrate(few)
