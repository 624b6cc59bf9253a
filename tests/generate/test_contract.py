"""The grounding contract against a server that misbehaves: whatever comes over the wire, what is shown holds."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest
import tenacity

from generate.answer import Answerer
from generate.cite import MARKER
from generate.endpoint import ChatModel, connect
from generate.verify import is_plain
from index.search import Searcher
from kb.errors import GenerationFailed, Truncated
from kb.settings import LLMSettings
from kb.text import find_quote
from kb.types import Answer, AnswerEvent
from tests.generate.material import NOTES, documents, searcher
from tests.generate.openai_server import Content, Reply, Script, serving

pytestmark = pytest.mark.server

KEY = "块池用什么元组作为缓存键？"
GOOD = ("块池的缓存键是 `(block_hash, group_id)`。", "块池使用 `(block_hash, group_id)` 作为缓存键")
ALSO = ("引用计数归零的块按最近最少使用的顺序淘汰。", "引用计数归零的块回到空闲队列，按最近最少使用的顺序淘汰。")


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return searcher(documents(tmp_path_factory.mktemp("notes")))


Claim = tuple[str, str] | tuple[str, str, str]


def saying(*claims: Claim, end: str = "]}") -> Content:
    """A reply with these claims: a text, a quote, and an id, or the id of whichever evidence holds the quote.

    Nobody asked for the quote; a model that gives one is held to it. An empty one is left out, as it should be.
    """

    def make(request: dict[str, Any]) -> str:
        user = request["messages"][1]["content"]
        blocks = re.findall(r"\[(e\w{7})\] [^\n]*\n(.*?)(?=\n\n\[e\w{7}\] |\n</evidence)", user, re.S)
        blocks = blocks or [(key, "") for key in _ids(request)]  # a repair shows no evidence
        found = []
        for text, quote, *own in claims:
            key = own[0] if own else next((key for key, body in blocks if quote in body), blocks[0][0])
            support = {"id": key, "quote": quote} if quote else key
            found.append(json.dumps({"text": text, "support": [support]}, ensure_ascii=False))
        return '{"claims": [' + ", ".join(found) + end

    return make


def _ids(request: dict[str, Any]) -> list[str]:
    claim = request["response_format"]["json_schema"]["schema"]["properties"]["claims"]["items"]
    items = claim["properties"]["support"]["items"]
    ids: list[str] = items.get("enum") or items["properties"]["id"]["enum"]
    return ids


def ask(search: Searcher, *replies: Reply, timeout: float = 20, **settings: object) -> tuple[Answer, Script]:
    with serving(*replies) as script:
        chosen = LLMSettings.model_validate(
            {"base_url": script.url, "model": "scripted", "timeout": timeout, "max_tokens": 256} | settings
        )
        with closing(ChatModel(connect(chosen)._llm, chosen, wait=tenacity.wait_none())) as model:
            return sound(Answerer(search.search, llm=model, glosses=False).ask(KEY)), script


def sound(answer: Answer) -> Answer:
    """What holds for every answer: markers resolve, quotes are verbatim, every claim is cited."""
    numbers = {citation.n for citation in answer.citations}
    assert {int(n) for n in MARKER.findall(answer.text)} == numbers
    assert all(claim.citations and set(claim.citations) <= numbers for claim in answer.claims)
    assert all(any(find_quote(one.quote, text) for text in NOTES.values()) for one in answer.citations)
    assert not (answer.refused and (answer.claims or answer.citations))
    return answer


def texts(answer: Answer) -> list[str]:
    return [claim.text for claim in answer.claims]


def written(answer: Answer) -> list[str]:
    """The sentences that are the model's."""
    return [claim.text for claim in answer.claims if not claim.quoted]


# --- one sentence for every rule --------------------------------------------------------------------------------

