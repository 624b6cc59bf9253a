"""Which passages answer a question: words that they share with it, the kind of answer it wants, how well they rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from generate.fitness import is_signpost, readability, suits
from generate.naming import aliases, named, rarity_weights
from generate.passages import Passage
from generate.question import Concept, Question
from generate.slots import Slot, change
from kb.types import Hit

# What the share of the question that is named counts: in the passage, around it, and in its whole chunk; then what the
# chunk's place in the search counts, and its share of the best score. Fitted: docs/answers.md.
_OWN, _NEAR, _WIDE = 0.6, 0.3, 0.35
_PLACE, _SHARE = 0.25, 0.18
_BESIDE = 0.5
_HOLDS = 0.5  # what it counts to hold a value before and after, or one of them beside the other
_CONTEXT = 0.35  # what a concept counts for a part of the question that does not name it itself


@dataclass(frozen=True)
class Scored:
    """A passage with its score and what it covers: concepts, by their place in the question."""

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
    parts: tuple[tuple[Scored, ...], ...]  # the same, scored for each of the questions that it asks at once
    unseen: tuple[Concept, ...]  # concepts that no hit names

    def coverage(self, concepts: frozenset[int]) -> float:
        return sum(self.weights[number] for number in concepts)


def read(question: Question, passages: Sequence[Passage], hits: Sequence[Hit]) -> Reading:
    """Score every passage."""
    words = aliases(question, hits)
    in_chunk = {hit.chunk.id: named(question, words, hit.source.title, hit.chunk.full_text) for hit in hits}
    weights = rarity_weights(question, list(in_chunk.values()))
    ranked = _ranked(hits)
    found = []
    for passage in passages:
        chunk = passage.hit.chunk
        own = named(question, words, passage.quote)
        near = own | named(question, words, passage.around)
        found.append(Scored(passage, ranked[chunk.id], own, near, in_chunk[chunk.id]))
    scored = _in_order(question, weights, found)
    parts = [(part, _weights_of(part, question, weights)) for part in question.parts]
    seen: frozenset[int] = frozenset().union(*in_chunk.values())
    return Reading(
        question=question,
        weights=weights,
        scored=tuple(scored),
        parts=tuple(tuple(_in_order(part, inside, found)) for part, inside in parts if inside),
        unseen=tuple(concept for number, concept in enumerate(question.concepts) if number not in seen),
    )


def _ranked(hits: Sequence[Hit]) -> dict[str, float]:
    """What the search thinks of each chunk: its place, and its share of the best score."""
    top = max((hit.score for hit in hits), default=0.0)
    return {
        hit.chunk.id: _PLACE / (1 + 0.3 * rank) + (_SHARE * hit.score / top if top > 0 else 0.0)
        for rank, hit in enumerate(hits)
    }


def _weights_of(part: Question, whole: Question, weights: Sequence[float]) -> tuple[float, ...]:
    """Weights of the whole question's concepts for one part of it; none where the part names too little."""
    names = {concept.name for concept in part.concepts}
    inside = [concept.name in names for concept in whole.concepts]
    if sum(inside) < 2:
        return ()
    raw = [weight * (1 if own else _CONTEXT) for weight, own in zip(weights, inside, strict=True)]
    return tuple(weight / sum(raw) for weight in raw)


def _in_order(question: Question, weights: Sequence[float], found: Sequence[Scored]) -> list[Scored]:
    """The passages with their scores for a question, best first."""
    scored = _beside([replace(one, score=one.score + _fit(question, weights, one)) for one in found])
    if slot := change(question):
        scored = _holding(slot, scored)
    return sorted(scored, key=lambda one: (-one.score, one.passage.id))


def _fit(question: Question, weights: Sequence[float], one: Scored) -> float:
    score = (
        _OWN * sum(weights[n] for n in one.own)
        + _NEAR * sum(weights[n] for n in one.near)
        + _WIDE * sum(weights[n] for n in one.wide)
        + suits(question, one.passage)
    )
    return score * readability(one.passage)


def _beside(scored: Sequence[Scored]) -> list[Scored]:
    """An answer often stands right beside the sentence that repeats the question, but not beside an announcement."""
    lifted = []
    for at, one in enumerate(scored):
        beside = [scored[n] for n in (at - 1, at + 1) if 0 <= n < len(scored)]
        beside = [other for other in beside if not is_signpost(other.passage.quote)]
        best = max(
            (other.score for other in beside if other.passage.hit.chunk.id == one.passage.hit.chunk.id), default=0.0
        )
        lifted.append(replace(one, score=one.score + _BESIDE * max(0.0, best - one.score)))
    return lifted


def _holding(slot: Slot, scored: Sequence[Scored]) -> list[Scored]:
    """Two values often stand in two rows: a passage that holds both, or one of them beside the other, is lifted."""
    texts = [one.passage.under_header for one in scored]
    lifted = list(scored)
    for at, one in enumerate(scored):
        if slot.fills(texts[at]):
            lifted[at] = replace(lifted[at], score=scored[at].score + _HOLDS)
        elif at and _is_beside(scored[at - 1], one) and slot.completed(texts[at - 1], texts[at]):
            best = max(scored[at - 1].score, one.score) + _HOLDS
            lifted[at - 1 : at + 1] = [replace(one, score=best) for one in lifted[at - 1 : at + 1]]
    return lifted


def _is_beside(one: Scored, other: Scored) -> bool:
    return one.passage.hit.chunk.id == other.passage.hit.chunk.id
