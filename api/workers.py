"""One bounded executor for all work of the service: the event loop stays free, and load beyond the bound is refused."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any, TypeVar

from generate.llm import Abandoned
from kb.errors import KBError, LibraryBusy
from kb.types import AnswerEvent, Change, Progress

Result = TypeVar("Result")
Event = Progress | Change | KBError

_LOOK = 0.5  # seconds between two looks at whether the caller still waits
_PROGRESS_INTERVAL = 0.1  # seconds between two reports of progress; people read no faster


class Workers:
    def __init__(self, threads: int = 4, waiting: int = 64) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="kb")
        self._stopping = threading.Event()
        self._places = threading.BoundedSemaphore(threads + waiting)

    async def run(self, work: Callable[[], Result]) -> Result:
        """The result of `work`, run in a thread; the place is held until it ends, even if the caller has gone.

        Raises:
            LibraryBusy: if every thread is taken and the queue is full.
        """
        if not self._places.acquire(blocking=False):
            raise LibraryBusy("too many requests at once", remedy="Try again in a moment")
        future = self._executor.submit(work)
        future.add_done_callback(lambda _: self._places.release())
        return await asyncio.wrap_future(future)

    async def watched(
        self, work: Callable[[Callable[[], bool]], Result], is_gone: Callable[[], Awaitable[bool]]
    ) -> Result:
        """As `run`; `work` is told when the caller has gone or `close` was called, so that a model writes for nobody.

        Raises:
            LibraryBusy: as `run`, and if `work` ended because the service is being stopped.
        """
        abandoned = threading.Event()
        task = asyncio.ensure_future(self.run(lambda: work(lambda: abandoned.is_set() or self._stopping.is_set())))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # whoever has gone does not look
        try:
            while not (await asyncio.wait({task}, timeout=_LOOK))[0]:
                if await is_gone():
                    abandoned.set()
            return task.result()
        except Abandoned as error:
            raise LibraryBusy("the service is being stopped", remedy="Ask again when it runs") from error
        finally:
            abandoned.set()

    async def batch(self, start: Callable[[Callable[[Progress], None]], Iterable[Change]]) -> AsyncIterator[Event]:
        """The events of a batch as they happen.

        When the reader goes away or `close` is called, the batch stops after the current file; a reader that is still
        there is told by a last event, a `LibraryBusy`.
        """

        def work(emit: Callable[[Event], None], is_abandoned: Callable[[], bool]) -> None:
            for change in start(_seldom(emit)):
                emit(change)
                if is_abandoned():
                    break
                if self._stopping.is_set():
                    raise LibraryBusy(
                        "the service is being stopped", remedy="Run it again: what is done already stays done"
                    )

        async with aclosing(self._emitted(work)) as events:
            async for event in events:
                yield event

    async def answer(
        self, start: Callable[[Callable[[], bool]], Iterable[AnswerEvent]]
    ) -> AsyncGenerator[AnswerEvent | KBError, None]:
        """The events of an answer as they happen, or what hindered it.

        `start` is told when the reader has gone or `close` was called, so that a model writes for nobody.
        """

        def work(emit: Callable[[AnswerEvent], None], is_abandoned: Callable[[], bool]) -> None:
            for event in start(lambda: is_abandoned() or self._stopping.is_set()):
                emit(event)
            if self._stopping.is_set():
                raise LibraryBusy("the service is being stopped", remedy="Ask again when it runs")

        async with aclosing(self._emitted(work)) as events:
            async for event in events:
                yield event

    async def _emitted(
        self, work: Callable[[Callable[[Any], None], Callable[[], bool]], None]
    ) -> AsyncGenerator[Any, None]:
        """What `work` emits in its thread; its last event is the `KBError` that ended it, if one did."""
        loop, events, abandoned = asyncio.get_running_loop(), asyncio.Queue[object | None](), threading.Event()

        def emit(event: object) -> None:
            loop.call_soon_threadsafe(events.put_nowait, event)

        def run() -> None:
            try:
                work(emit, abandoned.is_set)
            except KBError as error:
                emit(error)

        task = asyncio.ensure_future(self.run(run))
        task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await task
        finally:
            abandoned.set()

    def close(self) -> None:
        """Take no more work, let batches stop after their current file, and wait for that."""
        self._stopping.set()
        self._executor.shutdown(wait=True, cancel_futures=True)


def _seldom(emit: Callable[[Event], None]) -> Callable[[Progress], None]:
    last = 0.0

    def report(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PROGRESS_INTERVAL:
            last = now
            emit(progress)

    return report
