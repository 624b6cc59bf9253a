"""What routes are given, as named aliases."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from api.auth import require_owner, require_reader
from api.service import Service
from api.workers import Workers


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
