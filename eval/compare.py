"""What changed since another report, and what fell below the committed floor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from eval.report import ANSWERS, LOWER_IS_BETTER, SEARCH, Report
from eval.run import Result
from kb.errors import BadRequest
from kb.types import Frozen

_NO_VERDICT = frozenset({"sources@10", "sameness@10"})  # neither good nor bad in a single case
_COMPARED = tuple(metric for metric in (*SEARCH, *ANSWERS) if metric not in _NO_VERDICT)
_SAME = 1e-9

_FLOOR: TypeAdapter[dict[str, dict[str, float]]] = TypeAdapter(dict[str, dict[str, float]])


class Move(Frozen):
    metric: str
    before: float
    after: float

    @property
    def is_better(self) -> bool:
        return (self.after < self.before) == (self.metric in LOWER_IS_BETTER)

    def __str__(self) -> str:
        return f"{self.metric} {self.before:.2f} → {self.after:.2f}"


class Changed(Frozen):
    """A case whose worth differs between two reports."""

    id: str
    question: str
    moves: tuple[Move, ...]

    @property
    def verdict(self) -> str:
        better = {move.is_better for move in self.moves}
        return "mixed" if len(better) > 1 else "better" if True in better else "worse"


class Comparison(Frozen):
    """Two reports side by side; `totals` are the metrics of all cases that moved."""

    totals: tuple[Move, ...]
    cases: tuple[Changed, ...]
    added: tuple[str, ...]  # ids of cases that only the new report has
    gone: tuple[str, ...]


class Shortfall(Frozen):
    """A metric below its floor (or above it, where lower is better)."""

    group: str
    metric: str
    value: float
    floor: float

    def __str__(self) -> str:
        bound = "at most" if self.metric in LOWER_IS_BETTER else "at least"
        return f"{self.group} {self.metric} is {self.value:.3f}, {bound} {self.floor:g} is wanted"


def compare(before: Report, after: Report) -> Comparison:
    """What `after` changed; cases that got worse come first."""
    old = {result.case.id: result for result in before.cases}
    new = {result.case.id: result for result in after.cases}
    changed = [
        Changed(id=name, question=new[name].case.question, moves=moves)
        for name in new
        if name in old and (moves := tuple(_moves(old[name], new[name])))
    ]
    everyone = (before.groups.get("all", {}), after.groups.get("all", {}))
    return Comparison(
        totals=tuple(
            Move(metric=metric, before=everyone[0][metric].value, after=everyone[1][metric].value)
            for metric in _COMPARED
            if all(metric in group for group in everyone)
            and abs(everyone[0][metric].value - everyone[1][metric].value) > _SAME
        ),
        cases=tuple(sorted(changed, key=lambda case: ("worse", "mixed", "better").index(case.verdict))),
        added=tuple(name for name in new if name not in old),
        gone=tuple(name for name in old if name not in new),
    )


def _moves(before: Result, after: Result) -> Iterator[Move]:
    for metric in _COMPARED:
        was, now = before.scores.get(metric), after.scores.get(metric)
        if was is not None and now is not None and abs(was - now) > _SAME:
            yield Move(metric=metric, before=was, after=now)


def read_floor(path: Path) -> dict[str, dict[str, float]]:
    """The least that is accepted: `{"GROUP": {"METRIC": number}}`; for metrics where lower is better, the most.

    Raises:
        BadRequest: if the file is no floor.
    """
    try:
        return _FLOOR.validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadRequest(f"cannot read the floor: {error.strerror}", where=str(path)) from error
    except (UnicodeDecodeError, ValidationError) as error:
        remedy = 'Write it as {"all": {"recall@10": 0.9}}'
        raise BadRequest("this is no floor", where=str(path), remedy=remedy) from error


def shortfalls(report: Report, floor: dict[str, dict[str, float]]) -> list[Shortfall]:
    """Where the report misses the floor.

    Raises:
        BadRequest: if the floor names what the report does not hold.
    """
    missed = []
    for group, metrics in floor.items():
        for metric, bound in metrics.items():
            if metric not in report.groups.get(group, {}):
                remedy = "Measure it (answers are not, with --no-answers), or take it out of the floor"
                raise BadRequest(f"the floor names {group} {metric}, which the report does not hold", remedy=remedy)
            value = report.groups[group][metric].value
            if (value - bound if metric in LOWER_IS_BETTER else bound - value) > _SAME:
                missed.append(Shortfall(group=group, metric=metric, value=value, floor=bound))
    return missed
