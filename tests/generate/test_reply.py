from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generate.reply import Asked, ClaimStream, Drafted, parse, read, schema, schema_of
from kb.errors import GenerationFailed

CLAIM = '{"text": "A.", "support": [{"id": "e1", "quote": "a"}]}'


@pytest.mark.parametrize(
    "text",
    [
        f'{{"claims": [{CLAIM}]}}',
        f'```json\n{{"claims": [{CLAIM}]}}\n```',
        f'hm {{"claims": []}}\n</think>\n{{"claims": [{CLAIM}]}}',
        f'Here you are: {{"claims": [{CLAIM},]}} Bye.',
        f"[{CLAIM}]",
    ],
)
def test_a_reply_is_read_whatever_stands_around_it(text: str) -> None:
    (claim,) = parse(text).claims
    assert (claim.text, claim.support[0].id) == ("A.", "e1")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"claims": [{"txt": "A"}]}', "asked for: `claims.0.text` is missing"),
        ('{"claims": "A"}', "asked for: `claims` is not of the kind that was asked for"),
        ('{"claims": [}', "asked for: it breaks at character 12"),
        ("no", "asked for: no JSON in it"),
    ],
)
def test_what_does_not_fit_is_told_in_our_words(text: str, says: str) -> None:
    with pytest.raises(GenerationFailed) as failed:
        parse(text)
    assert failed.value.what.endswith(says)


def test_evidence_is_named_by_its_id_alone_or_with_words_of_it() -> None:
    (claim,) = parse('{"claims": [{"text": "A.", "support": ["e1", {"id": "e2", "quote": "a"}]}]}').claims
    assert [(one.id, one.quote) for one in claim.support] == [("e1", ""), ("e2", "a")]


def test_a_comma_inside_a_quote_stays() -> None:
    claim = json.dumps({"text": "A.", "support": [{"id": "e1", "quote": '{"a": 1, }'}]})
    assert parse(f'{{"claims": [{claim}]}}').claims[0].support[0].quote == '{"a": 1, }'


@pytest.mark.parametrize("text", ["", "I do not know.", '{"claims": [{"text": ', '{"claims": [{"txt": "A"}]}'])
def test_what_is_no_reply_is_an_error(text: str) -> None:
    with pytest.raises(GenerationFailed, match="not the JSON"):
        parse(text)


def test_the_schema_allows_the_given_ids_only() -> None:
    assert '"enum": ["e1", "e2"]' in json.dumps(schema(["e1", "e2"]))


# --- while it is being written ----------------------------------------------------------------------------------


def streamed(text: str, cuts: set[int]) -> tuple[list[Drafted], list[Drafted]]:
    """Claims that came while `text` was written, cut at `cuts`, and those that came at its end."""
    stream, early, start = ClaimStream(), [], 0
    for end in [*sorted(cut for cut in cuts if cut < len(text)), len(text)]:
        early += stream.feed(text[start:end])
        start = end
    return early, stream.close()


def test_a_claim_is_given_with_its_last_brace() -> None:
    stream = ClaimStream()
    assert stream.feed(f'{{"claims": [{CLAIM[:-1]}') == []
    assert [claim.text for claim in stream.feed("}")] == ["A."]
    assert stream.feed(f", {CLAIM}]}}") != []
    assert stream.close() == []


claims = st.lists(
    st.builds(
        lambda text, quote: {"text": text, "support": [{"id": "e1", "quote": quote}]},
        st.text(alphabet='ab{}[]",\\\n中 \u2028', max_size=12),
        st.text(alphabet='ab{}[]",\\\n中 \u2028', max_size=12),
    ),
    max_size=4,
)


@given(claims, st.booleans(), st.booleans(), st.sets(st.integers(0, 400), max_size=8))
def test_p46_a_reply_cut_anywhere_gives_the_same_claims(
    written: list[dict[str, object]], is_fenced: bool, is_list: bool, cuts: set[int]
) -> None:
    text = json.dumps(written if is_list else {"claims": written}, ensure_ascii=False)
    early, late = streamed(f"```json\n{text}\n```" if is_fenced else text, cuts)
    assert [claim.model_dump(mode="json") for claim in early] == written
    assert late == []


def test_a_reply_that_begins_with_something_else_is_read_at_its_end() -> None:
    early, late = streamed(f'I think {{"claims": [{CLAIM}]}}, no.</think>{{"claims": [{CLAIM}, {CLAIM}]}}', set())
    assert early == []
    assert len(late) == 2


def test_lists_beside_the_claims_are_no_claims() -> None:
    early, late = streamed(f'{{"rejected": [{CLAIM}], "claims": []}}', set())
    assert early == late == []


def test_claims_before_the_fault_were_given() -> None:
    stream = ClaimStream()
    assert len(stream.feed(f'{{"claims": [{CLAIM}, {{"txt": "B"}}, {CLAIM}]}}')) == 1
    with pytest.raises(GenerationFailed):
        stream.close()


class Named(Asked):
    titles: tuple[str, ...]


@pytest.mark.parametrize(
    "text",
    [
        '{"titles": ["A"]}',
        'hm {"titles": []}</think>Here: ```json\n{"titles": ["A",]}\n```',
        'As [asked]: {"titles": ["A"], "lang": "en"} Bye.',
    ],
)
def test_other_replies_are_read_as_tolerantly(text: str) -> None:
    assert read(text, Named).titles == ("A",)


@pytest.mark.parametrize("text", ["", "no JSON", '{"titles": [', '{"titles": "A"}', '["A"]'])
def test_what_is_no_such_reply_is_an_error(text: str) -> None:
    with pytest.raises(GenerationFailed, match="not the JSON"):
        read(text, Named)


def test_the_schema_of_a_reply_is_closed() -> None:
    asked = schema_of(Named)
    assert (asked["required"], asked["additionalProperties"]) == (["titles"], False)
