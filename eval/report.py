"""The report: every metric by group with its interval, and every case with what was retrieved."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from eval.metrics import CUTS, Estimate, estimate, percentile
from eval.run import Result
from kb.errors import BadRequest
from kb.types import Frozen

SEARCH = (*(f"recall@{cut}" for cut in CUTS), "ndcg@10", "mrr", "all@10", "sources@10", "sameness@10")
ANSWERS = ("key_strings", "citation_recall", "citation_precision", "quote_fidelity", "refused", "false_refusal")
LATENCY = ("search_ms", "ask_ms")
LOWER_IS_BETTER = frozenset({"false_refusal", "sameness@10", *LATENCY})
_GAPS = {"zh − en": ("zh", "en"), "same − cross": ("same", "cross")}


class Latency(Frozen):
    """Percentiles, in milliseconds."""

    p50: float
    p95: float
    p99: float


class Report(Frozen):
    """What one run measured; `groups[NAME][METRIC]` holds the estimates, `gaps` differences between two groups."""

    made: datetime
    recipe: str
    groups: dict[str, dict[str, Estimate]]
    gaps: dict[str, dict[str, float]]
    latency: dict[str, Latency]
    cases: tuple[Result, ...]

    @property
    def failed(self) -> tuple[Result, ...]:
        return tuple(result for result in self.cases if why_failed(result))


def build(results: Sequence[Result], recipe: str) -> Report:
    """Sum up the results of one run."""
    grouped: dict[str, dict[str, list[float]]] = {}
    for result in results:
        for group in result.case.groups():
            for metric, value in result.scores.items():
                grouped.setdefault(group, {}).setdefault(metric, []).append(value)
    groups = {
        group: {metric: estimate(grouped[group][metric]) for metric in _known(grouped[group])}
        for group in sorted(grouped, key=_place)
    }
    return Report(
        made=datetime.now(UTC).replace(microsecond=0),
        recipe=recipe,
        groups=groups,
        gaps={name: _gap(groups, *pair) for name, pair in _GAPS.items() if all(group in groups for group in pair)},
        latency={metric: _latency(grouped["all"][metric]) for metric in LATENCY if metric in grouped["all"]},
        cases=tuple(results),
    )


def read(path: Path) -> Report:
    """A report written as JSON.

    Raises:
        BadRequest: if the file is no report.
    """
    try:
        return Report.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadRequest(f"cannot read the report: {error.strerror}", where=str(path)) from error
    except (UnicodeDecodeError, ValidationError) as error:
        remedy = "Name a file that `kb eval --json` of this version wrote"
        raise BadRequest("this is no report of an evaluation", where=str(path), remedy=remedy) from error


def why_failed(result: Result) -> str:
    """What a person would look at first; empty where there is nothing to mend."""
    scores = result.scores
    if not result.case.answerable:
        return "answered, though the corpus has no answer" if scores.get("refused", 1.0) < 1 else ""
    lacking = bool(result.answer) and not result.refused and bool(result.missing)
    reasons = {
        "the corpus lacks " + ", ".join(result.absent): bool(result.absent),
        "a quote that no reader found in its file": bool(result.unreadable),
        "not in the top ten": scores["recall@10"] < 1,
        "not every part in the top ten": scores["recall@10"] == 1 and scores.get("all@10", 1.0) < 1,
        "refused, though the corpus has the answer": scores.get("false_refusal", 0.0) > 0,
        "the answer lacks " + ", ".join(result.missing): lacking,
        "a quote that is not verbatim": scores.get("quote_fidelity", 1.0) < 1,
    }
    return "; ".join(reason for reason, applies in reasons.items() if applies)


def _known(metrics: dict[str, list[float]]) -> list[str]:
    return [metric for metric in (*SEARCH, *ANSWERS, *LATENCY) if metric in metrics]


def _place(group: str) -> tuple[int, str]:
    fixed = ("all", "zh", "en", "und", "same", "cross")
    return (fixed.index(group) if group in fixed else len(fixed), group)


def _gap(groups: dict[str, dict[str, Estimate]], left: str, right: str) -> dict[str, float]:
    both = [metric for metric in groups[left] if metric in groups[right] and metric not in LATENCY]
    return {metric: groups[left][metric].value - groups[right][metric].value for metric in both}


def _latency(values: Sequence[float]) -> Latency:
    return Latency(p50=percentile(values, 50), p95=percentile(values, 95), p99=percentile(values, 99))
