"""What a model tells rightly and cites wrongly is cited by code; what nothing says is not."""

from __future__ import annotations

import pytest

from generate.passages import Passage
from generate.reply import Drafted, Supporting
from generate.verify import check
from tests.generate.material import hit

LEASE = "The NIXL connector ends a lease after 40 seconds without a heartbeat."
EVICTION = "Blocks are evicted in the order of their last use, because the pool is full."


def passage(text: str) -> Passage:
    found = hit(text, title=text[:12])
    return Passage(found, 0, len(text), "prose", "")


EVIDENCE = {"e1": passage(f"Leases matter. {LEASE}"), "e2": passage(f"{EVICTION} This does not change the output.")}


def checked(text: str, key: str, quote: str) -> tuple[bool, list[str], list[str]]:
    result = check(Drafted(text=text, support=(Supporting(id=key, quote=quote),)), EVIDENCE, "en")
    quotes = [one.quote for one in result.statement.passages] if result.statement else []
    return result.holds, [finding.rule for finding in result.findings], quotes


def test_a_quote_under_the_wrong_id_is_cited_where_it_stands() -> None:
    assert checked(LEASE, "e2", LEASE) == (True, ["misplaced-quote"], [LEASE])


def test_a_quote_that_was_copied_badly_gives_way_to_the_sentence_itself() -> None:
    text = "The NIXL connector ends a lease after 40 seconds."
    quote = "NIXL connector ends leases 40 seconds after the last heartbeat"
    assert checked(text, "e1", quote) == (True, ["quote-mended"], [LEASE])


def test_an_id_alone_is_enough_and_may_be_the_wrong_one() -> None:
    assert checked(LEASE, "e1", "") == (True, [], [LEASE])
    assert checked(LEASE, "e2", "") == (True, [], [LEASE])
    assert checked(LEASE, "e1", "https://evil.example/x") == (True, ["quote-mended"], [LEASE])


def test_a_claim_of_two_sentences_of_the_evidence_cites_both_as_one_quote() -> None:
    text = "Evicting blocks in the order of their last use, because the pool is full, does not change the output."
    assert checked(text, "e2", "") == (True, [], [f"{EVICTION} This does not change the output."])


TABLE = """| Tier | Holds | Capacity |
| --- | --- | --- |
| GPU memory | 400 active sessions | 1.18 TB |
| CPU memory | 480 warm sessions | 1.42 TB |
| NVMe | all 2000 sessions | 5.92 TB |
"""


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("The CPU memory holds 480 warm sessions with a capacity of 1.42 TB.", True),
        ("The GPU memory holds 400 active sessions in 1.18 TB, the CPU memory 480 warm sessions in 1.42 TB.", True),
        ("The GPU memory holds 400 active sessions and keeps copies of evicted blocks on disk.", False),
    ],
)
def test_rows_of_a_table_carry_what_they_say(text: str, holds: bool) -> None:
    check_ = check(Drafted(text=text, support=(Supporting(id="e3"),)), {"e3": passage(TABLE)}, "en")
    assert check_.holds == holds


def test_a_claim_in_the_other_language_is_found_by_names_and_numbers() -> None:
    holds, rules, quotes = checked("NIXL 的租约在 40 秒没有心跳后结束。", "e1", "")
    assert (rules, quotes) == (["wrong-language"], [LEASE])  # the question was English: all else holds
    assert not holds


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("The NIXL connector ends a lease after 90 seconds without a heartbeat.", "a lease ends after 90 seconds"),
        ("The NIXL connector renews every lease at each scheduler step.", "The NIXL connector renews a lease"),
        ("Leases of the connector are kept on disk for later.", ""),
        ("Blocks are not evicted in the order of their last use.", "Blocks are not evicted by their last use"),
    ],
)
def test_what_nothing_says_is_not_shown(text: str, quote: str) -> None:
    assert checked(text, "e1", quote)[0] is False
