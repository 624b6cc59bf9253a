"""A question of a conversation, made to stand alone: what it leaves to the ones before it is put in.

Only the question changes. Evidence is looked for anew in every turn, so an answer never rests on an earlier one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from generate import prompts
from generate.borne import has_identifier, identifiers
from generate.fence import LANGUAGES, nonce, one_line
from generate.llm import LanguageModel, Message, Meter
from generate.quantity import quantities, supported
from generate.question import Question, analyse
from generate.relation import speaks
from generate.reply import Asked, read, schema_of
from generate.verify import is_plain, visible
from kb.errors import GenerationFailed
from kb.text import folded
from kb.types import Exchange, Lang

PROMPTS = ("standalone", "conversation")

_REFERS = re.compile(
    r"\b(?:it|its|they|them|their|this|these|those|the (?:former|latter|same|other|first|second|third|last)(?: one)?)\b"
    r"|它们?|这|那(?=个|些|种|样|么|里|时)|该|其(?!他|它|实|余)|前者|后者|上述|刚才",
    re.IGNORECASE,
)
_IMPERSONAL = re.compile(
    r"\bis it (?:possible|true|necessary|ok|safe)\b|\bthis (?:talk|library|corpus)\b", re.IGNORECASE
)
_ELLIPTICAL = re.compile(
    r"^\W*(?:(?:and|or|but|so|then)\b|(?:what|how) about\b|那(?!个|些|种|么)|还有|以及|如果是)|呢\W*$", re.IGNORECASE
)
_SHORT = 3  # concepts: with fewer, a question may lean on the one before it without saying so
_SUBJECT = 0.5  # weight from which a concept says what a question is about
_CARRIED = 4  # concepts
_TURNS = 4  # exchanges that a model sees
_LONGEST = 600  # characters of an earlier answer that it sees, and of the question that it writes


class _Rewritten(Asked):
    question: str


def stand_alone(question: str, history: Sequence[Exchange], llm: LanguageModel | None, meter: Meter) -> str:
    """The question as it stands alone: by the model where there is one and what it writes holds, else by its subject.

    What the model writes holds if it brings no number and no name that was not said before.
    """
    if not history:
        return question
    asked = analyse(question)
    is_leaning = _is_leaning(asked)
    if llm is not None and (is_leaning or len(asked.concepts) <= _SHORT):
        written = _written(llm, asked, history, meter)
        if written is not None:
            return written
    return _carried(asked, history[-1].question) if is_leaning else question


def _is_leaning(asked: Question) -> bool:
    """Whether it refers to something before it, goes on from it, or names nothing itself."""
    if _ELLIPTICAL.search(asked.text) or _REFERS.search(_IMPERSONAL.sub(" ", asked.text)):
        return True
    return not any(concept.term or concept.named or concept.noun for concept in asked.concepts)


def _carried(asked: Question, before: str) -> str:
    """The question with the subject of the one before it."""
    earlier = analyse(before)
    for now, then in ((asked.versions, earlier.versions), (asked.flags, earlier.flags)):
        if _ELLIPTICAL.search(asked.text) and len(now) == len(then) == 1:
            return before.replace(then[0], now[0])
    if _ELLIPTICAL.search(asked.text) and not _REFERS.search(asked.text):
        return f"{before} {asked.text}"
    own = {concept.name for concept in asked.concepts}
    subjects = [flag for flag in earlier.flags if flag not in asked.flags]
    for concept in earlier.concepts:
        says = concept.weight >= _SUBJECT and (concept.term or concept.named or concept.noun)
        if says and concept.name not in own and not any(_same(concept.surface, other) for other in subjects):
            subjects.append(concept.surface)
    if not subjects:
        return f"{before} {asked.text}"
    if asked.lang == "zh":
        return f"关于{'、'.join(subjects[:_CARRIED])}：{asked.text}"
    return f"About {' and '.join(subjects[:_CARRIED])}: {asked.text}"


def _same(one: str, other: str) -> bool:
    """Whether two ways of writing name one thing, as `block size` and `block-size`."""
    left, right = (re.sub(r"[\W_]+", "", text).casefold() for text in (one, other))
    return left in right or right in left


def _written(llm: LanguageModel, asked: Question, history: Sequence[Exchange], meter: Meter) -> str | None:
    mark = nonce()
    turns = [
        f"Question: {one_line(one.question)}\nAnswer: {one_line(one.answer[:_LONGEST])}" for one in history[-_TURNS:]
    ]
    message = Message(
        system=prompts.load("standalone").render(language=LANGUAGES[asked.lang], nonce=mark),
        user=prompts.load("conversation").render(
            conversation="\n\n".join(turns), nonce=mark, question=one_line(asked.text)
        ),
        nonce=mark,
    )
    try:
        reply = llm.complete(message, schema=schema_of(_Rewritten), meter=meter)
        written = " ".join(visible(read(reply, _Rewritten).question).split())
    except GenerationFailed:
        return None
    said = "\n".join([asked.text, *(f"{one.question}\n{one.answer}" for one in history)])
    return written if brings_nothing(written, said, asked.lang) else None


def brings_nothing(written: str, said: str, lang: Lang) -> bool:
    """Whether a rewritten question holds only what was said: its numbers, names and links, in its language."""
    known = folded(said).casefold()
    return (
        0 < len(written) <= _LONGEST
        and speaks(written, lang)
        and is_plain(written, said)
        and all(supported(quantity, said) for quantity in quantities(written))
        and all(has_identifier(name, known) for name in identifiers(written))
    )
