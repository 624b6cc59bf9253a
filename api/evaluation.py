"""`kb eval`: hands the library to the evaluation, tells what it found, and keeps its report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import typer

from api.base import KnowledgeBase, MarkedHit
from api.console import note, out
from api.problems import BELOW_FLOOR, OK
from api.progress import bar, reason
from api.session import library_of, settings_of
from eval import compare, render
from eval import report as reports
from eval import run as runs
from eval.cases import Case, load_cases
from kb.errors import BadRequest, IndexMismatch, NotFound
from kb.files import write_whole
from kb.settings import Settings
from kb.types import Answer, Document, Filters, Outcome, Progress, Query

_WIDEST = 100  # columns


@dataclass(frozen=True)
class Order:
    """What to measure, on what, and what to do with the report."""

    cases: Sequence[Path]
    corpus: Path
    json: Path | None
    html: Path | None
    baseline: Path | None
    floor: Path | None
    answers: bool = True
    fit: bool = False


def carry_out(context: typer.Context, order: Order, home: Path | None) -> int:
    """Measure, show, write and judge; the exit code. What cannot be read is told before anything is measured."""
    if not order.cases:
        raise BadRequest("there is nothing to ask", remedy="Name files of cases: --cases questions.jsonl")
    cases = load_cases(order.cases)
    baseline = reports.read(order.baseline) if order.baseline else None
    floor = compare.read_floor(order.floor) if order.floor else {}
    ours = _choose_home(context, order.corpus, home)
    with library_of(context, new=True) as library:
        prepare(library, order.corpus, ours=ours)
        if order.fit:
            fit(library, cases)
        report = measure(library, cases, answers=order.answers)
    comparison = compare.compare(baseline, report) if baseline else None
    show_report(report, comparison)
    keep(report.model_dump_json(indent=1), order.json)
    keep(render.html(report, comparison), order.html)
    missed = compare.shortfalls(report, floor)
    for shortfall in missed:
        note(f"Below the floor: {shortfall}", "bold red")
    return BELOW_FLOOR if missed else OK


def _choose_home(context: typer.Context, corpus: Path, home: Path | None) -> bool:
    """Set the library, and say whether it is the evaluation's own: `KB_HOME` is where someone works, not asked for."""
    above = context.parent
    source = above.get_parameter_source("home") if above else None
    if home is None and source is not None and source.name == "COMMANDLINE":
        home = context.obj
    context.obj = home or home_for(corpus, settings_of(context))
    return home is None


class Measured:
    """The library as the evaluation sees it: its questions are not filed as gaps, and the recipe is remembered."""

    def __init__(self, library: KnowledgeBase) -> None:
        self._library = library
        self.recipe = ""

    def search(self, query: Query) -> list[MarkedHit]:
        hits = self._library.search(query)
        self.recipe = self.recipe or next((hit.chunk.recipe for hit in hits), "")
        return hits

    def ask(self, question: str, filters: Filters) -> Answer:
        answer = self._library.ask(question, filters, record=False)
        self.recipe = answer.recipe
        return answer

    def show(self, name: str) -> Document:
        return self._library.show(name)


def home_for(corpus: Path, settings: Settings) -> Path:
    """A library of the evaluation's own, one for each corpus, kept for the next run."""
    path = corpus.resolve()
    return settings.cache / "eval" / f"{path.name}-{sha256(os.fsencode(path)).hexdigest()[:8]}"


def prepare(library: KnowledgeBase, corpus: Path, *, ours: bool) -> None:
    """Make the library equal to the corpus, as `kb sync` does; an outdated index is rebuilt where it is `ours`.

    Raises:
        NotFound: if the corpus is no folder.
        IndexMismatch: if another recipe built the index, and the library is someone's.
    """
    if not corpus.is_dir():
        raise NotFound("there is no such folder", where=str(corpus), remedy="Name it with --corpus")
    try:
        _sync(library, corpus)
    except IndexMismatch:
        if not ours:
            raise
        note("The index was built by another recipe: it is built anew")
        with bar("Rebuilding") as show:
            list(library.rebuild(show))
        _sync(library, corpus)


def _sync(library: KnowledgeBase, corpus: Path) -> None:
    with bar("Adding") as show:
        for change in library.sync(corpus, show):
            if change.outcome is Outcome.FAILED:
                note(f"{change.path}: {reason(change)}")


def fit(library: KnowledgeBase, cases: Sequence[Case]) -> None:
    """Fit the weights of the lists and the line of refusal, and say what they are worth.

    Raises:
        BadRequest: if the library lies behind a service, or no case has an answer.
    """
    from api.service import Service

    if not isinstance(library, Service):
        raise BadRequest("weights are fitted where the library lies", remedy="Stop `kb serve`, then fit again")
    with bar("Fitting", "steps") as show:
        fitted, line = library.fit(cases, show)
    note(f"Weights: {fitted.weights}")
    note(f"Worth on questions not fitted on: {fitted.unseen:.3f}; with the weights before: {fitted.before_unseen:.3f}")
    if line is None:
        note("Refusal: the line stays, there are too few questions with or without an answer to draw one")
    else:
        told = "The new line is kept" if line.is_taken else "The line before stays"
        note(
            f"Refused on questions not fitted on: {line.refused:.2f} unanswerable, {line.false_refusal:.2f} answerable"
        )
        note(f"By the line before: {line.before_refused:.2f} and {line.before_false_refusal:.2f}. {told}")


def measure(library: KnowledgeBase, cases: Sequence[Case], *, answers: bool) -> reports.Report:
    """Ask every question."""
    subject = Measured(library)
    with bar("Measuring", "questions") as show:
        results = runs.run(
            cases,
            subject,
            answers=answers,
            on_progress=lambda done, total: show(Progress(done=done, total=total, path="", stage="")),
        )
    return reports.build(results, subject.recipe)


def keep(text: str, path: Path | None) -> None:
    """Write `text` to `path`, whole or not at all; nothing where no path is named."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
    note(f"Written: {path}")


def show_report(report: reports.Report, comparison: compare.Comparison | None) -> None:
    """Tables in a terminal, Markdown in a pipe."""
    if not out.is_terminal:
        out.print(render.markdown(report, comparison), soft_wrap=True, end="")
        return
    for table in render.tables(report):
        out.print(table, width=min(out.width, _WIDEST))
    for line in render.summary(report):
        out.print(line, soft_wrap=True)
    if comparison is not None:
        out.print("\nSince the baseline")
        for line in render.changes(comparison):
            out.print(line, style={"worse": "red", "better": "green"}.get(line.partition(":")[0], ""), soft_wrap=True)
