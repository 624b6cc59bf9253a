"""Searching and asking."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi import Query as Parameters
from fastapi.responses import Response

from api import stream
from api.base import MarkedHit
from api.dependencies import Library, Reader, Work
from api.messages import AskRequest, Facets, SearchParameters
from kb.types import Answer, Query

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Reader])

_AS_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            stream.MEDIA_TYPE: {
                "schema": {"type": "string"},
                "example": 'event: sentence\ndata: {"event":"sentence","claim":{…},"text":"… [1]"}\n\n',
            }
        }
    }
}


@router.get("/search", operation_id="search")
async def search(
    library: Library, work: Work, parameters: Annotated[SearchParameters, Parameters()]
) -> list[MarkedHit]:
    """The passages that answer `q` best."""
    return await work.run(lambda: library.search(parameters.query))


@router.post("/search", operation_id="searchByBody")
async def search_by_body(library: Library, work: Work, query: Query) -> list[MarkedHit]:
    """As GET, for questions that are too long for an address."""
    return await work.run(lambda: library.search(query))


@router.post("/ask", operation_id="ask", response_model=Answer, responses=_AS_EVENTS)
async def ask(
    library: Library, work: Work, request: Request, body: AskRequest, accept: Annotated[str, Header()] = ""
) -> Answer | Response:
    """An answer with numbered citations, or a refusal (`refused`), which is a result and no error.

    With `Accept: text/event-stream` it comes as events, each sentence as soon as it is verified.
    """
    events = work.answer(
        lambda gone: library.ask_events(
            body.question, body.filters, history=body.history, record=body.record, is_abandoned=gone
        )
    )
    return await (stream.streamed(events) if stream.MEDIA_TYPE in accept else stream.whole(request, events))


@router.get("/facets", operation_id="listFacets")
async def facets(library: Library, work: Work) -> Facets:
    """The values that filters can take."""
    return await work.run(library.facets)
