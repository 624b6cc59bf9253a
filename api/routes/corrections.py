"""Corrections of transcripts: listing, adding, accepting and rejecting them."""

from __future__ import annotations

from fastapi import APIRouter

from api.dependencies import Library, Owner, Reader, Work
from api.messages import CorrectionRequest, JudgementRequest
from kb.types import Change, Wording

router = APIRouter(prefix="/v1/corrections", tags=["corrections"], dependencies=[Reader])


@router.get("", operation_id="listCorrections")
async def list_corrections(library: Library, work: Work, source: str | None = None) -> list[Wording]:
    """What was corrected in a source, with its places; without a source, all that people decided."""
    return await work.run(lambda: library.corrections(source))


@router.post("", operation_id="addCorrection", dependencies=[Owner])
async def add_correction(library: Library, work: Work, request: CorrectionRequest) -> list[Change]:
    """Write words as they were meant, in one source or the whole library; gives the sources that changed."""
    return await work.run(lambda: library.correct(request.heard, request.corrected, request.source))


@router.post("/judge", operation_id="judgeCorrections", dependencies=[Owner])
async def judge_corrections(library: Library, work: Work, request: JudgementRequest) -> list[Change]:
    """Accept or reject corrections; a rejected one never comes back."""
    return await work.run(lambda: library.judge(request.ids, request.source, accepted=request.accepted))
