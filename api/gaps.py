"""What the corpus lacks: refused and badly rated questions, grouped, and closed once they can be answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime

import structlog

from api.base import awaited, checked_question
from api.models import Models
from generate.llm import Abandoned
from index.catalog import Catalog
from index.embed import CROSS, DENSE
from kb.text import detect_lang
from kb.types import Answer, Citation, Feedback, Gap, GapGroup

Ask = Callable[[str, Callable[[], bool]], Answer]

_log = structlog.get_logger(__name__)

_SAME = {CROSS: 0.55, DENSE: 0.7}  # cosine from which two questions ask for the same; docs/answers.md
_NEAREST = 3


class Gaps:
    """The gaps of one library.

    Args:
        models: where one of them is cross-lingual, it sees a question and its translation as one.
        ask: answers a question without filing it, as long as somebody waits.
    """

    def __init__(self, catalog: Catalog, models: Models, ask: Ask) -> None:
        self._catalog = catalog
        self._list = CROSS if CROSS in models.embedders else DENSE
        self._embedder = models.embedders[self._list]
        self._ask = ask
        self._remembered = models.remembered

    def file(self, answer: Answer) -> None:
        """File a refused question, as it stands alone; an answered one is none."""
        if answer.refused is not None:
            self._catalog.add_gap(_gap_of(answer))

    def rate(self, feedback: Feedback) -> None:
        """Keep a rating. A bad one files the question; a good one closes it, if bad ratings had filed it.

        Raises:
            BadRequest: if the question is none.
        """
        question = checked_question(feedback.question)
        self._catalog.add_rating(feedback.model_copy(update={"question": question}))
        if not feedback.good:
            bad = _gap_of(self._ask(question, awaited))  # filed even if whoever rated has gone
            self._catalog.add_gap(bad)
        elif any(gap.origin == "rated" and gap.question == question for gap in self._catalog.gaps()):
            self._catalog.close_gap(question, datetime.now(UTC))

    def groups(self, *, closed: bool = False) -> list[GapGroup]:
        """Open gaps, or those that were closed, in groups that ask for the same; the most often asked first."""
        found = [gap for gap in self._catalog.gaps() if (gap.closed_at is not None) is closed]
        if not found:
            return []
        from index.embed_cache import CachedEmbedder, Questions
        from index.grouping import group

        with closing(CachedEmbedder(Questions(self._embedder), self._remembered)) as kept:
            vectors = kept.embed_passages([gap.question for gap in found])
        groups = [_group_of([found[row] for row in rows]) for rows in group(vectors, _SAME[self._list])]
        return sorted(groups, key=lambda one: (-one.times, -one.asked_at.timestamp(), one.question))

    def recheck(self, is_abandoned: Callable[[], bool]) -> list[Gap]:
        """Ask every refused question again, and close those that the corpus answers by now; gives these.

        Raises:
            Abandoned: if `is_abandoned` says that nobody waits; what was closed until then stays so.
        """
        closed = []
        for gap in self._catalog.gaps():
            if is_abandoned():
                raise Abandoned
            is_open = gap.closed_at is None and gap.origin == "refused"
            if is_open and self._ask(gap.question, is_abandoned).refused is None:
                at = datetime.now(UTC)
                self._catalog.close_gap(gap.question, at)
                closed.append(gap.model_copy(update={"closed_at": at}))
        _log.info("gaps.rechecked", closed=len(closed))
        return closed


def _gap_of(answer: Answer) -> Gap:
    refused = answer.refused
    return Gap(
        question=answer.asked_as or answer.question,
        lang=detect_lang(answer.asked_as or answer.question),
        reason=refused.reason if refused else "a reader found its answer bad",
        origin="refused" if refused else "rated",
        missing=refused.missing if refused else (),
        nearest=refused.nearest if refused else answer.citations[:_NEAREST],
        asked_at=datetime.now(UTC),
    )


def _group_of(gaps: Sequence[Gap]) -> GapGroup:
    missing = [word for gap in gaps for word in gap.missing]
    nearest: dict[str, Citation] = {}
    for citation in (citation for gap in gaps for citation in gap.nearest):
        nearest.setdefault(citation.evidence_id, citation)
    return GapGroup(
        gaps=tuple(gaps),
        times=sum(gap.times for gap in gaps),
        missing=tuple(sorted(dict.fromkeys(missing), key=lambda word: -missing.count(word))),
        nearest=tuple(nearest.values())[:_NEAREST],
        first_asked_at=min(gap.first_asked_at or gap.asked_at for gap in gaps),
        asked_at=max(gap.asked_at for gap in gaps),
    )
