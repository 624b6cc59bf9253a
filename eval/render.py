"""The report as people read it: a table in a terminal, Markdown, one self-contained page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import unquote

from eval.compare import Comparison
from eval.metrics import CUTS, Estimate
from eval.report import ANSWERS, SEARCH, Report, why_failed

if TYPE_CHECKING:
    from rich.table import Table

_PARTS = {"Search": SEARCH, "Answers": ANSWERS}
_SHORT = {
    **{f"recall@{cut}": f"r@{cut}" for cut in CUTS},
    "sources@10": "sources",
    "sameness@10": "sameness",
    "citation_recall": "cite rec.",
    "citation_precision": "cite prec.",
    "quote_fidelity": "verbatim",
    "false_refusal": "false ref.",
    "key_strings": "key str.",
}
_GAP_METRICS = ("recall@1", "recall@10", "ndcg@10", "key_strings")
_PLOTS = ("recall@1", "recall@10", "ndcg@10", "key_strings", "citation_precision", "citation_recall")
_TILES = frozenset({*_PLOTS, "mrr", "quote_fidelity", "refused", "false_refusal"})


def tables(report: Report) -> Iterator[Table]:
    """Tables for a terminal of 100 columns: search, and answers where they were measured."""
    from rich import box
    from rich.table import Table

    for title, wanted in _PARTS.items():
        if metrics := _measured(report, wanted):
            view = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
            view.add_column("group", no_wrap=True)
            for heading in ("n", *(_SHORT.get(metric, metric) for metric in metrics)):
                view.add_column(heading, justify="right", no_wrap=True)
            for row in _rows(report, metrics):
                view.add_row(*row, style="dim" if row[0].startswith("·") else "")
            yield view


def markdown(report: Report, comparison: Comparison | None = None) -> str:
    """The groups as Markdown tables, then latency, gaps and what changed."""
    lines = []
    for title, wanted in _PARTS.items():
        if metrics := _measured(report, wanted):
            lines += [f"## {title}", "", f"| group | n | {' | '.join(metrics)} |", f"|---|--:|{'--:|' * len(metrics)}"]
            lines += [f"| {' | '.join(row)} |" for row in _rows(report, metrics)] + [""]
    lines += [f"- {line}" for line in summary(report)]
    if comparison is not None:
        lines += ["", "## Since the baseline", "", *(f"- {line}" for line in changes(comparison))]
    return "\n".join(lines) + "\n"


def summary(report: Report) -> Iterator[str]:
    """Latency, gaps between the languages, and what the reader should know of the cases, a line each."""
    for metric, times in report.latency.items():
        name = metric.removesuffix("_ms")
        yield f"{name}: p50 {times.p50:.0f} ms, p95 {times.p95:.0f} ms, p99 {times.p99:.0f} ms"
    for name, gap in report.gaps.items():
        if shown := [f"{metric} {round(gap[metric], 2) + 0.0:+.2f}" for metric in _GAP_METRICS if metric in gap]:
            yield f"{name}: {', '.join(shown)}"
    if absent := sorted({file for result in report.cases for file in result.absent}):
        yield f"gold files that the corpus lacks: {', '.join(absent)}"
    if unreadable := [result.case.id for result in report.cases if result.unreadable]:
        yield f"gold quotes that stand in no source as it was read: {', '.join(unreadable)}"


def changes(comparison: Comparison) -> Iterator[str]:
    """What changed, a line each: the totals, then every case."""
    if comparison.totals:
        yield "all: " + ", ".join(map(str, comparison.totals))
    for case in comparison.cases:
        yield f"{case.verdict}: {case.id}: " + ", ".join(map(str, case.moves))
    if comparison.added:
        yield f"new: {', '.join(comparison.added)}"
    if comparison.gone:
        yield f"gone: {', '.join(comparison.gone)}"
    if not (comparison.cases or comparison.added or comparison.gone):
        yield "no case changed"


def html(report: Report, comparison: Comparison | None = None) -> str:
    """One self-contained page with plots, and for every case what was retrieved."""
    from jinja2 import Environment, StrictUndefined

    source = files("eval").joinpath("report.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters["unquoted"] = unquote
    return environment.from_string(source).render(
        report=report,
        comparison=comparison,
        summary=list(summary(report)),
        tiles=_TILES,
        plots=_measured(report, _PLOTS),
        parts={title: metrics for title, wanted in _PARTS.items() if (metrics := _measured(report, wanted))},
        why_failed=why_failed,
        failed=report.failed,
        passed=[result for result in report.cases if not why_failed(result)],
    )


def _measured(report: Report, metrics: Sequence[str]) -> list[str]:
    return [metric for metric in metrics if any(metric in group for group in report.groups.values())]


def _rows(report: Report, metrics: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """A row for each group, below the first the bounds of its 95 % intervals. `n` counts cases, not answerable ones."""
    for name, group in report.groups.items():
        cells = [group.get(metric) for metric in metrics]
        if any(cells):
            size = max(cell.n for cell in group.values())
            yield (name, str(size), *(_shown(cell and cell.value) for cell in cells))
        if name == "all":
            yield ("· 95 % from", "", *(_shown(cell and cell.low) for cell in cells))
            yield ("· to", "", *(_shown(cell and cell.high) for cell in cells))


def _shown(value: float | Estimate | None) -> str:
    return "–" if value is None else f"{value:.2f}"
