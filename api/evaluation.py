"""`kb eval`: hands the library to the evaluation, and keeps its report."""

from __future__ import annotations

from pathlib import Path

from api.base import KnowledgeBase, MarkedHit
from api.console import note, out
from api.progress import bar
from eval import report as reports
from eval import run as runs
from eval.cases import load_cases
from kb.types import Answer, Document, Filters, Outcome, Progress, Query


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


def measure(library: KnowledgeBase, cases: Path, corpus: Path | None, *, answers: bool) -> reports.Report:
    """Ask every question of `cases`, after adding `corpus`, where one is given.

    Raises:
        BadRequest: if `cases` cannot be read.
    """
    questions = load_cases([cases])
    if corpus is not None:
        with bar("Adding") as show:
            for change in library.add([corpus], show):
                if change.outcome is Outcome.FAILED:
                    note(f"{change.path}: {change.error}")
    subject = Measured(library)
    with bar("Measuring") as show:
        results = runs.run(
            questions,
            subject,
            answers=answers,
            on_progress=lambda done, total: show(Progress(done=done, total=total, path=str(cases), stage="asking")),
        )
    return reports.build(results, subject.recipe)


def keep(report: reports.Report, folder: Path | None) -> None:
    """Write the report as JSON, Markdown and HTML; nothing where no folder is named."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(report.model_dump_json(indent=1), encoding="utf-8")
    (folder / "report.md").write_text(reports.markdown(report), encoding="utf-8")
    (folder / "report.html").write_text(reports.html(report), encoding="utf-8")
    note(f"The report is in {folder}")


def show_report(report: reports.Report) -> None:
    if out.is_terminal:
        out.print(reports.table(report))
    else:
        out.print(reports.markdown(report), soft_wrap=True)
