"""How well the evidence carries a question: what the line between answering and refusing is drawn by."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from generate.extract import Reading, Scored
from generate.question import Concept, Question
from generate.slots import Slot, slots
from kb.types import Hit

Mentioned = Callable[[str], bool]
"""Whether a word stands anywhere in the corpus."""

VERSION = "strength/3"
"""Raised when a signal is measured in another way: lines that were fitted before count for nothing then."""

_AMONG_FIRST = 5
_SUBJECT = 0.5  # prior weight from which a concept says what the question is about
_PROBES = 8  # words that are looked up in the whole corpus, the weightiest first
_SHORTEST = 4  # letters of an English word whose absence counts
_WEIGHTIEST = 2  # concepts that are lacking, of which the weight counts


@dataclass(frozen=True)
class Signals:
    """What speaks for and against answering, in the order of a calibration's weights. Shares are of the question."""

    wide: float  # the share that the chunk of one quote names; of as many as things are asked, here and below
    lacking: float  # weight of the two weightiest concepts that the best passage which fits lacks, with its neighbours
    together: float  # 1 where one chunk has all names and numbers of the question
    filled: float  # 1 where the quotes hold what is asked for: a figure, one with the unit, a number of those things
    unfilled: float  # 1 where money, a person, a date, … is asked for, which notes seldom tell, and no quote has it
    absent_names: float  # the share in proper names, identifiers and numbers that stand nowhere in the corpus
    absent_words: float  # … in other nouns that stand nowhere in the corpus
    agreement: float  # the share of the search's lists that have the best chunk among their first five; 1 where all do
    size: float  # number of concepts: a long question names much that its answer does not repeat


SIGNALS = tuple(field.name for field in fields(Signals))


@dataclass(frozen=True)
class Strength:
    """`missing` words stand nowhere in the corpus; no hit spells out `missing_flags`, none is of `missing_versions`."""

    signals: Signals
    is_named: bool  # whether the quotes name anything that the question is about
    missing: tuple[str, ...] = ()
    missing_flags: tuple[str, ...] = ()
    missing_versions: tuple[str, ...] = ()

    @property
    def is_hopeless(self) -> bool:
        return not self.is_named or bool(self.missing_flags or self.missing_versions)


def measure(reading: Reading, chosen: Sequence[Scored], mentioned: Mentioned) -> Strength:
    """How well the chosen quotes answer. Looks up what no hit names, but at most a few words."""
    question = reading.question
    hits = list({one.passage.hit.chunk.id: one.passage.hit for one in reading.scored}.values())
    weight = dict(zip(question.concepts, reading.weights, strict=True))
    doubtful = [concept for concept in reading.unseen if concept.named or concept.term or _is_telling(concept)]
    probed = sorted(doubtful, key=lambda concept: -weight[concept])[:_PROBES]
    absent = [concept for concept in probed if not _is_mentioned(concept, mentioned)]
    wanted = slots(question)
    quoted = [one.passage.in_context for one in chosen]
    unfilled = [slot for slot in wanted if not slot.filled_by(quoted)]
    texts = "\n".join(hit.chunk.full_text for hit in hits)
    return Strength(
        signals=Signals(
            wide=reading.coverage(_union([one.wide for one in chosen], reading.weights, things(question))),
            lacking=_lacking(reading, wanted),
            together=_together(reading),
            filled=float(not unfilled),
            unfilled=float(any(slot.rare for slot in unfilled)),
            absent_names=sum(weight[concept] for concept in absent if concept.named),
            absent_words=sum(weight[concept] for concept in absent if not concept.named),
            agreement=_agreement(hits),
            size=float(len(question.concepts)),
        ),
        is_named=any(question.concepts[n].weight >= _SUBJECT for one in chosen for n in one.own),
        missing=tuple(concept.surface for concept in absent),
        missing_flags=tuple(flag for flag in question.flags if not _spells(flag, texts)),
        missing_versions=tuple(one for one in question.versions_meant if not _is_of(one, hits, texts)),
    )


