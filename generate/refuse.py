"""When the evidence is too weak to answer: how strong it is, where the line runs, and what the reader is told."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from generate.cite import cite
from generate.extract import Reading, Scored
from generate.question import Concept
from kb.types import Lang, Refusal

Mentioned = Callable[[str], bool]
"""Whether a word stands anywhere in the corpus."""

_NEAREST = 3
_PROBES = 8  # words that are looked up in the whole corpus, the weightiest first


@dataclass(frozen=True)
class Calibration:
    """A logistic model of "these quotes answer the question", over the signals of `Strength`.

    Fitted on the development questions, kept as data; `fingerprint` goes into the recipe of every answer.
    """

    own: float = 1.0  # share of the question that the quotes themselves name
    wide: float = 2.0  # … that the best quote's chunk and title name
    absent_names: float = -8.0  # … in proper names, identifiers and numbers that stand nowhere in the corpus
    absent_words: float = -5.0  # … in other words that stand nowhere in the corpus
    score: float = 1.0  # of the best quote, as `extract` gives it
    dense: float = 0.0  # best cosine, above `dense_zero`
    dense_zero: float = 0.8
    bias: float = -0.5
    threshold: float = 0.5  # refuse below this probability
    threshold_generated: float = 0.1  # … when a model writes, which understands more and is verified afterwards

    @property
    def fingerprint(self) -> str:
        return repr(self)


@dataclass(frozen=True)
class Strength:
    """What speaks for and against answering; shares of the question's weight, from 0 to 1."""

    own: float
    wide: float
    absent_names: float
    absent_words: float
    score: float
    dense: float | None
    missing: tuple[str, ...]  # words that stand nowhere in the corpus, as the question has them
    missing_flags: tuple[str, ...]  # flags and variables that no hit spells out

    def probability(self, calibration: Calibration) -> float:
        if self.missing_flags:
            return 0.0
        logit = (
            calibration.bias
            + calibration.own * self.own
            + calibration.wide * self.wide
            + calibration.absent_names * self.absent_names
            + calibration.absent_words * self.absent_words
            + calibration.score * self.score
        )
        if self.dense is not None:
            logit += calibration.dense * (self.dense - calibration.dense_zero)
        return 1 / (1 + math.exp(-logit))


def measure(reading: Reading, chosen: Sequence[Scored], mentioned: Mentioned) -> Strength:
    """How well the chosen quotes answer. Looks up what no hit names, but at most a few words."""
    own: frozenset[int] = frozenset().union(*(one.own for one in chosen))
    wide = max((reading.coverage(one.wide) for one in chosen), default=0.0)
    weight = dict(zip(reading.question.concepts, reading.weights, strict=True))
    doubtful = sorted(reading.unseen, key=lambda concept: -weight[concept])[:_PROBES]
    absent = [concept for concept in doubtful if not _is_mentioned(concept, mentioned)]
    texts = "\n".join(one.passage.hit.chunk.full_text for one in reading.scored)
    return Strength(
        own=reading.coverage(own),
        wide=wide,
        absent_names=sum(weight[concept] for concept in absent if concept.named),
        absent_words=sum(weight[concept] for concept in absent if not concept.named),
        score=chosen[0].score if chosen else 0.0,
        dense=_best_cosine(chosen),
        missing=tuple(concept.surface for concept in absent),
        missing_flags=tuple(flag for flag in reading.question.flags if flag not in texts),
    )


def _is_mentioned(concept: Concept, mentioned: Mentioned) -> bool:
    names = concept.term.names("und") if concept.term else (concept.name,)
    return any(mentioned(name) for name in names)


def _best_cosine(chosen: Sequence[Scored]) -> float | None:
    cosines = [rank.score for one in chosen for rank in one.passage.hit.ranks if rank.list != "lexical"]
    return max(cosines, default=None)


def refusal(strength: Strength, nearest: Sequence[Scored], lang: Lang) -> Refusal:
    """The refusal in the question's language: why, and what came nearest."""
    citations = tuple(cite(one.passage, n) for n, one in enumerate(nearest[:_NEAREST], 1))
    return Refusal(reason=_reason(strength, lang, found=bool(citations)), nearest=citations)


def _reason(strength: Strength, lang: Lang, *, found: bool) -> str:
    missing = strength.missing_flags or strength.missing
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
