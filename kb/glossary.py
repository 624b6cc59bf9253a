"""The bilingual terms of the field: one file of data, used by speech recognition, retrieval and translation."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, partial
from importlib import resources

from kb.text import HAN
from kb.types import Lang

_UNIT = re.compile(rf"{HAN.pattern}|[^\W_{HAN.pattern[1:-1]}]+")
_JOINT = re.compile(r"[\s\-_/\u2010-\u2015]*")

Units = tuple[str, ...]


@dataclass(frozen=True)
class Term:
    """One concept and its names, the usual one first; `heard_as` is what speech recognition makes of them."""

    zh: tuple[str, ...]
    en: tuple[str, ...]
    abbr: tuple[str, ...] = ()
    heard_as: tuple[str, ...] = ()

    def names(self, lang: Lang) -> tuple[str, ...]:
        """Names that a text in `lang` may use: its own and the abbreviations; for `und`, all."""
        own = {"zh": self.zh, "en": self.en, "und": (*self.zh, *self.en)}[lang]
        return tuple(dict.fromkeys((*own, *self.abbr)))


class Glossary:
    """Terms, and where they stand in a text."""

    def __init__(self, terms: tuple[Term, ...]) -> None:
        self.terms = terms
        self._by_form = {form: term for term in terms for name in term.names("und") for form in _forms(name)}
        self._longest: dict[str, int] = {}
        for form in self._by_form:
            self._longest[form[0]] = max(self._longest.get(form[0], 0), len(form))

    def find(self, text: str) -> list[Term]:
        """Terms that are named in `text`, in order of their first mention.

        A name inside a longer one does not count. Latin names match whole words in any case, in the plural, and with
        or without blanks and hyphens between their parts (`PagedAttention`, `paged-attention`); hanzi match anywhere.
        """
        found: dict[Term, None] = {}
        for run in _runs(text):
            reach = 0
            for start in range(len(run)):
                for end in range(min(start + self._longest.get(run[start], 0), len(run)), max(start, reach), -1):
                    if term := self._by_form.get(run[start:end]):
                        found.setdefault(term)
                        reach = end
                        break
        return list(found)

    def expand(self, text: str, to: Lang) -> list[str]:
        """Names and abbreviations in the language `to` of the terms in `text`, without those that `text` has already.

        This turns a question into words that passages in the other language use.
        """
        said = " / ".join(f" {' '.join(run)} " for run in _runs(text))
        names = dict.fromkeys(name for term in self.find(text) for name in term.names(to))
        return [name for name in names if not any(f" {' '.join(form)} " in said for form in _forms(name))]

    def hotwords(self, lang: Lang, limit: int) -> tuple[str, ...]:
        """At most `limit` names for a speech recogniser to expect: first the terms that it is known to mishear."""
        ordered = sorted(self.terms, key=lambda term: not term.heard_as)
        names = (name for term in ordered for name in (term.names(lang)[0], *term.abbr))
        return tuple(dict.fromkeys(names))[:limit]

    def mishearings(self) -> Iterator[tuple[str, str]]:
        """What is heard, and the name of its term that is spelled most alike."""
        for term in self.terms:
            for heard in term.heard_as:
                yield heard, max(term.names("zh" if HAN.search(heard) else "en"), key=partial(_likeness, heard))


def _likeness(heard: str, name: str) -> float:
    return SequenceMatcher(None, heard.casefold(), name.casefold(), autojunk=False).ratio()


@cache
def load_glossary() -> Glossary:
    """The glossary that the product carries, read once."""
    data = tomllib.loads(resources.files("kb").joinpath("glossary.toml").read_text(encoding="utf-8"))
    return Glossary(
        tuple(
            Term(**{field: tuple(values) for field, values in entry.items()})
            for domain in data.values()
            for entry in domain
        )
    )


def _runs(text: str) -> Iterator[Units]:
    """Stretches of words and single hanzi that only blanks, hyphens, underscores or slashes hold apart."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    run: list[str] = []
    end = 0
    for unit in _UNIT.finditer(folded):
        if run and not _JOINT.fullmatch(folded, end, unit.start()):
            yield tuple(run)
            run = []
        run.append(unit[0])
        end = unit.end()
    if run:
        yield tuple(run)


def _forms(name: str) -> set[Units]:
    """The ways in which a text may write `name`: its parts apart or as one word, singular or plural."""
    parts = next(_runs(name))
    spellings = {parts}
    if not HAN.search(name):
        spellings.add(("".join(parts),))
    return {(*spelling[:-1], last) for spelling in spellings for last in _numbers(spelling[-1])}


def _numbers(word: str) -> set[str]:
    if HAN.match(word):
        return {word}
    plurals = {word, f"{word}s"}
    if word.endswith(("s", "x", "ch", "sh")):
        plurals.add(f"{word}es")
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        plurals.add(f"{word[:-1]}ies")
    return plurals
