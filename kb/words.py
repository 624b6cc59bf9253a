"""Ordinary words of technical texts in Chinese and English: what the glossary, which holds terms, leaves out.

A question in one language finds passages in the other by them where neither has a term: `which blocks are evicted`.
They name alike things, not the same thing, so they count less than a term and never prove a translation.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources

from kb.text import HAN
from kb.types import Lang

_SHORT = re.compile(r"(?:^|[^aeiou])[aeiou][^aeiouwxy]$")


class Words:
    """Pairs of words, looked up by the word as a tokenizer gives it, English ones in any of their forms."""

    def __init__(self, pairs: Iterable[tuple[tuple[str, ...], tuple[str, ...]]]) -> None:
        found: dict[str, dict[str, None]] = defaultdict(dict)
        for zh, en in pairs:
            spelled = [form for word in en for form in forms(word)]
            for word in zh:
                found[word] |= dict.fromkeys(spelled)
            for form in spelled:
                found[form] |= dict.fromkeys(zh)
        self._found: Mapping[str, tuple[str, ...]] = {word: tuple(others) for word, others in found.items()}

    def counterparts(self, word: str) -> tuple[str, ...]:
        """Words of the other language that may stand for `word`, English ones in all their forms; often none."""
        return self._found.get(word.casefold(), ())

    def expand(self, words: Iterable[str], to: Lang) -> list[str]:
        """The counterparts in the language `to` of those `words` that are not written in it."""
        wanted = to == "zh"
        foreign = (word for word in words if bool(HAN.search(word)) != wanted)
        return list(dict.fromkeys(other for word in foreign for other in self.counterparts(word)))


def forms(word: str) -> Iterator[str]:
    """An English word and its regular endings: `evict`, `evicts`, `evicted`, `evicting`."""
    yield word
    if not word.isalpha() or len(word) < 3:
        return
    stem = word[:-1] if word.endswith("e") else word
    if word.endswith("y") and word[-2] not in "aeiou":
        yield from (f"{word[:-1]}ies", f"{word[:-1]}ied", f"{word}ing")
        return
    yield f"{word}es" if word.endswith(("s", "sh", "ch", "x")) else f"{word}s"
    doubled = stem + stem[-1] if _is_short(word) else stem
    yield from (f"{doubled}ed", f"{doubled}ing")


def _is_short(word: str) -> bool:
    """Whether its last letter is doubled before an ending: `drop`, `swap`, `fit`."""
    return len(word) <= 4 and bool(_SHORT.search(word))


@cache
def load_words() -> Words:
    """The words that the product carries, read once."""
    lines = resources.files("kb").joinpath("words.tsv").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return Words((tuple(zh.split()), tuple(en.split())) for zh, en in pairs)
