"""An answer on its way: the format, the route, what a caller that goes away leaves behind."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterable, Iterator
from contextlib import contextmanager

import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from api.app import create_app
from api.auth import Keys
from api.models import Models
from api.service import Service
from api.stream import MEDIA_TYPE, decode, encode, streamed
from generate.cite import MARKER
from generate.llm import Meter
from index.client import QdrantStore
from kb.errors import GenerationFailed, KBError
from kb.settings import Settings
from kb.types import Answer, AnswerEvent, Claim, SentenceEvent
from tests.fakes import FakeEmbedder, FakeTranscriber, Scripted, ScriptedModel
from tests.generate.material import citing

EVENT: TypeAdapter[AnswerEvent] = TypeAdapter(AnswerEvent)
QUESTION = "What does --block-size set?"
CLAIM = ("The flag `--block-size` sets the block size.", "The flag `--block-size` sets the block size.")
OTHER = ("The KV cache is cut into blocks of 16 tokens.", "The KV cache is cut into blocks of 16 tokens.")


def sentence(text: str) -> SentenceEvent:
    return SentenceEvent(claim=Claim(text=text, citations=(1,)), text=text)


# --- the format -------------------------------------------------------------------------------------------------


@given(st.lists(st.text(), min_size=1, max_size=4), st.sets(st.integers(0, 2000), max_size=8))
def test_p45_any_text_comes_back_wherever_the_stream_is_cut(texts: list[str], cuts: set[int]) -> None:
    clean = [text.encode("utf-8", "replace").decode() for text in texts]
    sent = b"".join(encode("sentence", sentence(text)) for text in clean)
    edges = [0, *sorted(cut for cut in cuts if cut < len(sent)), len(sent)]
    got = decode(sent[start:end] for start, end in itertools.pairwise(edges))
    assert [EVENT.validate_json(event.data) for event in got] == [sentence(text) for text in clean]


@pytest.mark.parametrize(
    "text", ["a\u2028b", "a\n", "\n", "a\r\nb", "a\x85b\u2029", "a\x0bb\x0cc", "", "data: x\n\nevent: y"]
)
def test_p45_what_others_take_for_a_line_end_does_not_split_an_event(text: str) -> None:
    sent = encode("sentence", sentence(text))
    assert len(sent.decode().splitlines()) == 3
    (event,) = decode([sent])
    assert EVENT.validate_json(event.data) == sentence(text)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_streams_of_other_servers_are_read(end: str) -> None:
    lines = [": a comment", "event: a", "data: 1", "data:2", "", "data: 3", "", "data: cut off"]
    whole = end.join(lines).encode()
    for cut in range(len(whole)):
        events = list(decode([whole[:cut], whole[cut:]]))
        assert [(event.name, event.data) for event in events] == [("a", "1\n2"), ("message", "3")]


# --- the route --------------------------------------------------------------------------------------------------


@contextmanager
def library(
    settings: Settings, notes: object, *replies: Scripted, pieces: int = 5
) -> Iterator[tuple[Service, ScriptedModel]]:
    model = ScriptedModel(*replies, pieces=pieces)
    models = Models(settings, embedder=FakeEmbedder(), transcriber=FakeTranscriber(), llm=model)
    with Service(settings, QdrantStore(":memory:", collection="notes"), models) as service:
        list(service.add([notes]))  # type: ignore[list-item]
        yield service, model


def client_of(service: Service) -> TestClient:
    app = create_app(service, Keys(reader=None, owner="the-owner-token"))
    return TestClient(app, base_url="http://127.0.0.1:8765", client=("127.0.0.1", 50000))


def events_of(client: TestClient, question: str = QUESTION, **body: object) -> list[AnswerEvent]:
    with client.stream(
        "POST", "/v1/ask", json={"question": question} | body, headers={"Accept": MEDIA_TYPE}
    ) as response:
        assert response.headers["content-type"].startswith(MEDIA_TYPE)
        assert response.headers["cache-control"] == "no-store"
        return [EVENT.validate_json(event.data) for event in decode(response.iter_raw(7))]


@pytest.mark.parametrize("question", [QUESTION, "前缀缓存用哪个参数启用？", "午饭吃了什么菜？"])
def test_the_stream_ends_in_the_answer_that_comes_at_once(client: TestClient, question: str) -> None:
    *events, done = events_of(client, question)
    assert done.event == "done"
    assert done.answer == Answer.model_validate(client.post("/v1/ask", json={"question": question}).json())
    assert events[0].event == "evidence"
    refused = [event for event in events if event.event == "refusal"]
    assert bool(refused) == bool(done.answer.refused)
    if not refused:
        assert "".join(event.text for event in events if event.event == "sentence") == done.answer.text


def test_p46_a_marker_is_never_cut_and_its_citation_has_come_before(settings: Settings, notes: object) -> None:
    with library(settings, notes, citing(CLAIM, OTHER), pieces=1) as (service, _), client_of(service) as client:
        known: set[int] = set()
        for event in events_of(client):
            if event.event == "citation":
                known.add(event.citation.n)
            elif event.event == "sentence":
                assert {int(n) for n in MARKER.findall(event.text)} == set(event.claim.citations) <= known
                assert event.text.count("[") == event.text.count("]") == len(event.claim.citations)
        assert known == {1, 2}


def test_what_was_dropped_is_told(settings: Settings, notes: object) -> None:
    bad = ("The flag `--block-size` sets 32 blocks.", CLAIM[1])
    with library(settings, notes, citing(CLAIM, bad), citing(bad)) as (service, _), client_of(service) as client:
        dropped = [event for event in events_of(client) if event.event == "dropped"]
    assert [one.dropped.where for one in dropped] == ["unsupported-number"]


def test_an_error_before_the_first_event_is_a_problem_with_its_status(client: TestClient) -> None:
    response = client.post("/v1/ask", json={"question": " "}, headers={"Accept": MEDIA_TYPE})
    assert (response.status_code, response.json()["type"]) == (400, "urn:vllm-notes-kb:problem:bad-request")


def test_an_error_later_on_is_an_event(settings: Settings, notes: object) -> None:
    with library(settings, notes, GenerationFailed("the model is gone")) as (service, _), client_of(service) as client:
        response = client.post("/v1/ask", json={"question": QUESTION}, headers={"Accept": MEDIA_TYPE})
    *_, last = decode([response.content])
    assert last.name == "problem"
    assert json.loads(last.data)["detail"] == "the model is gone"


def test_a_question_that_follows_is_understood_and_answered_from_new_evidence(client: TestClient) -> None:
    history = [{"question": "What does --block-size set?", "answer": "Prefix caching uses 99 tokens. [1]"}]
    answer = client.post("/v1/ask", json={"question": "How many tokens does it hold?", "history": history}).json()
    assert "--block-size" in answer["asked_as"] or "block" in answer["asked_as"]
    assert "99" not in answer["text"]


# --- whoever goes away ------------------------------------------------------------------------------------------


class EndlessModel(ScriptedModel):
    """Writes until nobody waits; `left` is set then."""

    def __init__(self) -> None:
        super().__init__()
        self.left = threading.Event()
        self.begun = threading.Event()

    def stream(self, message: object, *, schema: object = None, meter: Meter | None = None) -> Iterator[str]:
        try:
            yield citing(CLAIM)(message)[:-2]  # type: ignore[arg-type]
            self.begun.set()
            while True:
                time.sleep(0.005)
                assert meter is not None
                meter.check()
                yield " "
        finally:
            self.left.set()


@contextmanager
def serving(settings: Settings, notes: object) -> Iterator[tuple[str, int, EndlessModel]]:
    model = EndlessModel()
    models = Models(settings, embedder=FakeEmbedder(), transcriber=FakeTranscriber(), llm=model)
    with Service(settings, QdrantStore(":memory:", collection="notes"), models) as service:
        list(service.add([notes]))  # type: ignore[list-item]
        listener = socket.create_server(("127.0.0.1", 0))
        app = create_app(service, Keys(reader=None, owner="the-owner-token"))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.005)
        port = listener.getsockname()[1]
        yield f"http://127.0.0.1:{port}", port, model
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.mark.server
def test_p40_a_reader_that_leaves_after_the_first_sentence_ends_the_writing(settings: Settings, notes: object) -> None:
    with serving(settings, notes) as (url, _, model), httpx.Client(base_url=url, trust_env=False) as client:
        with client.stream("POST", "/v1/ask", json={"question": QUESTION}, headers={"Accept": MEDIA_TYPE}) as response:
            for event in decode(response.iter_raw()):
                if event.name == "sentence":
                    break
            assert not model.left.is_set()
            assert client.get("/healthz").status_code == 200
        assert model.left.wait(10)


@pytest.mark.server
def test_p40_a_caller_that_hangs_up_before_the_whole_answer_ends_the_writing(settings: Settings, notes: object) -> None:
    with serving(settings, notes) as (_, port, model):
        body = json.dumps({"question": QUESTION}).encode()
        with socket.create_connection(("127.0.0.1", port)) as caller:
            head = f"POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
            caller.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            assert model.begun.wait(10)
        assert model.left.wait(10)


def test_p40_a_reader_that_leaves_while_nothing_comes_leaves_no_error_behind() -> None:
    left = threading.Event()

    async def events() -> AsyncGenerator[AnswerEvent | KBError, None]:
        try:
            yield sentence("One.")
            await asyncio.Event().wait()
        finally:
            left.set()

    async def read() -> None:
        response = await streamed(events())
        reading = asyncio.ensure_future(_all(response.body_iterator))
        await asyncio.sleep(0)
        while not asyncio.all_tasks() - {asyncio.current_task(), reading}:
            await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    asyncio.run(read())
    assert left.is_set()


async def _all(pieces: AsyncIterable[object]) -> None:
    async for _ in pieces:
        pass
