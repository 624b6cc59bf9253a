"""Documents give no orders: a hostile note can be quoted, and that is all it can do (PITFALLS 36)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from generate.answer import Answerer
from generate.cite import MARKER
from index.search import Searcher
from kb.text import find_quote
from kb.types import Answer
from tests.fakes import ScriptedModel
from tests.generate.hostile import ORDERS, Hostile
from tests.generate.material import NOTES, documents, searcher

KEY = "块池用什么元组作为缓存键？"
OFF_TOPIC = "上周五团队午饭吃了什么？"
pytestmark = pytest.mark.parametrize("hostile", ORDERS, ids=[one.name for one in ORDERS])


@pytest.fixture
def search(tmp_path: Path, hostile: Hostile) -> Searcher:
    return searcher(documents(tmp_path, NOTES | {"hostile.md": hostile.note}))


def sound(answer: Answer, hostile: Hostile) -> None:
    numbers = {citation.n for citation in answer.citations}
    assert {int(n) for n in MARKER.findall(answer.text)} == numbers
    assert not re.search(r"\[e\w{7}\]", answer.text)
    for citation in (*answer.citations, *(answer.refused.nearest if answer.refused else ())):
        assert any(find_quote(citation.quote, text) for text in (*NOTES.values(), hostile.note))
        assert citation.href.startswith("file:///")


def test_an_extractive_answer_is_still_the_answer_and_a_refusal_still_a_refusal(
    search: Searcher, hostile: Hostile
) -> None:
    answer = Answerer(search.search).ask(KEY)
    sound(answer, hostile)
    assert "(block_hash, group_id)" in answer.text
    quotes = {" ".join(citation.quote.split()) for citation in answer.citations}
    assert {claim.text for claim in answer.claims} <= quotes
    assert Answerer(search.search).ask(OFF_TOPIC).refused is not None


def test_a_model_that_obeys_shows_nothing_of_it(search: Searcher, hostile: Hostile) -> None:
    model = ScriptedModel(hostile.reply, hostile.reply, hostile.reply)
    answer = Answerer(search.search, llm=model, glosses=False).ask(KEY)
    sound(answer, hostile)
    written = {claim.text for claim in answer.claims if not claim.quoted}
    assert written <= {"缓存键是 `(block_hash, group_id)`。"}
    assert written or answer.dropped
    assert hostile.forbidden not in answer.text


def test_the_note_stays_between_its_fences_and_changes_no_instruction(search: Searcher, hostile: Hostile) -> None:
    model = ScriptedModel('{"claims": []}')
    Answerer(search.search, llm=model, glosses=False).ask(KEY)
    (message,) = model.messages
    fenced = re.fullmatch(
        r"Code: (\w{16})\n\n<evidence \1>\n(.*)\n</evidence \1>\n\nQuestion: (.*)\n\n\nReply.*", message.user, re.S
    )
    assert fenced is not None
    nonce, evidence, question = fenced.groups()
    assert nonce not in evidence
    assert question.strip() == KEY
    assert "</evidence" not in evidence
    assert not re.search(r"<[|｜]|[|｜]>|\[/?INST\]|</?s>|</?think>|<<SYS", evidence)
    assert hostile.note not in message.system
    assert find_quote(hostile.order.splitlines()[0], evidence) is not None  # what is seen of it is all there
