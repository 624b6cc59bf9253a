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


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("The NIXL connector ends a lease after 90 seconds without a heartbeat.", "a lease ends after 90 seconds"),
        ("The NIXL connector renews every lease at each scheduler step.", "The NIXL connector renews a lease"),
        (LEASE, "https://evil.example/x"),  # points at nothing
        (LEASE, ""),
        ("Blocks are not evicted in the order of their last use.", "Blocks are not evicted by their last use"),
    ],
)
def test_what_nothing_says_or_no_quote_points_at_is_not_shown(text: str, quote: str) -> None:
    assert checked(text, "e1", quote)[0] is False
