"""Searching and asking."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from fastapi import Query as Parameters

from api.base import MarkedHit
from api.dependencies import Library, Reader, Work
from api.messages import AskRequest, Facets, SearchParameters
from kb.types import Answer, Gap, Query

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Reader])


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


@router.post("/ask", operation_id="ask")
async def ask(library: Library, work: Work, request: AskRequest) -> Answer:
    """An answer with numbered citations, or a refusal (`refused`), which is a result and no error."""
    return await work.run(lambda: library.ask(request.question, request.filters, record=request.record))


@router.get("/facets", operation_id="listFacets")
async def facets(library: Library, work: Work) -> Facets:
    """The values that filters can take."""
    return await work.run(library.facets)


@router.get("/gaps", operation_id="listGaps")
async def gaps(library: Library, work: Work) -> list[Gap]:
    """Questions that were refused."""
    return await work.run(library.gaps)
