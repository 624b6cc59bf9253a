"""What guards every request before a route sees it. Plain ASGI, so that streams pass through untouched."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

from api.problems import problem_of
from kb.errors import BadRequest, KBError, LimitExceeded

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 256 * 1024  # bytes; the largest honest request is a list of paths

MOST_DISCARDED = 64 * 1024 * 1024  # bytes of a larger body that are read before it is refused
_PATIENCE = 10.0  # seconds for that

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class SecurityHeaders:
    """Puts `SECURITY_HEADERS` on every response; what `/v1` says is never kept by a cache."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/v1/"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, guarded)


class SameOrigin:
    """Turns away what a hostile page could send: another `Host` (DNS rebinding), a change from another site.

    Args:
        hosts: names that `Host` may carry, without the port; None allows all, where a key guards the service.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (error := self._fault(scope)):
            await refuse(error, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _fault(self, scope: Scope) -> KBError | None:
        headers = Headers(scope=scope)
        host = _without_port(headers.get("host", ""))
        if self._hosts is not None and host not in self._hosts:
            return BadRequest(
                "this host name is not served here", remedy="Use http://127.0.0.1 or http://localhost with the port"
            )
        if scope["method"] not in ("GET", "HEAD") and headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return BadRequest("a page of another origin may not do that", remedy="Use the page that this service shows")
        return None


class HeadAsGet:
    """Answers HEAD as GET without the body, as HTTP asks for (RFC 9110, 9.1): routes know GET alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self._app({**scope, "method": "GET"}, receive, without_body)


class BodyLimit:
    """Reads the body before any route and refuses it past `limit` bytes, whether or not its length was declared.

    What is too large is read on and thrown away: most clients read no answer before they have sent everything, and a
    connection that is closed with bytes unread is reset under them. A client that asks first is told at once.
    """

    def __init__(self, app: ASGIApp, limit: int = MAX_BODY) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > self._limit:
            asks_first = headers.get("expect", "").lower() == "100-continue"
            await self._refuse(scope, receive, send, has_more=not asks_first)
            return
        messages: list[Message] = []
        size, more = 0, True
        while more and size <= self._limit:
            message = await receive()
            messages.append(message)
            size += len(message.get("body", b""))
            more = bool(message.get("more_body"))
        if size > self._limit:
            await self._refuse(scope, receive, send, has_more=more)
        else:
            await self._app(scope, _replay(iter(messages), receive), send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, *, has_more: bool) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                discarded = 0
                while has_more and discarded < MOST_DISCARDED:
                    message = await receive()
                    discarded += len(message.get("body", b""))
                    has_more = bool(message.get("more_body"))
        error = LimitExceeded(
            f"the body is larger than {self._limit // 1024} KiB",
            remedy="Send less: files are read from the disk of the machine that serves, by their paths",
        )
        await refuse(error, scope, receive, send, {"Connection": "close"})


def _replay(messages: Iterator[Message], receive: Receive) -> Receive:
    async def replayed() -> Message:
        return next(messages, None) or await receive()

    return replayed


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).lower()


async def refuse(
    error: KBError, scope: Scope, receive: Receive, send: Send, headers: dict[str, str] | None = None
) -> None:
    from api.errors import problem_response

    await problem_response(error, problem_of(error).status, headers)(scope, receive, send)
