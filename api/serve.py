"""`kb serve`: the service on a socket, recorded in the library so that `kb` finds it."""

from __future__ import annotations

import secrets
import signal
import socket
import sys
from types import FrameType

import uvicorn

from api.app import create_app
from api.auth import Keys, check_bind
from api.console import note
from index.serving import forget_service, record_service
from kb.errors import UnsafeSettings
from kb.settings import ServeSettings, Settings

GRACE = 5  # seconds that answers under way get when the service is stopped; batches then end with their current file


def run(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        UnsafeSettings: if the address is not to be served, or cannot be listened on.
        LibraryBusy: if another process owns the library.
        IndexMismatch: if another recipe built the index.
    """
    from api.service import open_service

    check_bind(settings.serve)
    reader = settings.serve.api_key.get_secret_value() if settings.serve.api_key else None
    keys = Keys(reader=reader, owner=secrets.token_urlsafe(32))
    with _listen(settings.serve) as listener, open_service(settings) as service:
        service.open()  # so that a library of somebody else is left alone
        url = _address(listener)
        record_service(settings.home, url, keys.owner)
        app = create_app(service, keys, on_stop=lambda: forget_service(settings.home))
        config = uvicorn.Config(
            app,
            log_level=settings.log_level,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
        )
        signal.signal(signal.SIGTERM, _leave)
        note(f"Serving {settings.home} on {url} (Ctrl-C stops)")
        if not service.sources():
            note(f"The library in {settings.home.absolute()} is empty: add files with `kb add FOLDER` while this runs,")
            note("or stop, and serve another library with `kb --home FOLDER serve`.")
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            note("Stopped.")
        finally:
            forget_service(settings.home)


def _listen(serve: ServeSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in serve.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((serve.host.strip("[]"), serve.port))
        listener.listen()  # who finds the record before the server runs waits, and is not turned away
    except OSError as error:
        listener.close()
        raise UnsafeSettings(
            f"cannot listen on {serve.host}:{serve.port} ({error.strerror})",
            remedy="Choose another with --port; 0 picks a free one",
        ) from error
    return listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{shown}:{port}"


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)
