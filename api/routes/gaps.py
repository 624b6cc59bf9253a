"""What the corpus lacks, and what readers think of answers."""

from __future__ import annotations

from fastapi import APIRouter, Request

from api.dependencies import Library, Owner, Reader, Work
from kb.types import Feedback, Gap, GapGroup

router = APIRouter(prefix="/v1", tags=["gaps"], dependencies=[Reader])


@router.post("/feedback", operation_id="rateAnswer")
async def rate(library: Library, work: Work, feedback: Feedback) -> Feedback:
    """Say whether an answer was good. A bad one files its question as a gap."""
    await work.run(lambda: library.rate(feedback))
    return feedback


@router.get("/gaps", operation_id="listGaps")
async def gaps(library: Library, work: Work, *, closed: bool = False) -> list[GapGroup]:
    """Questions that were refused or badly answered, in groups that ask for the same; or those that are closed."""
    return await work.run(lambda: library.gaps(closed=closed))


@router.post("/gaps/recheck", operation_id="recheckGaps", dependencies=[Owner])
async def recheck(library: Library, work: Work, request: Request) -> list[Gap]:
    """Ask every refused question again; gives those that are answered by now."""
    return await work.watched(lambda gone: library.recheck_gaps(is_abandoned=gone), request.is_disconnected)