BAD: Sequence[tuple[str, Claim]] = (
    ("unknown-evidence", (*ALSO, "e0000000")),  # an invented id
    ("quote-not-verbatim", ("归零的块会写回磁盘，等别的请求复用。", "引用计数归零的块立即删除")),  # an altered quote
    ("unsaid", ("归零的块会写回磁盘，等别的请求复用。", "")),
    ("unsupported-number", ("每个块保存 32 个 token。", "每个块保存 16 个 token 的键和值。")),
    ("unsupported-number", ("前缀缓存每天服务 5 万次请求。", "每天服务超过 5 亿次请求")),
    ("unsupported-version", ("块池从 v0.9.0 起使用 `(block_hash, group_id)`。", GOOD[1])),
    ("unsupported-identifier", ("块池使用 `(block_hash, layer_id)` 作为缓存键。", GOOD[1])),
    ("unrelated-quote", ("调度器负责抢占。", GOOD[1])),
    ("added-negation", ("块池不使用 `(block_hash, group_id)` 作为缓存键。", GOOD[1])),
    ("lost-negation", ("Eviction changes the output.", "This does not change the output.")),
    ("turned-direction", ("前缀缓存降低命中率。", "前缀缓存把命中率提高到 87.5%")),
    ("wrong-language", ("The block pool uses `(block_hash, group_id)` as its key.", GOOD[1])),
    ("foreign-link", ("块池的缓存键见 https://evil.example/x 。", GOOD[1])),
    ("unsaid", ("块池的缓存键见 https://evil.example/x 。", "")),
    ("quote-not-verbatim", ("块池的缓存键存放在磁盘上的文件里。", "https://evil.example/x")),
    ("added-reason", ("块池使用 `(block_hash, group_id)`，因为这样省显存。", GOOD[1])),
    ("added-reason", ("块池使用 `(block_hash, group_id)`，从而降低了延迟。", "")),
    ("markup", ("块池的缓存键是 <b>`(block_hash, group_id)`</b>。", GOOD[1])),
)


@pytest.mark.parametrize(("rule", "bad"), BAD, ids=[f"{rule}-{at}" for at, (rule, _) in enumerate(BAD)])
def test_a_sentence_that_breaks_a_rule_is_asked_for_once_more_then_dropped_and_counted(
    search: Searcher, rule: str, bad: Claim
) -> None:
    answer, script = ask(search, Reply(saying(GOOD, bad)), Reply(saying(bad)))
    assert written(answer) == [GOOD[0]]
    (dropped,) = answer.dropped
    assert is_plain(f"{dropped.what} {dropped.reason}", "")
    assert dropped.where == rule or rule in script.requests[1]["messages"][1]["content"]
    assert rule in script.requests[1]["messages"][1]["content"]
    assert GOOD[0] in script.requests[1]["messages"][1]["content"]
    assert len(script.requests) == 2


def test_what_points_back_to_a_dropped_sentence_goes_with_it(search: Searcher) -> None:
    bad, back = BAD[3][1], ("它按最近最少使用的顺序淘汰。", ALSO[1])
    answer, _ = ask(search, Reply(saying(GOOD, bad, back)), Reply('{"claims": []}'))
    assert texts(answer) == [GOOD[0]]
    assert [one.where for one in answer.dropped] == ["unsupported-number", "points-back"]


def test_a_sentence_that_is_mended_takes_the_place_of_the_faulty_one(search: Searcher) -> None:
    bad = ("每个块保存 32 个 token。", "每个块保存 16 个 token 的键和值。")
    mended = ("每个块保存 16 个 token。", bad[1])
    answer, _ = ask(search, Reply(saying(bad, GOOD)), Reply(saying(mended)))
    assert texts(answer) == [GOOD[0], mended[0]]
    assert answer.dropped == ()


def test_where_nothing_holds_the_sources_speak_for_themselves(search: Searcher) -> None:
    answer, _ = ask(search, Reply(saying(BAD[3][1])), Reply(saying(BAD[3][1])))
    plain = Answerer(search.search).ask(KEY)
    assert (answer.refused, answer.mode) == (None, "extractive")
    assert (answer.claims, answer.citations) == (plain.claims, plain.citations)
    assert answer.text.startswith("模型写的内容没有一句通过核对，原文如下：\n\n> ")
    assert answer.dropped


def test_ids_alone_are_enough_and_code_cites_the_sentence(search: Searcher) -> None:
    answer, script = ask(search, Reply(saying((GOOD[0], ""), (ALSO[0], ""))))
    assert texts(answer) == [GOOD[0], ALSO[0]]
    assert [citation.quote for citation in answer.citations] == [
        "块池使用 `(block_hash, group_id)` 作为缓存键，所以同一个哈希可以对应多个组。",
        ALSO[1],
    ]
    assert answer.dropped == ()
    assert len(script.requests) == 1


