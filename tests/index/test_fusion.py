from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.embed import CROSS, DENSE
from index.fusion import FusionWeights, Leg, fuse
from index.points import LEXICAL
from index.store import Found
from tests.index.corpus import chunk, source

SOURCE = source()
WEIGHTS = FusionWeights(lexical=5.0, dense={DENSE: 1.0, CROSS: 1.0})


def leg(name: str, **scores: float) -> Leg:
    found = [Found(chunk(SOURCE, text), SOURCE, "r1", score) for text, score in scores.items()]
    return Leg(name, sorted(found, key=lambda one: -one.score))


def order(*legs: Leg, weights: FusionWeights = WEIGHTS) -> list[str]:
    return [one.found.chunk.text for one in fuse(legs, weights)]


def falling(prefix: str, count: int, top: float) -> dict[str, float]:
    return {f"{prefix}{number}": top - 0.01 * number for number in range(count)}


def test_p32_agreement_of_two_lists_beats_the_top_of_one() -> None:
    shared = {"both": 0.795}
    dense = leg(DENSE, **falling("a", 20, 0.8), **shared)
    cross = leg(CROSS, **falling("b", 20, 0.8), **shared)
    assert order(dense, cross)[0] == "both"


def test_p32_ties_are_broken_by_id() -> None:
    first = leg(LEXICAL, x=2.0, y=2.0, z=2.0)
    backwards = Leg(LEXICAL, list(reversed(first.found)))
    assert order(first) == order(backwards)


def test_a_chunk_between_two_that_fit_rises() -> None:
    one, two, three, far = (chunk(SOURCE, text, order) for order, text in enumerate(("one", "two", "three", "far")))
    two = two.model_copy(update={"previous_id": one.id, "next_id": three.id})
    found = [Found(of, SOURCE, "r1", score) for of, score in ((one, 9.0), (three, 8.0), (far, 5.0), (two, 4.8))]
    assert [item.found.chunk.text for item in fuse([Leg(LEXICAL, found)], WEIGHTS)] == ["one", "two", "three", "far"]


def test_each_language_is_measured_by_its_own_yardstick() -> None:
    """Cosines of the other language lie lower as a whole; its best still stands beside the best of the first."""
    zh = leg(DENSE, **falling("zh", 30, 0.9))
    en = leg(DENSE, **falling("en", 30, 0.4))
    assert set(order(zh, en)[:4]) == {"zh0", "en0", "zh1", "en1"}


def test_a_language_with_a_single_chunk_is_not_buried_and_not_raised() -> None:
    zh = leg(DENSE, **falling("zh", 30, 0.9))
    assert order(zh, leg(DENSE, good=0.9))[:2] in (["good", "zh0"], ["zh0", "good"])
    assert order(zh, leg(DENSE, bad=0.61))[0] == "zh0"


def test_lexical_scores_compare_across_languages() -> None:
    assert order(leg(LEXICAL, zh=12.0, other=3.0), leg(LEXICAL, en=6.0)) == ["zh", "en", "other"]


def test_raw_scores_and_places_are_kept() -> None:
    fused = {one.found.chunk.text: one for one in fuse([leg(LEXICAL, a=3.0, b=2.0), leg(DENSE, b=0.8)], WEIGHTS)}
    assert list(fused["b"].places) == [(LEXICAL, 2, 2.0), (DENSE, 1, 0.8)]


@pytest.mark.parametrize("legs", [[], [leg(DENSE)], [leg(LEXICAL), leg(DENSE)], [leg(LEXICAL, a=0.0)]])
def test_empty_and_zero_lists_are_no_error(legs: list[Leg]) -> None:
    assert all(one.score == 0 for one in fuse(legs, WEIGHTS))


@given(st.dictionaries(st.sampled_from("abcdefghij"), st.floats(0, 1, width=16), max_size=10), st.floats(0.1, 10))
def test_the_scale_of_a_list_does_not_matter(scores: dict[str, float], factor: float) -> None:
    plain = fuse([leg(LEXICAL, **scores)], WEIGHTS)
    scaled = fuse([leg(LEXICAL, **{name: factor * score for name, score in scores.items()})], WEIGHTS)
    assert {one.found.chunk.text: round(one.score, 6) for one in plain} == {
        one.found.chunk.text: round(one.score, 6) for one in scaled
    }


@given(st.dictionaries(st.sampled_from("abcdefghijklmno"), st.floats(-1, 1, width=16), max_size=15))
def test_one_list_alone_keeps_its_order(scores: dict[str, float]) -> None:
    fused = fuse([leg(DENSE, **scores)], WEIGHTS)
    raw = [scores[one.found.chunk.text] for one in fused]
    assert raw == sorted(raw, reverse=True) or len({round(one.score, 9) for one in fused}) < len(raw)
