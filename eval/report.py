"""The report: every metric by group with its interval, every case with what was retrieved, and what changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from eval.metrics import CUTS, Estimate, estimate, percentile
from eval.run import Result
from kb.errors import BadRequest
from kb.types import Frozen

if TYPE_CHECKING:
    from rich.table import Table

QUALITY = (*(f"recall@{cut}" for cut in CUTS), "ndcg@10", "mrr", "all_gold@10", "sources@10")
ANSWERS = ("key_strings", "citation_recall", "citation_precision", "quote_fidelity", "refused", "false_refusal")
LATENCY = ("search_ms", "ask_ms")
LOWER_IS_BETTER = frozenset({"false_refusal", *LATENCY})


class Latency(Frozen):
    p50: float
    p95: float


class Report(Frozen):
    """What one run measured; `groups[NAME][METRIC]` holds the estimates."""

    made: datetime
    recipe: str
    groups: dict[str, dict[str, Estimate]]
    latency: dict[str, Latency]
    cases: tuple[Result, ...]


class Shortfall(Frozen):
    """A metric below its floor (or above it, where lower is better)."""

    group: str
    metric: str
    value: float
    floor: float


class Changed(Frozen):
    """A case whose worth differs between two reports."""

    id: str
    metric: str
    before: float
    after: float


def build(results: Sequence[Result], recipe: str) -> Report:
    """Sum up the results of one run."""
    grouped: dict[str, dict[str, list[float]]] = {}
    for result in results:
        for group in result.case.groups():
            for metric, value in result.scores.items():
                grouped.setdefault(group, {}).setdefault(metric, []).append(value)
    groups = {
        group: {metric: estimate(metrics[metric]) for metric in (*QUALITY, *ANSWERS, *LATENCY) if metrics.get(metric)}
        for group, metrics in sorted(grouped.items(), key=lambda item: (":" in item[0], item[0] != "all", item[0]))
    }
    timed = {metric: grouped["all"][metric] for metric in LATENCY if metric in grouped["all"]}
    latency = {metric: Latency(p50=percentile(ms, 50), p95=percentile(ms, 95)) for metric, ms in timed.items()}
    return Report(
        made=datetime.now(UTC).replace(microsecond=0),
        recipe=recipe,
        groups=groups,
        latency=latency,
        cases=tuple(results),
    )


def read(path: Path) -> Report:
    """A report written as JSON.

    Raises:
        BadRequest: if the file is no report.
    """
    try:
        return Report.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        raise BadRequest(f"this is no report: {error}", where=str(path)) from error


def compare(before: Report, after: Report) -> Iterator[Changed]:
    """The cases whose quality differs, metric by metric."""
    old = {result.case.id: result.scores for result in before.cases}
    for result in after.cases:
        for metric in (*QUALITY, *ANSWERS):
            was, now = old.get(result.case.id, {}).get(metric), result.scores.get(metric)
            if was is not None and now is not None and abs(was - now) > 1e-9:
                yield Changed(id=result.case.id, metric=metric, before=was, after=now)


def shortfalls(report: Report, floor_path: Path) -> list[Shortfall]:
    """Where the report misses the committed floor, `{"GROUP": {"METRIC": number}}`.

    Raises:
        BadRequest: if the floor names what the report does not hold.
    """
    floor: dict[str, dict[str, float]] = json.loads(floor_path.read_text(encoding="utf-8"))
    missed = []
    for group, metrics in floor.items():
        for metric, least in metrics.items():
            try:
                value = report.groups[group][metric].value
            except KeyError as error:
                raise BadRequest(f"the report has no {group} {metric}", where=str(floor_path)) from error
            if (value > least) if metric in LOWER_IS_BETTER else (value < least):
                missed.append(Shortfall(group=group, metric=metric, value=value, floor=least))
    return missed


def markdown(report: Report) -> str:
    """The groups as one Markdown table."""
    metrics = [metric for metric in (*QUALITY, *ANSWERS) if any(metric in group for group in report.groups.values())]
    lines = [f"| group | n | {' | '.join(metrics)} |", f"|---|--:|{'--:|' * len(metrics)}"]
    for name, group in report.groups.items():
        cells = [f"{group[metric].value:.2f}" if metric in group else "–" for metric in metrics]
        lines.append(f"| {name} | {max(cell.n for cell in group.values())} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def table(report: Report) -> Table:
    """The groups as a terminal table."""
    from rich.table import Table

    short = {"citation_recall": "cite rec", "citation_precision": "cite prec", "quote_fidelity": "verbatim"}
    short |= {"key_strings": "key str", "false_refusal": "false ref", "all_gold@10": "all@10", "sources@10": "srcs@10"}
    metrics = [metric for metric in (*QUALITY, *ANSWERS) if any(metric in group for group in report.groups.values())]
    view = Table("group", *(short.get(metric, metric) for metric in metrics), title="Evaluation", title_justify="left")
    for name, group in report.groups.items():
        view.add_row(name, *(f"{group[metric].value:.2f}" if metric in group else "–" for metric in metrics))
    return view


def html(report: Report, changed: Sequence[Changed] = ()) -> str:
    """One self-contained page with plots, and for every case what was retrieved."""
    from jinja2 import Environment

    source = files("eval").joinpath("report.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(source).render(
        report=report,
        changed=changed,
        plots=("recall@1", "recall@10", "ndcg@10", "key_strings", "citation_precision"),
        metrics=(*QUALITY, *ANSWERS),
        failed=[result for result in report.cases if _failed(result)],
        passed=[result for result in report.cases if not _failed(result)],
    )


def _failed(result: Result) -> bool:
    scores = result.scores
    if not result.case.answerable:
        return scores.get("refused", 1.0) < 1
    return scores["recall@10"] < 1 or scores.get("key_strings", 1.0) < 1
