"""What guards every request before a route sees it. Plain ASGI, so that streams pass through untouched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

from api.problems import problem_of
from kb.errors import BadRequest, KBError, LimitExceeded

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 256 * 1024  # bytes; the largest honest request is a list of paths

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
            return BadRequest("a page of another origin may not do that")
        return None


class BodyLimit:
    """Reads the body before any route and refuses it past `limit` bytes, whether or not its length was declared."""

    def __init__(self, app: ASGIApp, limit: int = MAX_BODY) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "0")
        messages: list[Message] = []
        size = int(declared) if declared.isdecimal() else 0
        more = size <= self._limit
        size = 0 if more else size
        while more:
            message = await receive()
            messages.append(message)
            size += len(message.get("body", b""))
            more = bool(message.get("more_body")) and size <= self._limit
        if size > self._limit:
            error = LimitExceeded(f"the body is larger than {self._limit // 1024} KiB")
            await refuse(error, scope, receive, send, {"Connection": "close"})
            return
        await self._app(scope, _replay(iter(messages), receive), send)


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
