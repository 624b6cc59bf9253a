"""A question as the lists of each language are asked it: in its own words, and in what stands for them in the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from index.embed import Embedder, normalised
from index.points import LEXICAL
from index.question import is_bare, without_identifiers
from index.sparse import query_vector, terms
from index.store import Dense, Sparse
from kb.errors import LimitExceeded
from kb.text import detect_lang, sentences
from kb.types import Lang
from kb.words import load_words

Translate = Callable[[str, Lang], str | None]
"""A question and a language to the question in that language; None where there is no translation to be had."""

_OTHER: Mapping[Lang, Lang] = {"zh": "en", "en": "zh"}


class Expander(Protocol):
    """`kb.glossary.Glossary`, as far as searching needs it."""

    def expand(self, text: str, to: Lang) -> list[str]: ...


@dataclass(frozen=True)
class Worded:
    """A question, its vector in each dense list, and what passages in another language may say instead: texts, and
    ordinary words that are only alike."""

    text: str
    lang: Lang
    meaning: Mapping[str, Dense]
    added: Mapping[Lang, Sequence[str]]
    alike: Mapping[Lang, Sequence[str]]

    def vectors(self, lang: Lang, added_weight: float, alike_weight: float) -> dict[str, Dense | Sparse]:
        """What each list is asked in `lang`. Vectors meet across languages; words do not, so others join them there."""
        added, alike = self.added.get(lang, ()), self.alike.get(lang, ())
        lexical = query_vector(self.text, added, alike, added_weight=added_weight, alike_weight=alike_weight)
        return ({LEXICAL: lexical} if lexical.indices else {}) | dict(self.meaning)

    def wanted(self, added_weight: float, alike_weight: float) -> dict[str, float]:
        """Terms that a quote should hold and what each counts: the question's own, and those of the other language."""
        added = (term for texts in self.added.values() for text in texts for term in terms(text))
        alike = (term for words in self.alike.values() for term in words)
        own = dict.fromkeys(terms(self.text), 1.0)
        return dict.fromkeys(alike, alike_weight) | dict.fromkeys(added, added_weight) | own


class Wording:
    """Puts questions into words of both languages, and into vectors, each list's in a thread of its own: models load
    and embed beside each other.

    Args:
        embedders: by the name of the dense list that each fills.
        glossary: names of the question's terms in the other language; the house's own by default.
        translate: the whole question in the other language, where a language model is at hand.
    """

    def __init__(
        self, embedders: Mapping[str, Embedder], glossary: Expander | None, translate: Translate | None
    ) -> None:
        self._embedders = embedders
        self._given_glossary = glossary
        self._translate = translate
        self._threads = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="embed")

    def word(self, text: str, langs: Sequence[Lang], *, translate: bool) -> Worded:
        """`text` in every one of `langs` that it is not written in; words inside identifiers are not translated."""
        meant = {name: self._threads.submit(embedded, one, text) for name, one in self._embedders.items()}
        spoken, plain = detect_lang(text), without_identifiers(text)
        added: dict[Lang, Sequence[str]] = {}
        alike: dict[Lang, Sequence[str]] = {}
        for lang in langs:
            if lang != spoken:
                translation = self._translation(text, spoken, lang) if translate else None
                added[lang] = [*filter(None, [translation]), *self._glossary.expand(plain, lang)]
                alike[lang] = load_words().expand(terms(plain), lang)
        return Worded(text, spoken, {name: vector.result() for name, vector in meant.items()}, added, alike)

    def _translation(self, text: str, spoken: Lang, lang: Lang) -> str | None:
        if self._translate is None or _OTHER.get(spoken) != lang or is_bare(text):
            return None
        return self._translate(text, lang)

    @cached_property
    def _glossary(self) -> Expander:
        from kb.glossary import load_glossary

        return self._given_glossary or load_glossary()


def embedded(embedder: Embedder, text: str) -> Dense:
    """A question that is longer than the model reads is embedded in halves, cut between sentences, and averaged."""
    try:
        return embedder.embed_query(text)
    except LimitExceeded:
        ends = [end for _, end in sentences(text)][:-1]
        middle = min(ends, key=lambda end: abs(end - len(text) / 2), default=len(text) // 2)
        halves = (half for half in (text[:middle].strip(), text[middle:].strip()) if half)
        return normalised(np.mean([embedded(embedder, half) for half in halves], axis=0))
