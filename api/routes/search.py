"""Searching and asking."""

from __future__ import annotations

from datetime import date as Date  # noqa: N812
from typing import Annotated

from fastapi import APIRouter, Query as Parameter

from api.base import Gap, MarkedHit
from api.dependencies import Library, Reader, Work
from api.messages import AskRequest, Facets
from kb.types import Answer, Filters, Kind, Lang, Query

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Reader])


@router.get("/search", operation_id="search")
async def search(
    library: Library,
    work: Work,
    q: str,
    kind: Annotated[list[Kind], Parameter()] = [],
    lang: Annotated[list[Lang], Parameter()] = [],
    talk: Annotated[list[str], Parameter()] = [],
    source: Annotated[list[str], Parameter()] = [],
    version: Annotated[list[str], Parameter()] = [],
    since: Date | None = None,
    until: Date | None = None,
    limit: Annotated[int, Parameter(ge=1, le=100)] = 10,
) -> list[MarkedHit]:
    """The passages that answer `q` best. A filter given twice means either; different filters must all hold."""
    filters = Filters(
        kinds=tuple(kind),
        langs=tuple(lang),
        talks=tuple(talk),
        sources=tuple(source),
        versions=tuple(version),
        since=since,
        until=until,
    )
    return await work.run(lambda: library.search(Query(text=q, filters=filters, limit=limit)))


@router.post("/search", operation_id="searchByBody")
async def search_by_body(library: Library, work: Work, query: Query) -> list[MarkedHit]:
    """As GET, for questions that are too long for an address."""
    return await work.run(lambda: library.search(query))


@router.post("/ask", operation_id="ask")
async def ask(library: Library, work: Work, request: AskRequest) -> Answer:
    """An answer with numbered citations, or a refusal (`refused`), which is a result and no error."""
    return await work.run(lambda: library.ask(request.question, request.filters))


@router.get("/facets", operation_id="listFacets")
async def facets(library: Library, work: Work) -> Facets:
    """The values that filters can take."""
    return await work.run(library.facets)


@router.get("/gaps", operation_id="listGaps")
async def gaps(library: Library, work: Work) -> list[Gap]:
    """Questions that were refused."""
    return await work.run(library.gaps)
