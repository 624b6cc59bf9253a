"""Who may do what. Readers search and ask; the owner, who can read the library's folder, may also change it."""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass

from fastapi import Request

from kb.errors import Unauthorized, UnsafeSettings
from kb.settings import ServeSettings


@dataclass(frozen=True)
class Keys:
    """`reader` opens reading, None leaves it open to loopback; `owner` is minted at every start of the service."""

    reader: str | None
    owner: str


def check_bind(serve: ServeSettings) -> None:
    """
    Raises:
        UnsafeSettings: if the service would listen beyond loopback without a key.
    """
    key = serve.api_key.get_secret_value() if serve.api_key else ""
    if serve.api_key is not None and len(key) < 16:
        raise UnsafeSettings(
            "the key is too short to guard a service",
            where="KB_SERVE_API_KEY",
            remedy="Use at least 16 characters, such as the output of `openssl rand -hex 32`",
        )
    if not key and not is_loopback(serve.host):
        raise UnsafeSettings(
            f"listening on {serve.host} without a key would open the library to the network",
            where="KB_SERVE_HOST",
            remedy="Set KB_SERVE_API_KEY, or listen on 127.0.0.1",
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def require_reader(request: Request) -> None:
    """
    Raises:
        Unauthorized: if reading needs a key and the caller has neither that nor the owner's.
    """
    keys: Keys = request.app.state.keys
    if keys.reader is None:
        return
    token = _bearer(request)
    if not (_same(token, keys.reader) | _same(token, keys.owner)):
        raise Unauthorized("this service needs a key", remedy="Send it as `Authorization: Bearer …`")


def require_owner(request: Request) -> None:
    """
    Raises:
        Unauthorized: unless the caller is on this machine and shows the owner's token.
    """
    keys: Keys = request.app.state.keys
    if not (_is_local(request) and _same(_bearer(request), keys.owner)):
        raise Unauthorized(
            "only the owner of the library may change it", remedy="Use the `kb` command on the machine that serves it"
        )


def _is_local(request: Request) -> bool:
    """From this machine: over loopback, or from the very address that the service was called at."""
    caller, called = request.client, request.scope.get("server")
    return caller is not None and (is_loopback(caller.host) or (called is not None and caller.host == called[0]))


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())
