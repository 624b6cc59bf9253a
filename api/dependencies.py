"""What routes are given: named aliases, and paths of this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from api.auth import require_owner, require_reader
from api.service import Service
from api.workers import Workers
from kb.errors import BadRequest


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _workers(request: Request) -> Workers:
    workers: Workers = request.app.state.workers
    return workers


Library = Annotated[Service, Depends(_service)]
Work = Annotated[Workers, Depends(_workers)]
Reader = Depends(require_reader)
Owner = Depends(require_owner)


def absolute(path: str) -> Path:
    """
    Raises:
        BadRequest: if it is not absolute, or no file system spells a path so.
    """
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise BadRequest("no path is spelt so", where=repr(path), remedy="Name it as the file system does") from error
    if "\x00" in path or not Path(path).is_absolute():
        raise BadRequest("the path is not absolute", where=repr(path), remedy="Name it from the root of the machine")
    return Path(path)
