from __future__ import annotations

import json

import pytest

from generate.answer import Answerer
from generate.cite import cite
from generate.gloss import Glossed, gloss
from generate.llm import Meter
from generate.passages import Passage
from index.search import Searcher
from kb.errors import GenerationFailed
from kb.types import CitationEvent, Lang
from tests.fakes import ScriptedModel
from tests.generate.material import citing, documents, hit, searcher

QUOTE = "The default of `max_num_batched_tokens` is 8192 tokens."
GOOD = "`max_num_batched_tokens` 的默认值是 8192 个 token。"


def glossed(reply: str | Exception, *, quote: str = QUOTE, lang: Lang = "zh") -> Glossed:
    citation = cite(Passage(hit(quote), 0, len(quote), "prose"), 1)
    return gloss(ScriptedModel(reply), [citation], lang, Meter())


def written(text: str, n: int = 1) -> str:
    return json.dumps({"glosses": [{"n": n, "text": text}]}, ensure_ascii=False)


def test_a_quote_in_the_other_language_gets_a_translation_and_stays_as_it_is() -> None:
    (citation,) = glossed(written(GOOD)).citations
    assert (citation.quote, citation.gloss) == (QUOTE, GOOD)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (written("`max_num_batched_tokens` 的默认值是 4096 个 token。"), "4096"),
        (written("`max_num_batched_tokens` 有默认值。"), "8192"),
        (written("`max_num_seqs` 的默认值是 8192 个 token。"), "max_num_seqs"),
        (written("默认值是 8192 个 token。"), "max_num_batched_tokens"),
        (written("The default of `max_num_batched_tokens` is 8192 tokens."), "wrong language"),
        (written("`max_num_batched_tokens` 默认 8192 个 token ![x](http://evil.example)"), "markup"),
        (written(GOOD, n=7), "none"),
        ("no JSON", "not the JSON"),
        (GenerationFailed("down"), "down"),
    ],
)
def test_a_translation_that_does_not_hold_is_dropped_and_counted(reply: str | Exception, says: str) -> None:
    result = glossed(reply)
    assert result.citations == ()
    assert [one.where for one in result.dropped] == ["gloss"]
    assert says in result.dropped[0].reason


def test_a_translation_holds_no_character_that_is_not_seen() -> None:
    (citation,) = glossed(written(GOOD.replace("默认", "\u202e默\u200b认\u2066"))).citations
    assert citation.gloss == GOOD


def test_a_quote_in_the_questions_language_needs_none() -> None:
    assert gloss(ScriptedModel(), [cite(Passage(hit(QUOTE), 0, len(QUOTE), "prose"), 1)], "en", Meter()) == Glossed(
        (), ()
    )


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return searcher(documents(tmp_path_factory.mktemp("notes")))


def test_an_answer_brings_its_glosses_last(search: Searcher) -> None:
    claim = ("max_num_batched_tokens 的默认值是 8192 tokens。", "The default value is 8192 tokens.")
    model = ScriptedModel(citing(claim), written("默认值是 8192 个 token。"))
    events = list(Answerer(search.search, llm=model).stream("max_num_batched_tokens 的默认值是多少？"))
    kinds = ["gloss" if isinstance(one, CitationEvent) and one.citation.gloss else one.event for one in events]
    assert kinds[0] == "evidence"
    assert kinds.index("gloss") > max(at for at, kind in enumerate(kinds) if kind == "sentence")
    assert set(kinds[kinds.index("gloss") :]) <= {"gloss", "dropped", "done"}
    done = events[-1]
    assert done.event == "done"
    first = done.answer.citations[0]
    assert (first.n, first.quote, first.gloss) == (1, claim[1], "默认值是 8192 个 token。")
