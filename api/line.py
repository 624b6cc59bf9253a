"""`kb eval --fit`: where the line between answering and refusing runs, by questions with and without an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple
from typing import NamedTuple

from api.base import OnProgress, unwatched
from api.finding import Finder
from api.fitting import Fitted
from api.models import Models
from eval import calibrate as lines
from eval.cases import Case
from generate.answer import Answerer, Search
from generate.refuse import Calibration
from generate.strength import SIGNALS, VERSION, Strength
from index.fitted import fingerprint, keep, recall
from kb.types import Progress

_NAME = "refusal"
_TOO_MANY = (
    5.0  # what a share of answerable questions that is refused beyond the bound costs, against 1 of refused ones
)


class FittedLine(NamedTuple):
    """The line, what it is worth on questions that it was not fitted on, and what the line before is worth on them."""

    calibration: Calibration
    refused: float
    false_refusal: float
    before_refused: float
    before_false_refusal: float
    is_taken: bool  # only where it is worth more than the line before


class Fits(NamedTuple):
    weights: Fitted
    line: FittedLine | None  # None where there are too few questions of either sort


def fit(
    finder: Finder, answerer: Answerer, cases: Sequence[Case], models: Models, on_progress: OnProgress = unwatched
) -> Fits:
    """Fit the weights of the lists, then the line on what they find; both are in use from now on.

    Raises:
        BadRequest: if no case has an answer.
    """
    weights = finder.fit(cases, on_progress)
    return Fits(weights, fit_line(answerer, cases, models, on_progress))


def open_answerer(search: Search, models: Models) -> Answerer:
    """What answers from what `search` finds, with the language model of the settings and the line of the library."""
    gloss = models.settings.llm.gloss
    return Answerer(search, llm=models.language_model, glosses=gloss, calibration=recall_line(models))


def recall_line(models: Models) -> Calibration | None:
    """The line that was fitted for this library, these models and their weights; None where there is none."""
    values = recall(_NAME, models.settings.home, _recipe(models))
    try:
        return Calibration(**values) if values is not None else None  # type: ignore[arg-type]  # checked by name
    except (TypeError, ValueError):  # by an earlier version of the product
        return None


def fit_line(
    answerer: Answerer, cases: Sequence[Case], models: Models, on_progress: OnProgress = unwatched
) -> FittedLine | None:
    """Draw the line anew, cross-validated, and keep it where it is worth more; None where there are too few cases."""
    strengths = []
    for done, case in enumerate(cases):
        on_progress(Progress(done=done, total=len(cases), path="", stage="answering"))
        strengths.append(answerer.strength(case.question))
    try:
        line = lines.calibrate([example(case, one) for case, one in zip(cases, strengths, strict=True)])
    except lines.TooFew:
        return None
    before = answerer.calibration
    refused = [before.probability(one) < before.threshold for one in strengths]
    shares = [_share(refused, cases, answerable=answerable) for answerable in (False, True)]
    found = calibration_of(line)
    taken = _worth(line.refused, line.false_refusal) > _worth(*shares)
    if taken:
        keep(_NAME, asdict(found), models.settings.home, _recipe(models))
        answerer.calibration = found
    return FittedLine(found, line.refused, line.false_refusal, shares[0], shares[1], taken)


def example(case: Case, strength: Strength) -> lines.Example:
    return lines.Example(case.id, astuple(strength.signals), case.answerable, strength.is_hopeless)


def calibration_of(line: lines.Line) -> Calibration:
    weights = dict(zip(SIGNALS, line.weights, strict=True))
    return Calibration(weights, line.bias, line.threshold, line.threshold_generated, line.threshold_declined)


def _recipe(models: Models) -> str:
    return f"{fingerprint(models.embedders)} | {models.weights} | {VERSION}"


def _share(refused: Sequence[bool], cases: Sequence[Case], *, answerable: bool) -> float:
    of = [one for one, case in zip(refused, cases, strict=True) if case.answerable is answerable]
    return sum(of) / len(of)


def _worth(refused: float, false_refusal: float) -> float:
    return refused - _TOO_MANY * max(0.0, false_refusal - lines.FALSE_REFUSALS)
