from __future__ import annotations

import pytest

from generate.extract import read
from generate.passages import passages
from generate.question import analyse
from generate.refuse import Calibration, Strength, measure
from generate.select import select
from index.embed import CROSS
from kb.types import Rank
from tests.generate.material import hit

TEXT = "`max_num_batched_tokens` caps the tokens of one step; pass --kv-cache-dtype fp8 to halve the cache to 30 GB."


def strength(question: str, *, mentioned: bool = True) -> Strength:
    hits = [hit(TEXT, title="Tuning")]
    reading = read(analyse(question), passages(hits), hits)
    return measure(reading, select(reading), lambda word: mentioned)


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("What does max_num_batched_tokens cap?", ()),
        ("What does `--max-num-batched-tokens` cap?", ()),
        ("What does kv_cache_dtype do?", ()),
        ("What does max_num_tokens cap?", ("max_num_tokens",)),
        ("What does max_num_batched cap?", ("max_num_batched",)),
        ("--kv-cache 参数默认值是什么？", ("--kv-cache",)),
    ],
)
def test_a_flag_counts_only_in_full(question: str, missing: tuple[str, ...]) -> None:
    measured = strength(question)
    assert measured.missing_flags == missing
    assert (measured.probability(Calibration()) == 0.0) == bool(missing)


def test_what_is_missing_is_named_as_the_question_spells_it() -> None:
    assert strength("How does the Zorblax-9 cap tokens?", mentioned=False).missing[0].startswith("Zorblax")


def test_a_number_with_the_wrong_unit_does_not_answer() -> None:
    assert strength("How many watts does the cache take?").unit == 0.0
    assert strength("The cache is how many GB?").unit == 1.0
    assert strength("缓存占多少毫秒？").unit == 0.0


def test_more_evidence_never_lowers_the_probability() -> None:
    weak = Strength(0.2, 0.2, 0.5, 1.0, 0.5, 0.4, 0.0, 0.0, (), ())
    strong = Strength(0.9, 0.9, 1.0, 1.0, 1.0, 0.4, 0.0, 0.0, (), ())
    absent = Strength(0.9, 0.9, 1.0, 1.0, 1.0, 0.4, 0.3, 0.3, (), ())
    foreign = Strength(0.9, 0.9, 1.0, 1.0, 1.0, 0.1, 0.0, 0.0, (), ())
    calibration = Calibration()
    assert foreign.probability(calibration) == 0.0
    assert max(absent.probability(calibration), weak.probability(calibration)) < strong.probability(calibration)


def test_a_term_of_the_field_in_the_quotes_shows_that_the_question_is_of_the_field() -> None:
    def meaning(question: str) -> float:
        found = hit(TEXT, title="Tuning")
        far = found.model_copy(update={"ranks": (Rank(list=CROSS, rank=1, score=0.1),)})
        reading = read(analyse(question), passages([far]), [far])
        return measure(reading, select(reading), lambda word: True).meaning

    assert meaning("What caps tokens?") > Calibration().least_meaning
    assert meaning("Who caps a step?") == 0.1


def test_agreement_is_the_share_of_lists_that_put_the_best_chunk_first() -> None:
    def agreement(*places: int) -> float:
        ranks = tuple(Rank(list=str(number), rank=place, score=1.0) for number, place in enumerate(places))
        found = hit(TEXT, title="Tuning").model_copy(update={"ranks": ranks})
        reading = read(analyse("What caps tokens?"), passages([found]), [found])
        return measure(reading, select(reading), lambda word: True).agreement

    assert agreement(1, 2, 5) == 1.0
    assert agreement(1, 6, 40, 3) == 0.5


def test_the_default_of_something_that_nothing_names_is_refused() -> None:
    measured = strength("What is the default of the Zorblax?")
    assert measured.own == 0.0
    assert measured.probability(Calibration()) == 0.0
