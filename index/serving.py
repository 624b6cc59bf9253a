"""`serve.json`: where the service of a library listens, so that commands on the same library find it."""

from __future__ import annotations

import os
import socket
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from kb.files import write_whole
from kb.types import Frozen


class RunningService(Frozen):
    """The base URL of a service, the key that it takes from the owner of the library, and its process."""

    url: str
    token: str | None
    pid: int


def record_service(home: Path, url: str, token: str | None) -> None:
    """Record that this process serves the library in `home`; only the owner of the file can read it."""
    home.mkdir(parents=True, exist_ok=True)
    service = RunningService(url=url, token=token, pid=os.getpid())
    write_whole(home / "serve.json", service.model_dump_json(indent=1), mode=0o600)


def running_service(home: Path) -> RunningService | None:
    """The service of the library in `home`; None where none was recorded, its process is gone, or the record names
    another machine: a library may come from anyone, and questions go to its service."""
    service = _recorded(home)
    return service if service and _alive(service.pid) and _is_here(service.url) else None


def forget_service(home: Path) -> None:
    """Take back the record of this process; that of another process stays."""
    service = _recorded(home)
    if service and service.pid == os.getpid():
        (home / "serve.json").unlink(missing_ok=True)


def listens(url: str) -> bool:
    """Whether something listens there. After a crash another process may have the number that was recorded."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 0), timeout=2).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return True  # too busy to say so
    return True


def _recorded(home: Path) -> RunningService | None:
    try:
        return RunningService.model_validate_json((home / "serve.json").read_bytes())
    except (OSError, ValidationError):  # of another user, too: the index's lock tells who owns the library
        return None


def _is_here(url: str) -> bool:
    """Whether the URL names an address of this machine: only those can be bound. No name is looked up."""
    try:
        parts = urlsplit(url)
        address = ip_address(parts.hostname or "")
        _ = parts.port  # raises where it is none
        with socket.socket(socket.AF_INET6 if address.version == 6 else socket.AF_INET) as probe:
            probe.bind((str(address), 0))
    except (OSError, ValueError):
        return False
    return parts.scheme == "http"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:  # alive, of another user
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return pid > 0
