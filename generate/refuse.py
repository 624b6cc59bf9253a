"""When the evidence is too weak to answer: where the line runs, and what the reader is told."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files

from generate.cite import cite
from generate.extract import Scored
from generate.strength import SIGNALS, Strength
from kb.text import folded, sentences
from kb.types import Lang, Refusal

_NEAREST = 3
_SENTENCE = 12  # characters; shorter ones are labels, which passages may share without repeating each other


@dataclass(frozen=True)
class Calibration:
    """A logistic model of "these quotes answer the question": weights by signal, and the lines below which is refused.

    `threshold_generated` holds where a model writes, which understands more and is verified afterwards;
    from `threshold_declined` on, the quotes are shown even if that model finds no answer in the evidence.
    """

    weights: Mapping[str, float]
    bias: float
    threshold: float
    threshold_generated: float
    threshold_declined: float

    def __post_init__(self) -> None:
        if set(self.weights) != set(SIGNALS):
            raise ValueError(f"a calibration has a weight for each of {', '.join(SIGNALS)}")

    @property
    def fingerprint(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    def probability(self, strength: Strength) -> float:
        """That the evidence answers; 0 where a flag or version is missing or nothing of the subject is named."""
        if strength.is_hopeless:
            return 0.0
        logit = self.bias + sum(self.weights[name] * getattr(strength.signals, name) for name in SIGNALS)
        return 1 / (1 + math.exp(-logit))


@cache
def packaged() -> Calibration:
    """The line that was fitted on the questions of docs/answers.md."""
    return Calibration(**json.loads(files("generate").joinpath("calibration.json").read_text(encoding="utf-8")))


def refusal(strength: Strength, nearest: Sequence[Scored], lang: Lang) -> Refusal:
    """The refusal in the question's language: why, and what came nearest."""
    citations = tuple(cite(one.passage, n) for n, one in enumerate(nearest, 1))
    missing = strength.missing_flags or strength.missing_versions or strength.missing
    reason = _reason(missing, lang, found=bool(citations))
    return Refusal(reason=reason, missing=missing, nearest=citations)


def unrepeated(ranked: Sequence[Scored]) -> list[Scored]:
    """The first of `ranked` that say something of their own: a passage, its halves and what overlaps it are one.

    The whole takes the place of its halves.
    """
    kept: list[Scored] = []
    for one in ranked:
        alike = [other for other in kept if _repeats(one, other)]
        if not alike:
            kept.append(one)
        elif all(_folded(other) in _folded(one) for other in alike):
            kept = [one if other is alike[0] else other for other in kept if other not in alike[1:]]
    return kept[:_NEAREST]


def _repeats(one: Scored, other: Scored) -> bool:
    left, right = _folded(one), _folded(other)
    return left in right or right in left or bool(_sentences(one) & _sentences(other))


def _sentences(one: Scored) -> set[str]:
    quote = one.passage.quote
    return {folded(quote[start:end]) for start, end in sentences(quote) if end - start >= _SENTENCE}


def _folded(one: Scored) -> str:
    return folded(one.passage.quote)


def _reason(missing: Sequence[str], lang: Lang, *, found: bool) -> str:
    if lang == "zh":
        if not found:
            return "资料中没有找到与这个问题相关的内容。"
        if missing:
            return f"资料中没有提到{'、'.join(f'“{word}”' for word in missing[:3])}，现有证据不足以回答这个问题。"
        return "资料中的证据不足以回答这个问题。"
    if not found:
        return "Nothing in the corpus relates to this question."
    if missing:
        words = ", ".join(f"“{word}”" for word in missing[:3])
        return f"The corpus does not mention {words}; its evidence is too weak to answer this question."
    return "The evidence in the corpus is too weak to answer this question."