def _lacking(reading: Reading, wanted: Sequence[Slot]) -> float:
    """What the best passages lack that hold what is asked for, one for each thing asked; neighbours count with them."""
    chunks = {one.passage.hit.chunk.id: one.wide for one in reading.scored}
    weights = []
    for number, concept in enumerate(reading.question.concepts):
        frequency = sum(number in wide for wide in chunks.values()) or 0.5
        weights.append(concept.weight * math.log(1.5 + len(chunks) / frequency))
    holds = any if things(reading.question) > 1 and wanted else all
    windows = [
        window.named
        for window in _windows(reading.scored)
        if holds(slot.filled_by(window.around if slot.spread else [window.own]) for slot in wanted)
    ]
    named = _union(windows, weights, things(reading.question))
    lacking = sorted((weight for number, weight in enumerate(weights) if number not in named), reverse=True)
    return sum(lacking[:_WEIGHTIEST])


def things(question: Question) -> int:
    """How many things are asked, each of which may be answered somewhere else."""
    return max(1, len(question.parts), len(question.versions))


def _union(sets: Sequence[frozenset[int]], weights: Sequence[float], most: int) -> frozenset[int]:
    """The union of those `most` of `sets` that together weigh most, each chosen by what it adds."""
    union: frozenset[int] = frozenset()
    for _ in range(most):
        union |= max(sets, key=lambda one: sum(weights[number] for number in one - union), default=frozenset())
    return union


class _Window(NamedTuple):
    """A passage's text, the texts of it and those before and after it in its chunk, and what these name."""

    own: str
    around: Sequence[str]
    named: frozenset[int]


def _windows(scored: Sequence[Scored]) -> Iterator[_Window]:
    lines: Mapping[str, list[Scored]] = defaultdict(list)
    for one in sorted(scored, key=lambda one: one.passage.start):
        lines[one.passage.hit.chunk.id].append(one)
    for line in lines.values():
        texts = [one.passage.under_header for one in line]
        for at in range(len(line)):
            around = slice(max(0, at - 1), at + 2)
            yield _Window(texts[at], texts[around], frozenset().union(*(one.near for one in line[around])))


def _together(reading: Reading) -> float:
    names = frozenset(number for number, concept in enumerate(reading.question.concepts) if concept.named)
    chunks = {one.passage.hit.chunk.id: one.wide & names for one in reading.scored}
    return float(names <= _union(list(chunks.values()), reading.weights, things(reading.question)))


def _agreement(hits: Sequence[Hit]) -> float:
    lists = {rank.list for hit in hits for rank in hit.ranks}
    if not lists:
        return 0.0
    best = max(hits, key=lambda hit: hit.score)
    return len({rank.list for rank in best.ranks if rank.rank <= _AMONG_FIRST}) / len(lists)


def _spells(flag: str, text: str) -> bool:
    """Whether `text` has this very flag or variable, with hyphens or underscores, as a flag or as a field."""
    name = re.escape(flag.lstrip("-").replace("-", "_").casefold())
    return bool(re.search(rf"(?<![^\W_]){name}(?!\w)", text.replace("-", "_").casefold()))


def _is_of(version: str, hits: Sequence[Hit], text: str) -> bool:
    """Whether a hit is of this version, or says its number."""
    of = {(hit.source.version or "").removeprefix("v") for hit in hits}
    short = version.removesuffix(".0") if version.count(".") > 1 else version
    return bool(of & {version, short, f"{version}.0"}) or bool(
        re.search(rf"(?<![\d.]){re.escape(short)}(?:\.0)?(?!\.?\d)", text)
    )


def _is_telling(concept: Concept) -> bool:
    """Whether it is a noun that a corpus on the subject would have; fragments and letters of formulas tell nothing."""
    return concept.noun and len(concept.name) >= (_SHORTEST if concept.name.isascii() else 2)


def _is_mentioned(concept: Concept, mentioned: Mentioned) -> bool:
    names = concept.term.names("und") if concept.term else (concept.name,)
    return any(mentioned(name) for name in names)
