"""What follows the sentences of a model: what its reader would miss, and nothing else."""

from __future__ import annotations

import pytest

from generate.complement import lead, remaining
from generate.passages import Passage
from kb.types import Claim
from tests.generate.material import hit

ROW = "The default of `eviction_policy` is `lru`, with 64 blocks."
PLAIN = "Blocks leave the pool in the order of their last use."
OTHER = "The scheduler is asked once in each step."


def passage(text: str) -> Passage:
    return Passage(hit(text, title=text[:9]), 0, len(text), "prose")


def missed(said: str, *, cited: str = "", quotes: tuple[str, ...] = (ROW,), things: int = 1) -> list[str]:
    claims = [Claim(text=said, citations=(1,))] if said else []
    found = remaining([passage(one) for one in quotes], claims, [passage(cited)] if cited else [], things)
    return [one.quote for one in found]


@pytest.mark.parametrize(
    ("said", "cited", "is_missed"),
    [
        ("By default `eviction_policy` is `lru`, and it holds 64 blocks.", "", False),
        ("By default `eviction_policy` is `lru`.", ROW, True),  # 64 is not said
        ("There are 64 blocks.", ROW, True),  # the names are not said
    ],
)
def test_a_quote_is_missed_for_its_figures_and_names(said: str, cited: str, is_missed: bool) -> None:
    assert missed(said, cited=cited) == [ROW] * is_missed


@pytest.mark.parametrize(
    ("said", "cited", "is_missed"),
    [
        ("The pool drops what nobody used for longest.", PLAIN, False),  # it is cited
        ("Blocks leave the pool in the order of their use.", "", False),  # it is said
        ("The pool drops what nobody used for longest.", "", True),
    ],
)
def test_a_quote_without_any_is_missed_where_nothing_cites_or_says_it(said: str, cited: str, is_missed: bool) -> None:
    assert missed(said, cited=cited, quotes=(PLAIN,)) == [PLAIN] * is_missed


def test_only_as_many_quotes_are_looked_at_as_things_are_asked() -> None:
    said = "Blocks leave the pool in the order of their last use."
    assert missed(said, cited=PLAIN, quotes=(PLAIN, ROW)) == []
    assert missed(said, cited=PLAIN, quotes=(PLAIN, ROW), things=2) == [ROW]


def test_where_the_model_speaks_of_something_else_all_quotes_follow() -> None:
    assert missed("Something else entirely.", quotes=(ROW, PLAIN, OTHER)) == [ROW, PLAIN, OTHER]


def test_without_a_sentence_all_quotes_stand_and_the_line_above_says_why() -> None:
    assert missed("", quotes=(ROW, PLAIN)) == [ROW, PLAIN]
    leads = {lead("en", [], is_declined=declined) for declined in (True, False)}
    leads.add(lead("en", [Claim(text="A.", citations=(1,))], is_declined=False))
    assert len(leads) == 3
    assert lead("zh", [], is_declined=True) != lead("en", [], is_declined=True)
