from __future__ import annotations

import json

import pytest

from generate.reply import parse, schema
from kb.errors import GenerationFailed

CLAIM = '{"text": "A.", "support": [{"id": "e1", "quote": "a"}]}'


@pytest.mark.parametrize(
    "text",
    [
        f'{{"claims": [{CLAIM}]}}',
        f'```json\n{{"claims": [{CLAIM}]}}\n```',
        f'<think>[1] {{hm}}</think>\n{{"claims": [{CLAIM}]}}',
        f'Here you are: {{"claims": [{CLAIM},]}} Bye.',
        f"[{CLAIM}]",
    ],
)
def test_a_reply_is_read_whatever_stands_around_it(text: str) -> None:
    (claim,) = parse(text).claims
    assert (claim.text, claim.support[0].id) == ("A.", "e1")


@pytest.mark.parametrize("text", ["", "I do not know.", '{"claims": [{"text": ', '{"claims": [{"txt": "A"}]}'])
def test_what_is_no_reply_is_an_error(text: str) -> None:
    with pytest.raises(GenerationFailed, match="not the JSON"):
        parse(text)


def test_the_schema_allows_the_given_ids_only() -> None:
    assert '"enum": ["e1", "e2"]' in json.dumps(schema(["e1", "e2"]))
