from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable

import httpx
import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from api.auth import Keys
from api.models import Models
from api.service import Service
from api.workers import Workers
from generate.llm import Abandoned
from kb.errors import KBError, LibraryBusy
from kb.types import Change, Outcome, Progress
from tests.fakes import FakeEmbedder


def test_p40_health_answers_while_a_search_runs(
    filled: Service, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, release = threading.Event(), threading.Event()
    embed = models.embedder.embed_query

    def slow(text: str) -> object:
        entered.set()
        assert release.wait(30)
        return embed(text)

    monkeypatch.setattr(FakeEmbedder, "embed_query", lambda self, text: slow(text))
    app = create_app(filled, Keys(reader=None, owner="o"))

    async def scene() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            search = asyncio.create_task(client.get("/v1/search", params={"q": "blocks"}))
            await asyncio.to_thread(entered.wait, 30)
            assert (await client.get("/healthz")).status_code == 200
            assert not search.done()
            release.set()
            assert (await search).status_code == 200

    asyncio.run(scene())


def test_beyond_its_bound_it_refuses() -> None:
    workers, release = Workers(threads=1, waiting=1), threading.Event()

    async def scene() -> None:
        held = [asyncio.create_task(workers.run(lambda: release.wait(30))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(LibraryBusy, match="too many"):
            await workers.run(lambda: True)
        release.set()
        assert await asyncio.gather(*held) == [True, True]
        assert await workers.run(lambda: "free again") == "free again"

    asyncio.run(scene())
    workers.close()


def until(told: Callable[[], bool]) -> str:
    """Work that ends when it is told to, as a model's does."""
    for _ in range(3000):
        if told():
            raise Abandoned
        threading.Event().wait(0.01)
    return "nobody told"


@pytest.mark.parametrize("leaves", ["the caller", "the service"])
def test_watched_work_is_told_that_nobody_waits(leaves: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.workers._LOOK", 0.01)
    workers, begun = Workers(threads=1), threading.Event()

    def work(told: Callable[[], bool]) -> str:
        begun.set()
        return until(told)

    async def is_gone() -> bool:
        return leaves == "the caller"

    async def scene() -> None:
        waiting = asyncio.create_task(workers.watched(work, is_gone))
        await asyncio.to_thread(begun.wait, 30)
        if leaves == "the service":
            await asyncio.to_thread(workers.close)
        with pytest.raises(LibraryBusy, match="stopped"):
            await waiting

    asyncio.run(scene())
    workers.close()


def change(name: str) -> Change:
    return Change(path=name, outcome=Outcome.ADDED)


def test_a_batch_tells_its_events_in_order_and_ends_with_its_error() -> None:
    workers = Workers()

    def start(report: object) -> Iterable[Change]:
        report(Progress(done=0, total=1, path="a", stage="reading"))  # type: ignore[operator]
        yield change("a")
        raise KBError("the disk is full")

    async def scene() -> list[object]:
        return [event async for event in workers.batch(start)]

    progress, first, error = asyncio.run(scene())
    assert isinstance(progress, Progress)
    assert first == change("a")
    assert str(error) == "the disk is full"
    workers.close()


def test_a_batch_whose_reader_has_gone_stops_after_the_current_file() -> None:
    workers, gone, done = Workers(), threading.Event(), []

    def start(report: object) -> Iterable[Change]:
        for name in "abc":
            done.append(name)
            yield change(name)
            assert gone.wait(30)

    async def scene() -> None:
        events = workers.batch(start)
        assert await anext(events) == change("a")
        await events.aclose()  # type: ignore[attr-defined]
        gone.set()

    asyncio.run(scene())
    workers.close()
    assert "c" not in done  # the reader may leave while `b` is already begun


def test_closing_lets_a_batch_end_with_its_current_file_and_tells_the_reader() -> None:
    workers, begun, release, done = Workers(), threading.Event(), threading.Event(), []

    def start(report: object) -> Iterable[Change]:
        for name in "abc":
            begun.set()
            assert release.wait(30)
            done.append(name)
            yield change(name)

    async def scene() -> list[object]:
        reading = asyncio.create_task(collected(workers))
        await asyncio.to_thread(begun.wait, 30)
        closing = asyncio.create_task(asyncio.to_thread(workers.close))
        while not workers._stopping.is_set():
            await asyncio.sleep(0)
        release.set()
        await closing
        return await reading

    async def collected(workers: Workers) -> list[object]:
        return [event async for event in workers.batch(start)]

    first, error = asyncio.run(scene())
    assert (first, done) == (change("a"), ["a"])
    assert isinstance(error, LibraryBusy)
    assert "stopped" in str(error)


class _Fault(Exception):
    pass


def test_what_hinders_warming_is_told_and_stopping_still_cleans_up(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: FakeEmbedder, text: str) -> object:
        raise _Fault("libgomp is missing")

    monkeypatch.setattr(FakeEmbedder, "embed_query", broken)
    stopped: list[str] = []
    app = create_app(service, Keys(reader=None, owner="o"), on_stop=lambda: stopped.append("stopped"))
    with TestClient(app, base_url="http://127.0.0.1"):
        pass
    assert service.unready is not None
    assert "libgomp is missing" in service.unready
    assert stopped == ["stopped"]


def test_stopping_cleans_up_even_if_warming_breaks_off(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise _Fault

    monkeypatch.setattr(service, "warm", broken)
    stopped: list[str] = []
    app = create_app(service, Keys(reader=None, owner="o"), on_stop=lambda: stopped.append("stopped"))
    with pytest.raises(_Fault), TestClient(app, base_url="http://127.0.0.1"):
        pass
    assert stopped == ["stopped"]
    with pytest.raises(RuntimeError, match="shutdown"):
        asyncio.run(app.state.workers.run(lambda: True))
