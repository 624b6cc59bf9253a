"""The line between answering and refusing, fitted by logistic regression and judged on questions it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kb.types import Frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.pipeline import Pipeline

FEWEST = 10  # questions of either sort; fewer draw no line
FALSE_REFUSALS = 0.08  # of the answerable questions, the most that a line should refuse
_AIM = 0.0625  # … that it is drawn for, so that it keeps the bound on others, too …
_AIM_GENERATED = 0.02  # … and where a model writes, whose claims are verified afterwards
_SURE = 0.05  # of the unanswerable questions, the most above the line from which a model's "no" is not taken for one
_FOLDS = 5
_REGULARISATION = 0.5  # inverse strength of the L2 penalty, on standardised signals


@dataclass(frozen=True)
class Example:
    """A question with a known label. `is_hopeless` ones are refused whatever the line."""

    id: str
    signals: tuple[float, ...]
    answerable: bool
    is_hopeless: bool = False


class Line(Frozen):
    """Weights on the signals as they are measured. `refused` and `false_refusal` are shares of the unanswerable and the
    answerable questions, each judged by a line that was fitted, threshold included, without it."""

    weights: tuple[float, ...]
    bias: float
    threshold: float
    threshold_generated: float
    threshold_declined: float
    refused: float
    false_refusal: float


class TooFew(ValueError):
    """There are too few questions of one sort to draw a line."""


def calibrate(examples: Sequence[Example]) -> Line:
    """The line that refuses most while it keeps below `FALSE_REFUSALS` of the answerable questions.

    Both sorts weigh the same, however many there are of each.

    Raises:
        TooFew: if there are fewer than `FEWEST` answerable or unanswerable questions.
    """
    labels = [example.answerable for example in examples]
    if min(sum(labels), len(labels) - sum(labels)) < FEWEST:
        raise TooFew(f"fewer than {FEWEST} answerable or unanswerable questions")
    unseen = judged(examples)
    scores = _out_of_fold(examples)
    model = _fitted(examples)
    scaler, regression = model[0], model[1]
    weights = regression.coef_[0] / scaler.scale_
    return Line(
        weights=tuple(map(float, weights)),
        bias=float(regression.intercept_[0] - weights @ scaler.mean_),
        threshold=_threshold(scores, labels, _AIM),
        threshold_generated=_threshold(scores, labels, _AIM_GENERATED),
        threshold_declined=_above(scores, labels, _SURE, threshold=_threshold(scores, labels, _AIM)),
        refused=_share(unseen, labels, of=False),
        false_refusal=_share(unseen, labels, of=True),
    )


def judged(examples: Sequence[Example]) -> list[bool]:
    """Whether each question is refused by a line that was fitted, threshold included, on the other folds."""
    refused = [False] * len(examples)
    for kept, left in _folds(examples):
        inside = [examples[at] for at in kept]
        labels = [example.answerable for example in inside]
        threshold = _threshold(_out_of_fold(inside), labels, _AIM)
        for at, score in zip(left, _scores(_fitted(inside), [examples[at] for at in left]), strict=True):
            refused[at] = bool(score < threshold)
    return refused


def _out_of_fold(examples: Sequence[Example]) -> NDArray[np.float64]:
    scores = np.zeros(len(examples))
    for kept, left in _folds(examples):
        scores[left] = _scores(_fitted([examples[at] for at in kept]), [examples[at] for at in left])
    return scores


def _fitted(examples: Sequence[Example]) -> Pipeline:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=_REGULARISATION, class_weight="balanced"))
    return model.fit(_matrix(examples), [example.answerable for example in examples])


def _scores(model: Pipeline, examples: Sequence[Example]) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = model.predict_proba(_matrix(examples))[:, 1]
    return np.where([example.is_hopeless for example in examples], 0.0, scores)


def _matrix(examples: Sequence[Example]) -> NDArray[np.float64]:
    return np.array([example.signals for example in examples], dtype=float)


def _folds(examples: Sequence[Example]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Places of the kept and the left examples; each fold has its share of either sort."""
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    return list(folds.split(np.zeros(len(examples)), [example.answerable for example in examples]))


def _threshold(scores: NDArray[np.float64], labels: Sequence[bool], allowed: float) -> float:
    """The highest line below which at most the `allowed` share of the answerable questions lies."""
    return float(np.quantile(scores[np.array(labels)], allowed))


def _above(scores: NDArray[np.float64], labels: Sequence[bool], allowed: float, *, threshold: float) -> float:
    """The lowest line, not below `threshold`, above which at most the `allowed` share of the unanswerable lies."""
    return max(threshold, float(np.quantile(scores[~np.array(labels)], 1 - allowed)))


def _share(refused: Sequence[bool], labels: Sequence[bool], *, of: bool) -> float:
    return float(np.mean([one for one, label in zip(refused, labels, strict=True) if label is of]))
