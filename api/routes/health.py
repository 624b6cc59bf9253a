"""Whether the process lives, and whether it can answer."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from api.messages import Health
from api.service import Service

router = APIRouter(tags=["health"])


@router.get("/healthz", operation_id="getHealth")
async def healthz() -> Health:
    return Health(status="ok")


@router.get("/readyz", operation_id="getReadiness", responses={503: {"model": Health}})
async def readyz(request: Request, response: Response) -> Health:
    """Ready once the embedder is loaded; 503 until then, and for good where it cannot be."""
    service: Service = request.app.state.service
    if service.unready is None:
        return Health(status="ready")
    response.status_code = 503
    return Health(status="not ready", detail=service.unready)
