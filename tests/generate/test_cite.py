from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from generate.cite import MARKER, Statement, number
from generate.passages import passages
from tests.generate.material import hit

POOL = passages([hit(f"Sentence {n} of the note.", title=f"Note {n}") for n in range(6)])

statements = st.lists(
    st.builds(
        Statement,
        st.text(alphabet="ab [](){}1234567890中`x\\\n", min_size=1, max_size=30),
        st.lists(st.sampled_from(POOL), max_size=4).map(tuple),
    ),
    max_size=6,
)


@given(statements)
def test_part2_01_every_marker_resolves_and_numbers_run_by_first_use(given_statements: list[Statement]) -> None:
    numbered = number(given_statements)
    used = [int(n) for n in MARKER.findall(numbered.text)]
    first_uses = list(dict.fromkeys(used))
    assert first_uses == list(range(1, len(numbered.citations) + 1))
    assert [citation.n for citation in numbered.citations] == first_uses


@given(statements)
def test_part2_04_a_passage_cited_twice_keeps_one_number(given_statements: list[Statement]) -> None:
    numbered = number(given_statements)
    ids = [citation.evidence_id for citation in numbered.citations]
    assert len(ids) == len(set(ids))
    by_number = {citation.n: citation.evidence_id for citation in numbered.citations}
    for statement, claim in zip(given_statements, numbered.claims, strict=True):
        assert {by_number[n] for n in claim.citations} == {passage.id for passage in statement.passages}


@given(statements)
def test_part2_16_claims_keep_their_text_whatever_it_holds(given_statements: list[Statement]) -> None:
    assert [claim.text for claim in number(given_statements).claims] == [one.text for one in given_statements]


def test_a_quoted_reference_is_no_marker_of_ours() -> None:
    numbered = number([Statement("As shown in [12].", (POOL[0],))])
    assert numbered.text == "As shown in ［12］. [1]"
    assert numbered.claims[0].text == "As shown in [12]."


def test_a_citation_carries_place_link_and_version() -> None:
    passage = passages([hit("Line one.\nLine two is longer.", version="0.33.0")])[0]
    citation = number([Statement("x", (passage,))]).citations[0]
    assert str(citation.locator) == "M:#L1-2"
    assert citation.href == "file:///Note.md"
    assert citation.version == "0.33.0"
    assert citation.quote == "Line one."
