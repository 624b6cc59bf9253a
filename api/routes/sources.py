"""What is in the library, and changing it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter
from fastapi import Path as PathParameter
from fastapi.responses import FileResponse, StreamingResponse

from api.dependencies import Library, Owner, Reader, Work, absolute
from api.errors import details_of
from api.messages import AddRequest, BatchEvent, SyncRequest
from api.workers import Event
from kb.errors import KBError
from kb.types import Change, Document, Progress, SourceEntry

router = APIRouter(prefix="/v1/sources", tags=["sources"], dependencies=[Reader])

_LINES = {200: {"content": {"application/x-ndjson": {"schema": {"$ref": "#/components/schemas/BatchEvent"}}}}}


@router.get("", operation_id="listSources")
async def list_sources(library: Library, work: Work) -> list[SourceEntry]:
    return await work.run(library.sources)


@router.post("", operation_id="addSources", dependencies=[Owner], responses=_LINES)  # type: ignore[arg-type]
async def add_sources(library: Library, work: Work, request: AddRequest) -> StreamingResponse:
    """Read files of the serving machine; one line of JSON per event (`BatchEvent`)."""
    paths = [absolute(path) for path in request.paths]
    return _streamed(work.batch(lambda report: library.add(paths, report)))


@router.post("/sync", operation_id="syncSources", dependencies=[Owner], responses=_LINES)  # type: ignore[arg-type]
async def sync_sources(library: Library, work: Work, request: SyncRequest) -> StreamingResponse:
    """Make the library equal to a folder: new and changed files are read, vanished ones removed."""
    folder = absolute(request.folder)
    return _streamed(work.batch(lambda report: library.sync(folder, report)))


@router.post("/rebuild", operation_id="rebuildIndex", dependencies=[Owner], responses=_LINES)  # type: ignore[arg-type]
async def rebuild_index(library: Library, work: Work) -> StreamingResponse:
    """Build the index anew from the stored documents."""
    return _streamed(work.batch(library.rebuild))


@router.get("/{name:path}/pages/{number}.webp", operation_id="getPageImage", response_class=FileResponse)
async def get_page_image(
    library: Library, work: Work, name: str, number: Annotated[int, PathParameter(ge=1, le=100_000)]
) -> FileResponse:
    """The picture of a deck's page."""
    image = await work.run(lambda: library.page_image(name, number))
    return FileResponse(image, media_type="image/webp", headers={"Cache-Control": "private, max-age=3600"})


@router.get("/{name:path}", operation_id="getSource")
async def get_source(library: Library, work: Work, name: str) -> Document:
    """A source with all its segments; `name` is its id, or anything that names it alone."""
    return await work.run(lambda: library.show(name))


@router.delete("/{name:path}", operation_id="removeSource", dependencies=[Owner])
async def remove_source(library: Library, work: Work, name: str) -> Change:
    return await work.run(lambda: library.remove(name))


def _streamed(events: AsyncIterator[Event]) -> StreamingResponse:
    return StreamingResponse(_lines(events), media_type="application/x-ndjson")


async def _lines(events: AsyncIterator[Event]) -> AsyncIterator[str]:
    async for event in events:
        line = BatchEvent(
            progress=event if isinstance(event, Progress) else None,
            change=event if isinstance(event, Change) else None,
            problem=details_of(event) if isinstance(event, KBError) else None,
        )
        yield line.model_dump_json(exclude_none=True) + "\n"
