"""The real LlamaIndex client against a scripted server on loopback."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import SupportsIndex

import httpx
import openai
import pytest
import tenacity
from pydantic import SecretStr

from generate.endpoint import ChatModel, connect
from generate.failures import pause
from generate.llm import Abandoned, Message, Meter, safe_count
from kb.errors import BrokenOff, GenerationFailed, Truncated
from kb.settings import LLMSettings
from tests.generate.openai_server import Reply, Script, serving

pytestmark = pytest.mark.server

ASK = Message("Be brief.", "Why?")
SCHEMA = {"type": "object"}


@contextmanager
def model(url: str, timeout: float = 10, **settings: object) -> Iterator[ChatModel]:
    chosen = LLMSettings.model_validate(
        {"base_url": url, "model": "scripted", "api_key": SecretStr("k-123"), "timeout": timeout} | settings
    )
    with closing(ChatModel(connect(chosen)._llm, chosen, wait=tenacity.wait_none())) as chat:
        yield chat


@contextmanager
def asking(*replies: Reply, **settings: object) -> Iterator[tuple[Script, ChatModel]]:
    with serving(*replies) as script, model(script.url, **settings) as chat:  # type: ignore[arg-type]
        yield script, chat


def test_the_reply_comes_back_and_the_request_is_what_it_should_be() -> None:
    with asking(Reply('{"claims": []}')) as (script, chat):
        assert chat.complete(ASK, schema=SCHEMA) == '{"claims": []}'
    (request,) = script.requests
    assert [(m["role"], m["content"]) for m in request["messages"]] == [("system", "Be brief."), ("user", "Why?")]
    assert request["response_format"]["json_schema"]["schema"] == SCHEMA
    assert (request["temperature"], request["max_tokens"]) == (0.0, 1024)
    assert request["authorization"] == "Bearer k-123"


def test_the_reply_streams() -> None:
    with asking(Reply("一二三四五六七八九", piece=2)) as (_, chat):
        assert list(chat.stream(ASK)) == ["一二", "三四", "五六", "七八", "九"]


def test_p37_a_reply_cut_at_the_limit_is_truncated_and_not_asked_for_again() -> None:
    cut = Reply('{"claims": [', finish_reason="length")
    with asking(cut) as (script, chat), pytest.raises(Truncated, match="1024 tokens"):
        chat.complete(ASK)
    assert len(script.requests) == 1


def test_what_was_written_before_the_cut_comes_first() -> None:
    with asking(Reply("half a sen", finish_reason="length", piece=5)) as (_, chat):
        stream = chat.stream(ASK)
        assert [next(stream), next(stream)] == ["half ", "a sen"]
        with pytest.raises(Truncated):
            next(stream)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(status: int) -> None:
    with asking(Reply("busy", status=status), Reply("busy", status=status), Reply("fine")) as (_, chat):
        assert chat.complete(ASK) == "fine"


@pytest.mark.parametrize(
    ("reply", "attempts", "says"),
    [
        (Reply("slow down", status=429), 3, "rate limited. Wait"),
        (Reply("oh", status=500), 3, "status 500. Look at the server's log"),
        (Reply("no", status=401), 1, "refused the key. Set KB_LLM_API_KEY"),
        (Reply("no", status=404), 1, "knows no such model. Set KB_LLM_MODEL"),
        (Reply("too long", status=400), 1, "too long.*KB_LLM_CONTEXT_TOKENS"),
        (Reply("broken off in here", half=True), 3, "broke off"),
        (Reply("no reason given", unfinished=True), 3, "broke off"),
        (Reply(""), 1, "was empty"),
        (Reply(None), 1, "was empty"),
        (Reply("  \n "), 1, "was empty"),
        (Reply(raw={"choices": []}), 1, "no chat completion"),
        (Reply(raw={"hello": "world"}), 1, "no chat completion"),
    ],
)
def test_a_lasting_failure_says_what_to_do(reply: Reply, attempts: int, says: str) -> None:
    replies = [reply] * attempts
    with asking(*replies) as (script, chat), pytest.raises(GenerationFailed, match=f"(?s)scripted.*{says}"):
        chat.complete(ASK)
    assert len(script.requests) == attempts


def test_a_stream_that_breaks_off_is_not_begun_again_behind_the_readers_back() -> None:
    with asking(Reply("one two three four", half=True)) as (script, chat), pytest.raises(BrokenOff):
        list(chat.stream(ASK))
    assert len(script.requests) == 1


def test_a_server_that_knows_no_schema_is_asked_without_one_from_then_on() -> None:
    with asking(Reply("response_format is unknown", status=400), Reply("a"), Reply("b")) as (script, chat):
        assert [chat.complete(ASK, schema=SCHEMA), chat.complete(ASK, schema=SCHEMA)] == ["a", "b"]
    assert ["response_format" in request for request in script.requests] == [True, False, False]


def test_a_server_that_another_call_learned_to_know_no_schema_is_asked_again_without_one() -> None:
    class Meanwhile(list[Reply]):
        def pop(self, at: SupportsIndex = -1) -> Reply:
            chat._options.discard("schema")
            return super().pop(at)

    with asking() as (script, chat):
        script.replies = Meanwhile([Reply("response_format is unknown", status=400), Reply("a")])
        assert chat.complete(ASK, schema=SCHEMA) == "a"


def test_a_server_that_knows_no_usage_is_asked_without_it_and_counted_safely() -> None:
    meter = Meter()
    with asking(Reply("unknown field: stream_options", status=422), Reply("字" * 10)) as (script, chat):
        chat.complete(ASK, meter=meter)
    assert ["stream_options" in request for request in script.requests] == [True, False]
    assert meter.usage.completion_tokens >= 10


def test_no_server_is_a_clear_failure() -> None:
    failure = pytest.raises(GenerationFailed, match=r"cannot be reached.*Start the server")
    with model("http://127.0.0.1:1/v1") as chat, failure:
        chat.complete(ASK)


def test_readers_are_told_the_models_name_and_not_where_it_runs() -> None:
    with model("http://user:key@127.0.0.1:1/v1") as chat, pytest.raises(GenerationFailed) as failed:
        chat.complete(ASK)
    assert failed.value.where == "scripted"
    assert not any(secret in failed.value.told for secret in ("user", "key@", "127.0.0.1"))
    assert str(failed.value).startswith("http://127.0.0.1:1/v1: scripted: ")


def test_a_silent_server_is_a_timeout() -> None:
    failure = pytest.raises(GenerationFailed, match=r"no answer in time\. Raise KB_LLM_TIMEOUT")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with model(url, timeout=0.05) as chat, failure:
            chat.complete(ASK)


def test_a_slow_server_is_a_timeout_however_often_it_gives_a_sign_of_life() -> None:
    failure = pytest.raises(GenerationFailed, match="no answer in time")
    with asking(Reply("x" * 500, piece=1, pause=0.02), timeout=0.3) as (_, chat), failure:
        chat.complete(ASK)


def test_an_endless_reply_is_cut_by_us() -> None:
    with asking(Reply("la ", endless=True), max_tokens=64) as (script, chat), pytest.raises(Truncated):
        chat.complete(ASK)
    assert script.gone.wait(5)


# --- cancelling -------------------------------------------------------------------------------------------------


def test_p40_closing_the_stream_after_the_first_piece_ends_the_request() -> None:
    with asking(Reply("word " * 4000, pause=0.002)) as (script, chat):
        stream = chat.stream(ASK)
        assert next(stream)
        stream.close()  # type: ignore[attr-defined]
        assert script.gone.wait(5)
        assert script.written < 100


def test_p40_a_request_whose_server_is_silent_ends_when_nobody_waits() -> None:
    left = threading.Event()
    with asking(Reply("word", stalled=True)) as (script, chat):
        stream = chat.stream(ASK, meter=Meter(left.is_set))
        assert next(stream) == "word"
        left.set()
        with pytest.raises(Abandoned):
            next(stream)
        assert script.gone.wait(5)


def test_p40_a_reply_ends_when_the_model_is_let_go_of() -> None:
    with asking(Reply("word", stalled=True)) as (_, chat):
        stream = chat.stream(ASK, meter=Meter(lambda: False))
        assert next(stream) == "word"
        chat.close()
        with pytest.raises(GenerationFailed, match="let go of"):
            next(stream)


def test_two_callers_do_not_wait_for_each_other() -> None:
    with asking(Reply("slow", stalled=True), Reply("quick")) as (_, chat):
        first = chat.stream(ASK)
        assert next(first) == "slow"
        started = time.monotonic()
        assert chat.complete(ASK) == "quick"
        assert time.monotonic() - started < 5
        first.close()  # type: ignore[attr-defined]


# --- thinking ---------------------------------------------------------------------------------------------------


def test_thoughts_in_a_field_of_their_own_are_never_seen() -> None:
    with asking(Reply("42", thought="let me guess")) as (_, chat):
        assert chat.complete(ASK) == "42"


@pytest.mark.parametrize("piece", range(1, 14))
def test_thoughts_between_tags_are_never_seen_wherever_the_stream_is_cut(piece: int) -> None:
    text = '<think>[1] {"claims": []}</think>\n\n<think></think>{"claims": [{"text": "`<think>` opens"}]}'
    with asking(Reply(text, piece=piece)) as (_, chat):
        assert "".join(chat.stream(ASK)).strip() == '{"claims": [{"text": "`<think>` opens"}]}'


def test_nothing_but_thoughts_is_an_empty_reply() -> None:
    with asking(Reply("<think>hm, hm")) as (_, chat), pytest.raises(GenerationFailed, match="was empty"):
        chat.complete(ASK)


def test_thoughts_that_the_template_opened_are_taken_out_of_a_whole_reply() -> None:
    with asking(Reply('hm. Perhaps {"claims": []}?</think>{"a": 1}')) as (_, chat):
        assert chat.complete(ASK) == '{"a": 1}'


# --- counting ---------------------------------------------------------------------------------------------------


def test_usage_is_counted_and_priced() -> None:
    meter = Meter()
    prices = {"price_prompt": 2.0, "price_completion": 10.0}
    with asking(Reply("a", usage=(1000, 100)), Reply("b", usage=(1000, 100)), **prices) as (_, chat):
        chat.complete(ASK, meter=meter)
        chat.complete(ASK, meter=meter)
    assert (meter.usage.calls, meter.usage.prompt_tokens, meter.usage.completion_tokens) == (2, 2000, 200)
    assert meter.usage.cost == pytest.approx(0.006)


def test_the_servers_tokenizer_counts_where_it_offers_one() -> None:
    with asking() as (script, chat):
        script.tokenizes = True
        assert chat.count_tokens("three small words") == 3


def test_p25_without_one_chinese_is_counted_safely() -> None:
    with asking() as (_, chat):
        assert chat.count_tokens("字" * 1000) >= 1000
        assert chat.count_tokens("字" * 1000) == safe_count("字" * 1000)


def test_pauses_grow_jitter_and_respect_what_the_server_asks() -> None:
    def waited(attempt: int, headers: dict[str, str]) -> float:
        state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
        state.attempt_number = attempt
        response = httpx.Response(429, headers=headers, request=httpx.Request("POST", "http://x"))
        error = openai.RateLimitError("busy", response=response, body=None)
        state.set_exception((type(error), error, None))
        return pause(state)

    assert 0.5 <= waited(1, {}) <= 1.0
    assert 2.0 <= waited(3, {}) <= 4.0
    assert 7.0 <= waited(1, {"retry-after": "7"}) <= 7.5
    assert waited(1, {"retry-after": "9999"}) <= 31
    assert len({waited(3, {}) for _ in range(5)}) > 1
