"""Which passages answer a question: words that they share with it, the kind of answer it wants, how well they rank."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from generate.fitness import readability, suits
from generate.naming import aliases, named, rarity_weights
from generate.passages import Passage
from generate.question import Concept, Question
from kb.text import HAN, fold
from kb.types import Hit

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""`(question, texts)` to one cosine for each text."""

MOST = 4  # quotes in an answer
# What the share of the question that is named counts: in the passage, around it, and in its whole chunk; then what the
# chunk's place in the search counts, its share of the best score, and the passage's meaning. Fitted: docs/answers.md.
_OWN, _NEAR, _WIDE = 0.6, 0.3, 0.35
_PLACE, _SHARE, _SIMILAR = 0.25, 0.18, 0.3
_LOOKED_AT = 60  # passages, best first
_ENOUGH = 0.75  # a further quote must score this share of the best one …
_LEAST_OWN = 0.3  # … and name this share of what the best one names itself …
_NEW = 0.15  # … after a credit, up to this, for the share of the question that only it covers
_LONGEST = 560  # columns of a quote that grows beyond its sentence; a hanzi takes two
_BESIDE = 0.5
_SAME = 0.6  # quotes that share this much of the shorter one's words say the same

_POINTS_BACK = re.compile(
    r"[*_`]*(?:This|It|These|Those|That|They|Thus|So|Therefore|Hence|Such|Here|Otherwise|However|But|e\.g\.|i\.e\.|这|该|此|其|因此|所以|从而|"
    r"否则|但|而|它|即|也就是|换言之)"
)
_OPENS = re.compile(r"[:：]\W*$")


@dataclass(frozen=True)
class Scored:
    """A passage with its score and what it covers: the share of each concept's weight, by place in the question."""

    passage: Passage
    score: float
    own: frozenset[int]  # concepts named in the passage itself
    near: frozenset[int]  # … in it, its headings, its table's header
    wide: frozenset[int]  # … anywhere in its chunk or source title


@dataclass(frozen=True)
class Reading:
    """A question held against what was found for it."""

    question: Question
    weights: tuple[float, ...]  # of its concepts, by rarity among the hits; they sum to 1
    scored: tuple[Scored, ...]  # best first
    unseen: tuple[Concept, ...]  # concepts that no hit names

    def coverage(self, concepts: frozenset[int]) -> float:
        return sum(self.weights[number] for number in concepts)


def read(
    question: Question, passages: Sequence[Passage], hits: Sequence[Hit], similarity: Similarity | None = None
) -> Reading:
    """Score every passage. With `similarity`, the best by words are held against the question by meaning as well."""
    words = aliases(question, hits)
    in_chunk = {hit.chunk.id: named(question, words, f"{hit.source.title}\n{hit.chunk.full_text}") for hit in hits}
    weights = rarity_weights(question, list(in_chunk.values()))
    top = max((hit.score for hit in hits), default=0.0)
    place = {hit.chunk.id: rank for rank, hit in enumerate(hits)}
    scored = []
    for passage in passages:
        chunk = passage.hit.chunk
        own = named(question, words, passage.quote)
        near = own | named(question, words, passage.around)
        wide = in_chunk[chunk.id]
        score = _score(question, passage, weights, own, near, wide)
        score += _PLACE / (1 + 0.3 * place[chunk.id]) + (_SHARE * passage.hit.score / top if top > 0 else 0)
        scored.append(Scored(passage, score, own, near, wide))
    scored = _beside(scored)
    scored.sort(key=lambda one: (-one.score, one.passage.id))
    if similarity is not None:
        scored = _by_meaning(question, scored, similarity)
    seen: frozenset[int] = frozenset().union(*in_chunk.values())
    unseen = tuple(concept for number, concept in enumerate(question.concepts) if number not in seen)
    return Reading(question, weights, tuple(scored), unseen)


def select(reading: Reading) -> list[Scored]:
    """The quotes of the answer, best first: few, each with something of its own.

    A question that names several versions gets the best quote of each, however alike they are.
    """
    order = _in_order(reading.scored)
    chosen = [_grown(one, order[one.passage.hit.chunk.id]) for one in _of_versions(reading)]
    for one in reading.scored[:_LOOKED_AT]:
        if len(chosen) == MOST:
            break
        if any(_redundant(one.passage.quote, other.passage.quote) for other in chosen):
            continue
        if not chosen or _worth_adding(one, chosen, reading):
            chosen.append(_grown(one, order[one.passage.hit.chunk.id]))
    return chosen


