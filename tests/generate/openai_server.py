"""An OpenAI-compatible server on loopback that answers from a script: it behaves, and misbehaves on cue."""

from __future__ import annotations

import asyncio
import atexit
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

Content = str | None | Callable[[dict[str, Any]], str]


@dataclass
class Reply:
    """One scripted reply, streamed in pieces of `piece` characters. A function as `content` sees the request.

    `half` breaks the connection off in the middle, `stalled` falls silent after the pieces, `endless` repeats them,
    `unfinished` ends cleanly without a reason; `raw` replaces the stream by a JSON body; `pause` is in seconds.
    """

    content: Content = ""
    finish_reason: str = "stop"
    status: int = 200
    thought: str = ""
    piece: int = 7
    pause: float = 0.0
    half: bool = False
    stalled: bool = False
    endless: bool = False
    unfinished: bool = False
    raw: Any = None
    usage: tuple[int, int] | None = (11, 5)
    retry_after: str = ""


@dataclass
class Script:
    """Replies in order, and the requests that came. `written` counts pieces sent; `gone` is set when a caller left."""

    replies: list[Reply]
    requests: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""
    written: int = 0
    sent_at: float = 0.0  # when the latest piece went out
    gone: threading.Event = field(default_factory=threading.Event)
    tokenizes: bool = False


_SCRIPTS: dict[str, Script] = {}


def _app() -> FastAPI:
    app = FastAPI()

    @app.post("/{name}/v1/chat/completions")
    async def complete(name: str, request: Request) -> Response:
        script, body = _SCRIPTS[name], await request.json()
        script.requests.append(body | {"authorization": request.headers.get("authorization")})
        reply = script.replies.pop(0)
        if reply.status != 200:
            headers = {"retry-after": reply.retry_after} if reply.retry_after else None
            return JSONResponse({"error": {"message": reply.content}}, reply.status, headers)
        if reply.raw is not None:
            return JSONResponse(reply.raw)
        return StreamingResponse(_streamed(script, reply, body), media_type="text/event-stream")

    @app.post("/{name}/tokenize")
    async def tokenize(name: str, request: Request) -> Response:
        if not _SCRIPTS[name].tokenizes:
            return JSONResponse({"detail": "Not Found"}, 404)
        return JSONResponse({"count": len((await request.json())["prompt"].split()), "max_model_len": 8192})

    return app


async def _streamed(script: Script, reply: Reply, body: dict[str, Any]) -> AsyncIterator[bytes]:
    content = reply.content(body) if callable(reply.content) else reply.content
    try:
        yield _chunk({"role": "assistant", "content": None if content is None else ""})
        if reply.thought:
            yield _chunk({"reasoning_content": reply.thought})
        for piece in _pieces(reply, content or ""):
            await asyncio.sleep(reply.pause)
            script.written += 1
            script.sent_at = time.monotonic()
            yield _chunk({"content": piece})
        if reply.half:
            raise ConnectionResetError
        if reply.stalled:
            await asyncio.sleep(60)
        if not reply.unfinished:
            yield _chunk({}, reply.finish_reason)
        if reply.usage and body.get("stream_options", {}).get("include_usage"):
            read, written = reply.usage
            usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
            yield _event({"choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"
    except (asyncio.CancelledError, GeneratorExit):
        script.gone.set()
        raise


def _pieces(reply: Reply, content: str) -> Iterator[str]:
    pieces = [content[at : at + reply.piece] for at in range(0, len(content), reply.piece)]
    if reply.half:
        pieces = pieces[: len(pieces) // 2]
    yield from pieces
    while reply.endless:
        yield from pieces


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return _event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _event(part: dict[str, Any]) -> bytes:
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "scripted"} | part
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


@cache
def _address() -> str:
    """Of the one server of the test run, started with the first script."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(_app(), log_level="critical", ws="none", lifespan="off", timeout_graceful_shutdown=0)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()

    def stop() -> None:
        server.should_exit = True
        thread.join()
        listener.close()

    atexit.register(stop)
    while not server.started:
        time.sleep(0.005)
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def serving(*replies: Reply) -> Iterator[Script]:
    """A script with a base URL of its own, `script.url`."""
    name = f"s{len(_SCRIPTS)}"
    script = _SCRIPTS[name] = Script(list(replies), url=f"{_address()}/{name}/v1")
    yield script
