"""The real LlamaIndex client against a scripted server on loopback."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
import tenacity
from pydantic import SecretStr

from generate.llm import ChatModel, Message, connect
from kb.errors import GenerationFailed, Truncated
from kb.settings import LLMSettings
from tests.generate.openai_server import Reply, Script, serving

pytestmark = pytest.mark.server

ASK = Message("Be brief.", "Why?")
SCHEMA = {"type": "object"}


@contextmanager
def model(url: str, timeout: float = 10) -> Iterator[ChatModel]:
    settings = LLMSettings(base_url=url, model="scripted", api_key=SecretStr("k-123"), timeout=timeout)
    with closing(ChatModel(connect(settings)._llm, settings, wait=tenacity.wait_none())) as chat:
        yield chat


@contextmanager
def asking(*replies: Reply) -> Iterator[tuple[Script, ChatModel]]:
    with serving(*replies) as script, model(script.url) as chat:
        yield script, chat


def test_the_reply_comes_back_and_the_request_is_what_it_should_be() -> None:
    with asking(Reply('{"claims": []}')) as (script, chat):
        assert chat.complete(ASK, schema=SCHEMA) == '{"claims": []}'
    (request,) = script.requests
    assert [(m["role"], m["content"]) for m in request["messages"]] == [("system", "Be brief."), ("user", "Why?")]
    assert request["response_format"]["json_schema"]["schema"] == SCHEMA
    assert (request["temperature"], request["max_tokens"]) == (0.0, 1024)
    assert request["authorization"] == "Bearer k-123"


def test_p37_a_reply_cut_at_the_limit_is_truncated_and_not_asked_for_again() -> None:
    cut = Reply('{"claims": [', finish_reason="length")
    with asking(cut) as (script, chat), pytest.raises(Truncated, match="1024 tokens"):
        chat.complete(ASK)
    assert len(script.requests) == 1


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
        (Reply(half=True), 3, "cannot be reached or broke off"),
        (Reply(""), 1, "was empty"),
        (Reply(None), 1, "was empty"),
        (Reply(raw={"choices": []}), 1, "no chat completion"),
        (Reply(raw={"hello": "world"}), 1, "no chat completion"),
    ],
)
def test_a_lasting_failure_says_what_to_do(reply: Reply, attempts: int, says: str) -> None:
    replies = [reply] * attempts
    with asking(*replies) as (script, chat), pytest.raises(GenerationFailed, match=f"(?s)scripted.*{says}"):
        chat.complete(ASK)
    assert len(script.requests) == attempts


def test_a_server_that_knows_no_schema_is_asked_without_one_from_then_on() -> None:
    with asking(Reply("response_format is unknown", status=400), Reply("a"), Reply("b")) as (script, chat):
        assert [chat.complete(ASK, schema=SCHEMA), chat.complete(ASK, schema=SCHEMA)] == ["a", "b"]
    assert ["response_format" in request for request in script.requests] == [True, False, False]


def test_no_server_is_a_clear_failure() -> None:
    failure = pytest.raises(GenerationFailed, match=r"cannot be reached.*Start the server")
    with model("http://127.0.0.1:1/v1") as chat, failure:
        chat.complete(ASK)


def test_a_slow_server_is_a_timeout() -> None:
    failure = pytest.raises(GenerationFailed, match=r"no answer in time\. Raise KB_LLM_TIMEOUT")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with model(url, timeout=0.05) as chat, failure:
            chat.complete(ASK)