# --- the wire ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "replies",
    [
        [Reply(saying(GOOD), piece=1)],
        [Reply(saying(GOOD), piece=10_000)],
        [Reply("busy", status=429), Reply(saying(GOOD))],
        [Reply("oh", status=500), Reply("oh", status=503), Reply(saying(GOOD))],
        [Reply("The key is a tuple."), Reply(saying(GOOD))],  # wrong JSON: one repair
        [Reply('{"claims": [{"txt": 1}]}'), Reply(saying(GOOD))],
        [Reply("no response_format here", status=400), Reply(saying(GOOD))],
        [Reply(saying(GOOD), thought="the reader must not see this")],
        [Reply(saying(GOOD, end=", ]}"))],
        [Reply(saying(GOOD), finish_reason="length"), Reply('{"claims": []}'), Reply('{"claims": []}')],
        [Reply(saying(GOOD, end=""), finish_reason="length"), Reply(saying(GOOD)), Reply('{"claims": []}')],
        [Reply(saying(GOOD), unfinished=True), Reply('{"claims": []}')],
    ],
)
def test_what_can_be_mended_gives_the_answer(search: Searcher, replies: list[Reply]) -> None:
    answer, script = ask(search, *replies)
    assert texts(answer) == [GOOD[0]]
    assert "must not see" not in answer.model_dump_json()
    assert script.replies == []


@pytest.mark.parametrize(
    ("replies", "says"),
    [
        ([Reply("slow down", status=429)] * 3, "rate limited"),
        ([Reply("oh", status=500)] * 3, "status 500"),
        ([Reply("")], "empty"),
        ([Reply("no"), Reply("still no")], "not the JSON"),
        ([Reply(saying(GOOD), half=True), Reply(saying(GOOD), half=True)], "broke off"),
        ([Reply("la ", endless=True)] * 3, "cut at 256 tokens"),
    ],
)
def test_what_cannot_be_mended_is_a_clear_failure(search: Searcher, replies: list[Reply], says: str) -> None:
    with pytest.raises(GenerationFailed, match=says):
        ask(search, *replies)


def test_a_slow_server_is_given_up(search: Searcher) -> None:
    with pytest.raises(GenerationFailed, match="no answer in time"):
        ask(search, Reply(saying(GOOD), piece=1, pause=0.05), timeout=0.4)


def test_p37_when_even_half_of_the_evidence_is_too_much_it_is_truncated(search: Searcher) -> None:
    cut = Reply('{"claims": [', finish_reason="length")
    with pytest.raises(Truncated):
        ask(search, cut, cut, cut)


def test_what_stands_before_the_connection_breaks_for_good_stays_and_the_rest_is_counted(search: Searcher) -> None:
    lost = Reply(saying(GOOD, end=", "), unfinished=True)
    answer, script = ask(search, lost, Reply('{"claims": [', unfinished=True))
    assert texts(answer) == [GOOD[0]]
    assert [(one.what, one.where) for one in answer.dropped] == [("the rest of the answer", "model")]
    assert GOOD[0] in script.requests[1]["messages"][1]["content"]


def test_tokens_are_counted_over_all_calls(search: Searcher) -> None:
    answer, _ = ask(search, Reply(saying(BAD[3][1])), Reply(saying(GOOD)), price_prompt=1.0, price_completion=2.0)
    assert answer.usage is not None
    assert (answer.usage.calls, answer.usage.prompt_tokens, answer.usage.completion_tokens) == (2, 22, 10)
    assert answer.usage.cost == pytest.approx(42e-6)


# --- early ------------------------------------------------------------------------------------------------------


def test_the_first_sentence_is_shown_while_the_second_is_still_written(search: Searcher) -> None:
    def delay(events: Iterator[AnswerEvent], script: Script) -> tuple[float, int]:
        for event in events:
            if event.event == "sentence":
                return time.monotonic() - script.sent_at, script.written
        raise AssertionError

    slow = Reply(saying(GOOD, ALSO), piece=4, pause=0.01)
    with serving(slow) as script:
        settings = LLMSettings(base_url=script.url, model="scripted")
        with closing(connect(settings)) as model:
            seconds, written = delay(Answerer(search.search, llm=model).stream(KEY), script)
    whole = len(_whole(slow.content, script)) / slow.piece
    assert seconds < 0.3
    assert written < 0.8 * whole


def _whole(content: Content, script: Script) -> str:
    make: Callable[[dict[str, Any]], str] = content  # type: ignore[assignment]
    return make(script.requests[0])
