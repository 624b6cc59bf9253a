"""Fourth stage: rules that a program can hold an evidence draft to. They name what to repair, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from generate.draft import Draft, Figure
from generate.ledger import Ledger
from kb.text import fold
from kb.types import Document, Finding, Frozen, Locator, Mark, Page, Severity, Time

Images = Callable[[str, int], Path | None]
"""`(source_id, page)` to the image of that page, where there is one."""


class Report(Frozen):
    findings: tuple[Finding, ...]


def check(draft: Draft, ledger: Ledger, documents: Sequence[Document], images: Images) -> Report:
    return Report(
        findings=(
            *_quotes_stand(draft, ledger, documents),
            *_figures_exist(draft, images),
            *_sections_say_something(draft),
            *_speech_is_laid_out(ledger),
        )
    )


def _quotes_stand(draft: Draft, ledger: Ledger, documents: Sequence[Document]) -> Iterator[Finding]:
    """Every shown quote is known, and stands word for word in the segments that its locator covers."""
    evidence = {quote.evidence.id: quote.evidence for quote in ledger.quotes}
    by_source = {document.source.id: document for document in documents}
    for section in draft.sections:
        for shown in (quote for part in section.parts for quote in part.quotes):
            if shown not in evidence:
                yield _finding(Severity.P0, "unknown-evidence", section.title, f"{shown} is not in the ledger.")
                continue
            held = evidence[shown]
            document = by_source.get(held.source_id)
            covered = [s.text for s in document.segments if _covers(held.locator, s.locator)] if document else []
            if fold(held.quote).text not in fold("\n".join(covered)).text:
                hint = f"{shown} is not word for word what stands at {held.locator}."
                yield _finding(Severity.P0, "quote-not-verbatim", section.title, hint)


def _covers(held: Locator, segment: Locator) -> bool:
    if isinstance(held, Time) and isinstance(segment, Time):
        return (segment.start_ms < held.end_ms and held.start_ms < segment.end_ms) or held == segment
    if isinstance(held, Mark) and isinstance(segment, Mark):
        return segment.line_start <= held.line_end and held.line_start <= segment.line_end
    return isinstance(held, Page) and isinstance(segment, Page) and held.number == segment.number


def _figures_exist(draft: Draft, images: Images) -> Iterator[Finding]:
    figures = [part.figure for section in draft.sections for part in section.parts if part.figure]
    missing = [str(figure.page) for figure in figures if image_of(figure, images) is None]
    if missing:
        hint = f"There is no image of pages {', '.join(missing)}; install LibreOffice, or add the deck as PDF, too."
        yield _finding(Severity.P2, "no-figure", draft.title, hint)


def image_of(figure: Figure, images: Images) -> Path | None:
    """The page's image, of this file of the deck or another one."""
    found = (images(source_id, figure.page) for source_id in (figure.source_id, *figure.twins))
    return next((path for path in found if path is not None and path.is_file()), None)


def _sections_say_something(draft: Draft) -> Iterator[Finding]:
    for section in draft.sections:
        if not any(part.quotes for part in section.parts):
            shown = any(part.figure for part in section.parts)
            yield _finding(
                Severity.P2 if shown else Severity.P1,
                "empty-section",
                section.title,
                "It has no quote: find evidence, or drop it.",
            )


def _speech_is_laid_out(ledger: Ledger) -> Iterator[Finding]:
    if ledger.slides and ledger.aligned and ledger.aligned < 0.6:
        hint = f"Which slide speech belongs to is only {ledger.aligned:.0%} sure: check what belongs where."
        yield _finding(Severity.P2, "weak-alignment", ledger.talk.title, hint)


def _finding(severity: Severity, rule: str, place: str, hint: str) -> Finding:
    return Finding(severity=severity, rule=rule, place=place, hint=hint)
