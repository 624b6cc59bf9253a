"""Talks and the articles written from them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from api.dependencies import Library, Owner, Reader, Work, absolute
from api.messages import ChapterParameters, Published, PublishRequest, WriteRequest
from kb.types import Article, Chapter, Talk, Transcript

router = APIRouter(prefix="/v1", tags=["writing"], dependencies=[Reader])


@router.get("/talks", operation_id="listTalks")
async def list_talks(library: Library, work: Work) -> list[Talk]:
    return await work.run(library.talks)


@router.get("/talks/{name:path}/transcript", operation_id="getTranscript")
async def get_transcript(
    library: Library, work: Work, request: Request, name: str, parameters: Annotated[ChapterParameters, Query()]
) -> Transcript:
    """What is said in a talk, line by line with the slides that were on the screen, and its chapters."""
    return await work.watched(
        lambda gone: library.transcript(name, **parameters.length, is_abandoned=gone), request.is_disconnected
    )


@router.get("/talks/{name:path}/chapters", operation_id="listChapters")
async def list_chapters(
    library: Library, work: Work, request: Request, name: str, parameters: Annotated[ChapterParameters, Query()]
) -> list[Chapter]:
    """The chapters of a talk."""
    transcript = await work.watched(
        lambda gone: library.transcript(name, **parameters.length, is_abandoned=gone), request.is_disconnected
    )
    return list(transcript.chapters)


@router.get("/articles", operation_id="listArticles")
async def list_articles(library: Library, work: Work) -> list[Article]:
    return await work.run(library.articles)


@router.post("/articles", operation_id="writeArticle", dependencies=[Owner])
async def write_article(library: Library, work: Work, request: Request, body: WriteRequest) -> Article:
    """Draft an article from a talk; stages that are done are not done again."""
    return await work.watched(
        lambda gone: library.write(body.talk, body.lang, is_abandoned=gone), request.is_disconnected
    )


@router.post("/articles/{slug}/publish", operation_id="publishArticle", dependencies=[Owner])
async def publish_article(library: Library, work: Work, slug: str, request: PublishRequest) -> Published:
    """Copy a reviewed draft into the site."""
    site = absolute(request.site) if request.site is not None else None
    files = await work.run(
        lambda: library.publish(slug, reviewed=request.reviewed, site=site, anywhere=request.anywhere)
    )
    return Published(files=tuple(map(str, files)))
