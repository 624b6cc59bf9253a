"""What a question is looked up by besides itself: each thing that it asks, each side of what it compares.

A simple question is looked up by itself alone: it costs neither a further search nor a call of the model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Annotated

from pydantic import Field

from generate import prompts
from generate.fence import LANGUAGES, one_line
from generate.followup import brings_nothing
from generate.llm import LanguageModel, Message, Meter
from generate.question import Concept, Question
from generate.reply import Asked, read, schema_of
from kb.errors import GenerationFailed
from kb.types import Hit

PROMPTS = ("subquestions",)

MOST = 4  # further questions
_SUBJECT = 0.9  # weight from which a concept says what a question is about
_ENOUGH = 2  # subjects that a part needs to be looked up by itself
_CARRIED = 3  # subjects that a part with fewer takes over from the rest of the question
_OF_WHOLE = 2  # hits of the whole question beside one of each part

_COMPARES = re.compile(
    r"区别|不同|差别|差异|异同|相比|相较|比起|对比|比较|分别|各自?[有是多占要能为]|取舍|哪个(?:更|好)|谁更"
    r"|\b(?:differ\w*|distin\w+|compar\w+|versus|vs\.?|respectively|both|each|either|than|trade-?offs?|instead of|"
    r"better|choose|choice)(?!\w)",
    re.IGNORECASE,
)
_JOINED = re.compile(  # what may stand between two things that are named beside each other
    r"[\s`'\"“”]*(?:[^\W\d]{1,8}\s?){0,2}[,，]?\s*"
    r"(?:[、/]|和|与|跟|同|及|还是|或者?|比|相比于?|\b(?:and|or|versus|than|instead of|rather than)\b|\bvs\.?"
    r"|\bcompared? (?:to|with)\b|\bdiffers? from\b)"
    r"\s*(?:[^\W\d]{1,8}\s?){0,2}[\s`'\"“”]*",
    re.IGNORECASE,
)
_ASKED = re.compile(r"原因|道理|理由|办法|代价|reason|cause|way", re.IGNORECASE)  # what is asked for, not of what
_VERSION = re.compile(r"\bv?(\d+\.\d+(?:\.\d+)?)(?!\d)")

Span = tuple[int, int]


class _Planned(Asked):
    questions: Annotated[tuple[str, ...], Field(json_schema_extra={"maxItems": MOST})]  # more are read, and left out


def further_questions(
    question: Question, llm: LanguageModel | None = None, meter: Meter | None = None
) -> Sequence[str]:
    """Questions that together ask what `question` asks, at most `MOST`; none for a simple one.

    The model is only asked about a question that seems to ask several things or to compare some. What it writes holds
    if it brings no number and no name that the question does not have; else the rules alone do.
    """
    by_rules = tuple(dict.fromkeys(_of_versions(question) or _of_parts(question)))[:MOST]
    if llm is not None and (len(by_rules) > 1 or _COMPARES.search(question.text)):
        by_rules = _written(question, llm, meter) or by_rules
    return by_rules if len(by_rules) > 1 else ()


def _written(question: Question, llm: LanguageModel, meter: Meter | None) -> tuple[str, ...]:
    system = prompts.load("subquestions").render(language=LANGUAGES[question.lang], most=str(MOST))
    try:
        reply = llm.complete(
            Message(system, f"Question: {one_line(question.text)}"), schema=schema_of(_Planned), meter=meter
        )
        written = [" ".join(one.split()) for one in read(reply, _Planned).questions]
    except GenerationFailed:
        return ()
    holds = all(brings_nothing(one, question.text, question.lang) for one in written)
    return tuple(dict.fromkeys(written))[:MOST] if holds else ()


def _of_versions(question: Question) -> list[str]:
    versions = question.versions

    def only(version: str) -> str:
        return _VERSION.sub(lambda found: version if found[1] in versions else found[0], question.text)

    return [only(version) for version in versions] if len(versions) > 1 else []


def _of_parts(question: Question) -> list[str]:
    """Each question of several, with the subject of the rest where it names little itself; each by its sides."""
    found = []
    for part in question.parts or (question,):
        subjects = _subjects(part)
        if not subjects:
            continue
        sides = _of_sides(part)
        own = {concept.name for concept in part.concepts}
        rest = [concept.surface for concept in _subjects(question) if concept.name not in own]
        before = " ".join(rest[:_CARRIED]) if len(subjects) < _ENOUGH else ""
        found += [f"{before} {asked}".strip() for asked in sides or [part.text.strip(" ,，;；")]]
    return found


def _subjects(question: Question) -> list[Concept]:
    return [
        concept
        for concept in question.concepts
        if concept.weight >= _SUBJECT
        and (concept.term or concept.named or concept.noun)
        and not _ASKED.fullmatch(concept.surface)
    ]


def _of_sides(question: Question) -> list[str]:
    """`how A differs from B` as `how A`, `how B`: the sides are names, terms or flags beside each other."""
    text = question.text
    spans = _chain(question)
    is_of_flags = all(text[start:end] in question.flags for start, end in spans)
    if len(spans) < 2 or not (is_of_flags or _COMPARES.search(text)):
        return []
    return [f"{text[: spans[0][0]]}{text[start:end]}{text[spans[-1][1] :]}" for start, end in spans]


def _chain(question: Question) -> list[Span]:
    """Where the longest run of things stands that are named beside each other."""
    chains: list[list[Span]] = []
    for span in _named(question):
        if chains and _JOINED.fullmatch(question.text[chains[-1][-1][1] : span[0]]):
            chains[-1].append(span)
        else:
            chains.append([span])
    return max(chains, key=len, default=[])


def _named(question: Question) -> list[Span]:
    """Where names, terms and flags stand; those that follow each other are one."""
    surfaces = {concept.surface for concept in question.concepts if concept.term or concept.named} | set(question.flags)
    found = sorted(
        one.span() for surface in surfaces for one in re.finditer(re.escape(surface), question.text, re.IGNORECASE)
    )
    whole: list[Span] = []
    for start, end in found:
        if whole and not question.text[whole[-1][1] : start].strip(" -_"):
            whole[-1] = (whole[-1][0], max(end, whole[-1][1]))
        else:
            whole.append((start, end))
    return whole


def merged(whole: Sequence[Hit], parts: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """The hits of all searches in turn, best first, so that every part keeps its best beside those of the whole.

    The best of each search has the same score: scores of different questions cannot be compared.
    """
    if not parts:
        return list(whole)
    top = max((hit.score for hit in whole), default=1.0)
    turns = [iter(whole)] * _OF_WHOLE + [iter(_scaled(hits, top)) for hits in parts]
    found: dict[str, Hit] = {}
    for turn in zip_longest(*turns):
        for hit in turn:
            if hit is not None:
                found.setdefault(hit.chunk.id, hit)
    return list(found.values())[:limit]


def _scaled(hits: Sequence[Hit], top: float) -> list[Hit]:
    best = max((hit.score for hit in hits), default=0.0)
    return [hit.model_copy(update={"score": hit.score * top / best}) if best > 0 else hit for hit in hits]
