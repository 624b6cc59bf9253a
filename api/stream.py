"""Server-sent events: how an answer travels while it comes into being, written and read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, TypeAdapter

from kb.errors import KBError
from kb.types import Answer, AnswerEvent, DoneEvent

if TYPE_CHECKING:
    from fastapi import Request
    from fastapi.responses import Response, StreamingResponse

MEDIA_TYPE = "text/event-stream"
PROBLEM = "problem"
"""The event that tells of an error in the middle of a stream; its data is a problem (RFC 9457)."""

_ALIVE = 15.0  # seconds of silence after which a comment shows proxies that the connection lives
_CLIENT_CLOSED = 499  # nobody reads it; logs call it "client closed request"
_EVENT: TypeAdapter[AnswerEvent] = TypeAdapter(AnswerEvent)
_ANSWERS = AsyncGenerator[AnswerEvent | KBError, None]
# JSON leaves these as they are, and many a client takes them for the end of a line.
_LINE_ENDS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"})


@dataclass(frozen=True)
class ServerEvent:
    name: str
    data: str


def encode(name: str, data: BaseModel) -> bytes:
    """One event: its JSON in one line."""
    return f"event: {name}\ndata: {data.model_dump_json(exclude_none=True).translate(_LINE_ENDS)}\n\n".encode()


def decode(pieces: Iterable[bytes]) -> Iterator[ServerEvent]:
    """The events of a stream that comes in pieces, cut anywhere. One that is not ended by a blank line is not whole."""
    name = "message"
    data: list[bytes] = []
    for line in _lines(pieces):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if data:
                yield ServerEvent(name, b"\n".join(data).decode())
            name, data = "message", []
        elif field == b"event":
            name = value.decode()
        elif field == b"data":
            data.append(value)


def answer_events(pieces: Iterable[bytes]) -> Iterator[AnswerEvent]:
    """The events of an answer out of its stream.

    Raises:
        KBError: what the service met on the way.
        EOFError: if the stream ends before the answer is done.
    """
    from api.messages import ProblemDetails

    name = ""
    for event in decode(pieces):
        name = event.name
        if name == PROBLEM:
            raise ProblemDetails.model_validate_json(event.data).error()
        yield _EVENT.validate_json(event.data)
    if name != "done":
        raise EOFError("the answer broke off")


def json_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a stream of JSON. They end at `\\n` alone: JSON may hold what others take for a line's end."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
    if rest:
        yield rest


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Lines end at `\\n`, `\\r\\n` or `\\r`, and nowhere else: `splitlines` would cut at more."""
    rest = b""
    for piece in pieces:
        rest += piece
        held = rest.endswith(b"\r")  # its other half may follow
        whole = (rest[:-1] if held else rest).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = whole.split(b"\n")
        rest += b"\r" if held else b""
        yield from lines


async def streamed(events: _ANSWERS) -> StreamingResponse:
    """The response that carries `events`. What hinders the first one is raised: no status was sent yet.

    Raises:
        KBError: as the first event.
    """
    from fastapi.responses import StreamingResponse

    first = await anext(events, None)
    if isinstance(first, KBError):
        raise first
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_encoded(first, events), media_type=MEDIA_TYPE, headers=headers)


async def _encoded(first: AnswerEvent | None, events: _ANSWERS) -> AsyncIterator[bytes]:
    from api.errors import details_of

    async with aclosing(events):
        event: AnswerEvent | KBError | None = first
        while event is not None:
            if isinstance(event, KBError):
                yield encode(PROBLEM, details_of(event))
            else:
                yield encode(event.event, event)
            waiting = asyncio.ensure_future(anext(events, None))
            try:
                while not (await asyncio.wait({waiting}, timeout=_ALIVE))[0]:
                    yield b": still writing\n\n"
                event = await waiting
            finally:
                waiting.cancel()
                await asyncio.wait({waiting})  # a generator cannot be closed while someone waits for its next item


async def whole(request: Request, events: _ANSWERS) -> Answer | Response:
    """The answer that `events` end in. They end early if the caller of `request` goes away.

    Raises:
        KBError: what hindered the answer.
    """
    from fastapi.responses import Response

    answering, leaving = asyncio.ensure_future(_last(events)), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        answer = answering.result() if answering.done() else None
        return answer or Response(status_code=_CLIENT_CLOSED)
    finally:
        answering.cancel()
        leaving.cancel()


async def _last(events: _ANSWERS) -> Answer | None:
    async with aclosing(events):
        async for event in events:
            if isinstance(event, KBError):
                raise event
            if isinstance(event, DoneEvent):
                return event.answer
    return None


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
