"""When the evidence is too weak to answer: how strong it is, where the line runs, and what the reader is told."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from generate.cite import cite
from generate.extract import Reading, Scored
from generate.quantity import quantities
from generate.question import Concept, Question
from index.embed import CROSS
from kb.types import Lang, Refusal

Mentioned = Callable[[str], bool]
"""Whether a word stands anywhere in the corpus."""

_NEAREST = 3
_AMONG_FIRST = 5
_SUBJECT = 0.5  # prior weight from which a concept says what the question is about
_MIDDLING = 0.4  # cosine of the Universal Sentence Encoder between a question of the field and its best passage
_PROBES = 8  # words that are looked up in the whole corpus, the weightiest first


@dataclass(frozen=True)
class Calibration:
    """A logistic model of "these quotes answer the question", over the signals of `Strength`.

    Fitted on development questions and on forty that are off topic (docs/answers.md), kept as data; `fingerprint` goes
    into every answer's recipe.
    """

    wide: float = 1.07
    names: float = 2.72
    unit: float = 3.04
    agreement: float = 3.4
    absent_names: float = -5.22
    absent_words: float = -5.92
    bias: float = -6.91
    least_meaning: float = 0.18  # a question whose best passage means less to it speaks of another field
    threshold: float = 0.42  # refuse below this probability
    threshold_generated: float = 0.1  # … when a model writes, which understands more and is verified afterwards

    @property
    def fingerprint(self) -> str:
        return repr(self)


@dataclass(frozen=True)
class Strength:
    """What speaks for and against answering; shares of the question's weight, from 0 to 1."""

    own: float  # … that the quotes themselves name; what only says which thing is wanted, as `default`, is left out
    wide: float  # … that the best quote's chunk and title name
    names: float  # of the question's names and numbers alone: the share that the chunk of one quote holds
    unit: float  # 1 unless a number with a certain unit is asked for and no quote has one
    agreement: float  # the share of the search's lists that have the best chunk among their first five
    meaning: float  # best cosine of the list that is at home in both languages; a middling one where there is none
    absent_names: float  # … in proper names, identifiers and numbers that stand nowhere in the corpus
    absent_words: float  # … in other nouns that stand nowhere in the corpus
    missing: tuple[str, ...]  # what stands nowhere in the corpus, as the question spells it
    missing_flags: tuple[str, ...]  # flags and variables that no hit spells out

    def probability(self, calibration: Calibration) -> float:
        if self.missing_flags or not self.own or self.meaning < calibration.least_meaning:
            return 0.0
        logit = calibration.bias + sum(
            getattr(calibration, signal) * getattr(self, signal)
            for signal in ("wide", "names", "unit", "agreement", "absent_names", "absent_words")
        )
        return 1 / (1 + math.exp(-logit))


def measure(reading: Reading, chosen: Sequence[Scored], mentioned: Mentioned) -> Strength:
    """How well the chosen quotes answer. Looks up what no hit names, but at most a few words."""
    question = reading.question
    own = {n for one in chosen for n in one.own if question.concepts[n].weight >= _SUBJECT}
    weight = dict(zip(question.concepts, reading.weights, strict=True))
    doubtful = [concept for concept in reading.unseen if concept.named or concept.noun or concept.term]
    probed = sorted(doubtful, key=lambda concept: -weight[concept])[:_PROBES]
    absent = [concept for concept in probed if not _is_mentioned(concept, mentioned)]
    texts = "\n".join(one.passage.hit.chunk.full_text for one in reading.scored)
    return Strength(
        own=reading.coverage(frozenset(own)),
        wide=max((reading.coverage(one.wide) for one in chosen), default=0.0),
        names=_names_together(reading, chosen),
        unit=_has_unit(question, chosen),
        agreement=_agreement(reading),
        meaning=_meaning(reading, own),
        absent_names=sum(weight[concept] for concept in absent if concept.named),
        absent_words=sum(weight[concept] for concept in absent if not concept.named),
        missing=tuple(concept.surface for concept in absent),
        missing_flags=tuple(flag for flag in question.flags if not _spells(flag, texts)),
    )


def _names_together(reading: Reading, chosen: Sequence[Scored]) -> float:
    names = frozenset(number for number, concept in enumerate(reading.question.concepts) if concept.named)
    if not names:
        return 1.0
    held = max((reading.coverage(one.wide & names) for one in chosen), default=0.0)
    return held / reading.coverage(names)


def _agreement(reading: Reading) -> float:
    hits = {one.passage.hit.chunk.id: one.passage.hit for one in reading.scored}.values()
    lists = {rank.list for hit in hits for rank in hit.ranks}
    if not lists:
        return 0.0
    best = max(hits, key=lambda hit: hit.score)
    return len({rank.list for rank in best.ranks if rank.rank <= _AMONG_FIRST}) / len(lists)


def _meaning(reading: Reading, own: Iterable[int]) -> float:
    if any(reading.question.concepts[number].term for number in own):
        return _MIDDLING  # a term of the field stands in the quotes, so that the question is of this field
    ranks = [rank for one in reading.scored for rank in one.passage.hit.ranks]
    return max((rank.score for rank in ranks if rank.list == CROSS), default=_MIDDLING)


def _has_unit(question: Question, chosen: Sequence[Scored]) -> float:
    held = {quantity.unit for one in chosen for quantity in quantities(f"{one.passage.around}\n{one.passage.quote}")}
    return 1.0 if not question.units or question.units & held else 0.0


def _spells(flag: str, text: str) -> bool:
    """Whether `text` has this very flag or variable, with hyphens or underscores, as a flag or as a field."""
    name = re.escape(flag.lstrip("-").replace("-", "_").casefold())
    return bool(re.search(rf"(?<![^\W_]){name}(?!\w)", text.replace("-", "_").casefold()))


def _is_mentioned(concept: Concept, mentioned: Mentioned) -> bool:
    names = concept.term.names("und") if concept.term else (concept.name,)
    return any(mentioned(name) for name in names)


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
