"""Whether a quote speaks of what a claim speaks of, in one language or in two; and which language a claim is in."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache, lru_cache

from generate.naming import stems
from generate.passages import Passage
from generate.quantity import quantities
from generate.question import content_terms, stop_words
from kb.glossary import load_glossary
from kb.text import detect_lang
from kb.types import Lang

_CODE = re.compile(r"`[^`]*`|--?[A-Za-z][\w-]*|\b\w*[_./]\w[\w./]*|\b\w*(?:[A-Z]\w*[A-Z]|\d)\w*\b|“[^”]*”")
_LEAST = 0.15  # share of a claim's words that its quote has, too, with the headings above it
_DIGIT = re.compile(r"\d")
_LATIN = re.compile(r"[a-z][a-z0-9_+-]+")


def is_related(claim: str, passage: Passage) -> bool:
    """Whether they share words; in two languages: a name, a number or a term of the glossary, if the claim has any."""
    quote = f"{passage.hit.source.title}\n{passage.in_context}"
    words = content_terms(claim)
    if detect_lang(claim) == detect_lang(passage.quote):
        return not words or len(words & content_terms(quote)) >= max(1, _LEAST * len(words))
    known = anchors(claim)
    return not known or bool(known & anchors(f"{quote}\n{passage.hit.chunk.text}"))


@lru_cache(maxsize=8192)
def anchors(text: str) -> frozenset[object]:
    """What stays the same in another language: names, numbers, terms of the glossary; without endings, as `words`."""
    latin = {word for word in content_terms(text) if _LATIN.fullmatch(word)} if detect_lang(text) == "zh" else set()
    names = {name.casefold() for found in _CODE.findall(text) for name in re.findall(r"\w+", found)}
    spelled = frozenset[str]().union(*map(stems, latin | names))
    return frozenset({*spelled, *figures(text), *load_glossary().find(text)})


def words(text: str) -> frozenset[str]:
    """The words of `text` that say something, English ones without their endings."""
    return stems(text) - _stop_stems()


@cache
def _stop_stems() -> frozenset[str]:
    return frozenset[str]().union(*map(stems, stop_words()))


@lru_cache(maxsize=8192)
def figures(text: str) -> frozenset[Decimal]:
    """The values of the numbers in `text`."""
    return frozenset(held.value for held in quantities(text)) if _DIGIT.search(text) else frozenset()


@lru_cache(maxsize=8192)
def keys(text: str) -> frozenset[object]:
    """All that `text` can be found by."""
    return words(text) | anchors(text)


def speaks(text: str, lang: Lang) -> bool:
    """Whether `text` may stand in an answer in `lang`: code, names and words in quotation marks are of no language."""
    said = detect_lang(_CODE.sub(" ", text))
    return "und" in (lang, said) or said == lang
