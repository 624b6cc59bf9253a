"""Asks a service every question and judges what comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

from eval import judge
from eval.cases import Case
from eval.metrics import CUTS, ranking
from kb.types import Answer, Document, Filters, Frozen, Hit, Query, Source


class Subject(Protocol):
    """Whatever is measured: something that searches, answers and shows its sources."""

    def search(self, query: Query) -> Sequence[Hit]: ...

    def ask(self, question: str, filters: Filters) -> Answer: ...

    def show(self, name: str) -> Document: ...


class Retrieved(Frozen):
    """One retrieved chunk, as a reader of the report needs it."""

    source: str
    locator: str
    score: float
    quotes: tuple[int, ...]  # numbers of the gold quotes that it holds
    text: str


class Result(Frozen):
    """A case, what came back and what it was worth: a number in `scores` for each metric that applies."""

    case: Case
    scores: dict[str, float]
    retrieved: tuple[Retrieved, ...]
    answer: str = ""
    citations: tuple[str, ...] = ()


def run(
    cases: Sequence[Case],
    subject: Subject,
    *,
    answers: bool = True,
    on_progress: Callable[[int, int], None],
) -> list[Result]:
    """Measure `subject` on every case; without `answers`, retrieval only."""
    document = lru_cache(maxsize=256)(subject.show)
    results = []
    for done, case in enumerate(cases):
        on_progress(done, len(cases))
        result = _retrieve(case, subject)
        results.append(_answer(case, subject, document, result) if answers else result)
    on_progress(len(cases), len(cases))
    return results


def _retrieve(case: Case, subject: Subject) -> Result:
    started = time.perf_counter()
    hits = subject.search(Query(text=case.question, limit=CUTS[-1]))
    scores = {"search_ms": (time.perf_counter() - started) * 1000}
    held = judge.quotes_held(case, hits)
    if case.answerable:
        scores |= ranking(held, quotes=len(case.quotes), gold=len(case.gold))
        scores["sources@10"] = float(len({hit.chunk.source_id for hit in hits[:10]}))
    retrieved = tuple(
        Retrieved(
            source=hit.source.title,
            locator=str(hit.chunk.spans[0].locator),
            score=hit.score,
            quotes=tuple(sorted(quotes)),
            text=hit.quote,
        )
        for hit, quotes in zip(hits, held, strict=True)
    )
    return Result(case=case, scores=scores, retrieved=retrieved)


def _answer(case: Case, subject: Subject, document: Callable[[str], Document], result: Result) -> Result:
    started = time.perf_counter()
    answer = subject.ask(case.question, Filters())
    scores = {"ask_ms": (time.perf_counter() - started) * 1000}
    refused = answer.refused is not None
    if case.answerable:
        scores["false_refusal"] = float(refused)
        scores["key_strings"] = 0.0 if refused else judge.key_strings(case, answer)
    else:
        scores["refused"] = float(refused)
    if not refused:
        scores |= _citations(case, answer, document)
    return result.model_copy(
        update={
            "scores": result.scores | scores,
            "answer": answer.refused.reason if answer.refused else answer.text,
            "citations": tuple(f"[{c.n}] {c.title} {c.locator}: {c.quote}" for c in answer.citations),
        }
    )


def _citations(case: Case, answer: Answer, document: Callable[[str], Document]) -> dict[str, float]:
    def source_of(source_id: str) -> Source:
        return document(source_id).source

    citations = answer.citations
    verbatim = [judge.is_verbatim(citation, document(citation.source_id)) for citation in citations]
    scores = {"quote_fidelity": sum(verbatim) / len(verbatim) if verbatim else 0.0}
    if case.answerable:
        right = [judge.from_gold_file(case, citation, source_of) for citation in citations]
        scores["citation_precision"] = sum(right) / len(right) if right else 0.0
        scores["citation_recall"] = float(judge.cites_gold(case, answer, source_of))
    return scores
