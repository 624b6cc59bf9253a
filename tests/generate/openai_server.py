"""An OpenAI-compatible server on loopback that answers from a script: good replies, errors, half bodies."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse


@dataclass
class Reply:
    """One scripted reply. `half` breaks off in the middle of the body; `raw` replaces the completion."""

    content: str | None = ""
    finish_reason: str = "stop"
    status: int = 200
    half: bool = False
    raw: Any = None


@dataclass
class Script:
    """Replies in order, and the requests that came."""

    replies: list[Reply]
    requests: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""


def _app(script: Script) -> FastAPI:
    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def complete(request: Request) -> Response:
        body = await request.json()
        script.requests.append(body | {"authorization": request.headers.get("authorization")})
        reply = script.replies.pop(0)
        if reply.status != 200:
            return JSONResponse({"error": {"message": reply.content}}, reply.status)
        if reply.raw is not None:
            return JSONResponse(reply.raw)
        completion = {
            "id": "c1",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": reply.finish_reason,
                    "message": {"role": "assistant", "content": reply.content},
                }
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        if reply.half:
            whole = json.dumps(completion).encode()
            headers = {"content-length": str(len(whole)), "content-type": "application/json"}
            return StreamingResponse(_broken(whole[: len(whole) // 2]), headers=headers)
        return JSONResponse(completion)

    return app


async def _broken(part: bytes) -> Any:
    yield part
    raise ConnectionResetError


@contextmanager
def serving(*replies: Reply) -> Iterator[Script]:
    """A server in a thread of its own; `script.url` is its base URL."""
    script = Script(list(replies))
    listener = socket.create_server(("127.0.0.1", 0))
    script.url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    server = uvicorn.Server(uvicorn.Config(_app(script), log_level="critical", ws="none", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.005)
        yield script
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
