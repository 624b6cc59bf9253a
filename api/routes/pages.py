"""The page for readers: static files, no build step. Data comes from `/v1`, never from here."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse

WEB = Path(__file__).parents[1] / "web"

router = APIRouter(include_in_schema=False)


@router.get("/")
async def home() -> FileResponse:
    return FileResponse(WEB / "index.html", headers={"Cache-Control": "no-cache"})


@router.get("/source/{name}")
async def source(name: str) -> FileResponse:  # noqa: ARG001 - the script reads it from the address
    return FileResponse(WEB / "source.html", headers={"Cache-Control": "no-cache"})
