"""Asks a service every question and judges what comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

from eval import judge
from eval.cases import Case, Gold
from eval.metrics import CUTS, ranking, sameness
from kb.errors import BadRequest, NotFound
from kb.types import Answer, Document, Filters, Frozen, Hit, Query

_WARM_UP = "warm"  # loads the models before the clock runs


class Subject(Protocol):
    """Whatever is measured: something that searches, answers and shows its sources."""

    def search(self, query: Query) -> Sequence[Hit]: ...

    def ask(self, question: str, filters: Filters) -> Answer: ...

    def show(self, name: str) -> Document: ...


class Retrieved(Frozen):
    """One retrieved chunk, as a reader of the report needs it."""

    uri: str
    title: str
    locator: str
    score: float
    ranks: dict[str, int]  # its place in each list that found it
    holds: tuple[int, ...]  # numbers of the quotes, gold first, that stand in it
    quote: str
    text: str

    @classmethod
    def of(cls, hit: Hit, holds: frozenset[int]) -> Retrieved:
        return cls(
            uri=hit.source.uri,
            title=hit.source.title,
            locator=str(hit.locator),
            score=hit.score,
            ranks={rank.list: rank.rank for rank in hit.ranks},
            holds=tuple(sorted(holds)),
            quote=hit.quote,
            text=hit.chunk.text,
        )


class Result(Frozen):
    """A case, what came back and what it was worth: a number in `scores` for each metric that applies."""

    case: Case
    scores: dict[str, float]
    retrieved: tuple[Retrieved, ...]
    absent: tuple[str, ...] = ()  # files of the quotes that the corpus does not have
    unreadable: tuple[int, ...] = ()  # numbers of the quotes that stand in no segment of their file
    answer: str = ""
    refused: bool = False
    missing: tuple[str, ...] = ()  # key strings that the answer lacks
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
    subject.search(Query(text=_WARM_UP))
    if answers:
        subject.ask(_WARM_UP, Filters())
    results = []
    for done, case in enumerate(cases):
        on_progress(done, len(cases))
        result = _retrieve(case, subject, document)
        results.append(_answer(case, subject, document, result) if answers else result)
    on_progress(len(cases), len(cases))
    return _with_sameness(results)


def _retrieve(case: Case, subject: Subject, document: Callable[[str], Document]) -> Result:
    started = time.perf_counter()
    hits = subject.search(Query(text=case.question, limit=CUTS[-1]))
    scores = {"search_ms": (time.perf_counter() - started) * 1000}
    held = judge.quotes_held(case, hits, lambda source_id: document(source_id).source)
    if case.answerable:
        scores |= ranking(held, gold=len(case.gold))
        scores["sources@10"] = float(len({hit.source.id for hit in hits[:10]}))
    absent = tuple(dict.fromkeys(gold.file for gold in case.quotes if not _is_there(gold.file, document)))
    return Result(
        case=case,
        scores=scores,
        retrieved=tuple(Retrieved.of(hit, quotes) for hit, quotes in zip(hits, held, strict=True)),
        absent=absent,
        unreadable=tuple(
            number
            for number, gold in enumerate(case.quotes)
            if gold.file not in absent and not _is_readable(gold, document)
        ),
    )


def _is_there(file: str, document: Callable[[str], Document]) -> bool:
    try:
        document(file)
    except NotFound:
        return False
    except BadRequest:  # several sources end in this path
        return True
    return True


def _is_readable(gold: Gold, document: Callable[[str], Document]) -> bool:
    """Whether the quote stands in the file as it was parsed; if not, no search can find it."""
    try:
        segments = document(gold.file).segments
    except BadRequest:  # several sources end in this path
        return True
    return judge.folded(gold.words) in judge.folded("\n".join(segment.text for segment in segments))


def _answer(case: Case, subject: Subject, document: Callable[[str], Document], result: Result) -> Result:
    started = time.perf_counter()
    answer = subject.ask(case.question, Filters())
    scores = {"ask_ms": (time.perf_counter() - started) * 1000}
    shown = answer.refused.nearest if answer.refused else answer.citations
    if shown:
        verbatim = [judge.is_verbatim(citation, document(citation.source_id)) for citation in shown]
        scores["quote_fidelity"] = sum(verbatim) / len(verbatim)
    missing = judge.missing_key_strings(case, answer)
    scores |= _worth(case, answer, missing, lambda source_id: document(source_id).source)
    return result.model_copy(
        update={
            "scores": result.scores | scores,
            "answer": answer.refused.reason if answer.refused else answer.text,
            "refused": answer.refused is not None,
            "missing": missing,
            "citations": tuple(f"[{c.n}] {c.title} {c.locator}: {c.quote}" for c in shown),
        }
    )


def _worth(case: Case, answer: Answer, missing: Sequence[str], source_of: judge.SourceOf) -> dict[str, float]:
    """A refusal of an answerable question holds no key string and covers no quote, and has no precision."""
    refused = answer.refused is not None
    if not case.answerable:
        return {"refused": float(refused)}
    scores = {"false_refusal": float(refused), "citation_recall": judge.citation_recall(case, answer, source_of)}
    if case.must_include:
        scores["key_strings"] = float(not missing and not refused)
    if not refused:
        scores["citation_precision"] = judge.citation_precision(case, answer, source_of)
    return scores


def _with_sameness(results: Sequence[Result]) -> list[Result]:
    """Each result with `sameness@10`, measured among the questions of its language."""
    shared: dict[str, float] = {}
    for lang in {result.case.lang for result in results}:
        group = [result for result in results if result.case.lang == lang]
        tops = [frozenset(f"{hit.uri} {hit.text}" for hit in result.retrieved[:10]) for result in group]
        shared |= {result.case.id: share for result, share in zip(group, sameness(tops), strict=True)}
    return [
        result.model_copy(update={"scores": result.scores | {"sameness@10": shared[result.case.id]}})
        for result in results
    ]
