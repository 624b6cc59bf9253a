"""Talks and the articles written from them."""

from __future__ import annotations

from fastapi import APIRouter

from api.dependencies import Library, Owner, Reader, Work
from api.messages import Published, PublishRequest, WriteRequest
from kb.types import Article, Talk

router = APIRouter(prefix="/v1", tags=["writing"], dependencies=[Reader])


@router.get("/talks", operation_id="listTalks")
async def list_talks(library: Library, work: Work) -> list[Talk]:
    return await work.run(library.talks)


@router.get("/articles", operation_id="listArticles")
async def list_articles(library: Library, work: Work) -> list[Article]:
    return await work.run(library.articles)


@router.post("/articles", operation_id="writeArticle", dependencies=[Owner])
async def write_article(library: Library, work: Work, request: WriteRequest) -> Article:
    """Draft an article from a talk; stages that are done are not done again."""
    return await work.run(lambda: library.write(request.talk, request.lang))


@router.post("/articles/{slug}/publish", operation_id="publishArticle", dependencies=[Owner])
async def publish_article(library: Library, work: Work, slug: str, request: PublishRequest) -> Published:
    """Copy a reviewed draft into the site."""
    files = await work.run(lambda: library.publish(slug, reviewed=request.reviewed))
    return Published(files=tuple(map(str, files)))