def _of_versions(reading: Reading) -> list[Scored]:
    versions = reading.question.versions
    if len(versions) < 2:
        return []
    sources = {
        version: [one for one in reading.scored if one.passage.hit.source.version == version] for version in versions
    }
    return [found[0] for found in sources.values() if found][:MOST]


def _worth_adding(one: Scored, chosen: Sequence[Scored], reading: Reading) -> bool:
    if reading.coverage(one.own) < _LEAST_OWN * max(reading.coverage(other.own) for other in chosen):
        return False
    covered: frozenset[int] = frozenset().union(*(other.own for other in chosen))
    adds = reading.coverage(one.own - covered)
    best = max(other.score for other in chosen)
    return one.score + min(adds, _NEW) >= _ENOUGH * best


def _in_order(scored: Sequence[Scored]) -> Mapping[str, list[Scored]]:
    order: dict[str, list[Scored]] = defaultdict(list)
    for one in sorted(scored, key=lambda one: one.passage.start):
        order[one.passage.hit.chunk.id].append(one)
    return order


def _grown(one: Scored, line: Sequence[Scored]) -> Scored:
    """The passage with the sentence before it that it points back to, and the ones after it that point back to it."""
    first = last = line.index(one)
    if one.passage.form == "prose":
        while first > 0 and _POINTS_BACK.match(line[first].passage.quote) and _joined(line[first - 1], line[last]):
            first -= 1
        while (
            last + 1 < len(line)
            and (_POINTS_BACK.match(line[last + 1].passage.quote) or _OPENS.search(line[last].passage.quote))
            and _joined(line[first], line[last + 1])
        ):
            last += 1
    passage = replace(one.passage, start=line[first].passage.start, end=line[last].passage.end)
    parts = line[first : last + 1]
    return replace(one, passage=passage, own=one.own.union(*(part.own for part in parts)))


def _joined(first: Scored, last: Scored) -> bool:
    """Whether the text from `first` to `last` reads as one quote: prose of one chunk, without a gap, not too long."""
    text = first.passage.hit.chunk.text[first.passage.start : last.passage.end]
    return (
        first.passage.form == last.passage.form == "prose"
        and "\n\n" not in text.replace("\n\n-", "").replace("：\n\n", "")
        and len(text) + len(HAN.findall(text)) <= _LONGEST
    )


def _score(
    question: Question,
    passage: Passage,
    weights: Sequence[float],
    own: frozenset[int],
    near: frozenset[int],
    wide: frozenset[int],
) -> float:
    score = (
        _OWN * sum(weights[n] for n in own)
        + _NEAR * sum(weights[n] for n in near)
        + _WIDE * sum(weights[n] for n in wide)
        + suits(question, passage)
    )
    return score * readability(passage)


def _beside(scored: Sequence[Scored]) -> list[Scored]:
    """An answer often stands right beside the sentence that repeats the question."""
    lifted = []
    for at, one in enumerate(scored):
        beside = [scored[n] for n in (at - 1, at + 1) if 0 <= n < len(scored)]
        best = max(
            (other.score for other in beside if other.passage.hit.chunk.id == one.passage.hit.chunk.id), default=0.0
        )
        lifted.append(replace(one, score=one.score + _BESIDE * max(0.0, best - one.score)))
    return lifted


def _by_meaning(question: Question, scored: Sequence[Scored], similarity: Similarity) -> list[Scored]:
    head = scored[:32]
    cosines = similarity(question.text, [f"{one.passage.around}\n{one.passage.quote}" for one in head])
    low, high = min(cosines, default=0.0), max(cosines, default=0.0)
    spread = (high - low) or 1.0
    lifted = [
        Scored(one.passage, one.score + _SIMILAR * (cosine - low) / spread, one.own, one.near, one.wide)
        for one, cosine in zip(head, cosines, strict=True)
    ]
    return sorted(lifted, key=lambda one: (-one.score, one.passage.id))


def _redundant(left: str, right: str) -> bool:
    one, other = _bigrams(left), _bigrams(right)
    return len(one & other) >= _SAME * min(len(one), len(other)) if one and other else True


@lru_cache(maxsize=4096)
def _bigrams(text: str) -> frozenset[str]:
    folded = fold(text).text.casefold()
    return frozenset(folded[at : at + 2] for at in range(len(folded) - 1))
