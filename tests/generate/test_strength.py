from __future__ import annotations

import pytest

from generate.extract import read
from generate.passages import passages
from generate.question import analyse
from generate.select import select
from generate.strength import Strength, measure
from kb.types import Hit
from tests.generate.material import hit

TEXT = "`max_num_batched_tokens` caps the tokens of one step; pass --kv-cache-dtype fp8 to halve the cache to 30 GB."


def strength(question: str, *hits: Hit, mentioned: bool = True) -> Strength:
    found = hits or (hit(TEXT, title="Tuning"),)
    reading = read(analyse(question), passages(found), found)
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
    assert measured.is_hopeless == bool(missing)


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("What did version 1.5 of the service change?", ("1.5",)),
        ("What did version 2.0 of the service change?", ()),
        ("What changed in v2.0.0 of the service?", ()),
        ("服务 3.0 把缓存换成了什么？", ("3.0",)),
        ("What happens at a utilization of 0.95?", ()),  # a number, not a version
        ("What does the service of 1.0 have that the text speaks of?", ()),
    ],
)
def test_a_version_that_no_hit_is_of_or_speaks_of_is_missing(question: str, missing: tuple[str, ...]) -> None:
    measured = strength(question, hit("The service changed its cache since 1.0.", title="Service", version="2.0"))
    assert measured.missing_versions == missing


def test_what_is_missing_is_named_as_the_question_spells_it() -> None:
    assert strength("How does the Zorblax-9 cap tokens?", mentioned=False).missing[0].startswith("Zorblax")


@pytest.mark.parametrize("question", ["Why is ρ in it?", "What does the pre step cap?", "哪些 tokens 的意思？"])
def test_letters_fragments_and_words_of_asking_tell_nothing_by_their_absence(question: str) -> None:
    assert strength(question, mentioned=False).signals.absent_words == 0.0


def test_a_slip_of_the_pen_is_no_word_that_is_missing() -> None:
    found = hit("The optimization level is 2 by default; the budget is small.", title="Levels")
    assert strength("which optimization levle and which budged?", found, mentioned=False).missing == ()


def test_the_default_of_something_that_nothing_names_is_hopeless() -> None:
    measured = strength("What is the default of the Zorblax?")
    assert not measured.is_named
    assert measured.is_hopeless


def test_names_stand_together_only_in_one_chunk() -> None:
    apart = hit("Mooncake raises throughput by 75 %.", title="a"), hit("FLy runs on MI300X, too.", title="b")
    together = (hit("Mooncake raises throughput by 75 % on MI300X.", title="c"),)
    question = "By how much does Mooncake raise throughput on MI300X?"
    assert strength(question, *apart).signals.together == 0.0
    assert strength(question, *together).signals.together == 1.0


def test_a_passage_that_cannot_hold_the_answer_does_not_cover_the_question() -> None:
    """The words are all there, the number is not."""
    question = "How many engineers maintain the router?"
    without = strength(question, hit("The engineers who maintain the router meet often."))
    with_number = strength(question, hit("The router is maintained by 12 engineers."))
    assert without.signals.filled == 0.0
    assert with_number.signals.filled == 1.0
    assert without.signals.lacking > with_number.signals.lacking


def test_what_notes_seldom_tell_counts_where_no_quote_tells_it() -> None:
    question = "Who maintains the router, and what does it cost per month?"
    assert strength(question, hit("The router is maintained with care.")).signals.unfilled == 1.0
    told = hit("The router is maintained by Lin Wei, and it costs $20 per month.")
    assert strength(question, told).signals.unfilled == 0.0
