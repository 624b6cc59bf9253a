"""Sources that say the same of the same thing with other numbers, set side by side with their versions or dates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from generate.cite import Statement
from generate.extract import Reading
from generate.naming import stems
from generate.passages import Passage
from generate.quantity import quantities
from generate.question import Want
from generate.readable import readable
from kb.types import Lang, Support

_ALIKE = 0.7  # share of the words of two sentences that both have, from which they say the same of the same thing
_LEAST = 3  # words that they share at least
_MOST = 2  # disagreements in an answer
_NAMED = 0.5  # share of the question that a passage names, or what stands above it, to be about what is asked …
_COUNTED = 0.33  # … this much where a number is asked for, which both have
_NAME = re.compile(r"`[^`]+`|--?[A-Za-z][\w-]+|\b[A-Za-z]\w*_\w+|\b(?=\w*[A-Z0-9])[A-Za-z][\w.-]*")
_DIGITS = re.compile(r"[\d.,%]+")


@dataclass(frozen=True)
class _Said:
    """A sentence apart from its numbers, and its numbers."""

    words: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[tuple[str, Decimal]]
    units: tuple[str, ...]


def on_subject(reading: Reading) -> list[Passage]:
    """Passages that answer the question or speak of what it names: only where these disagree does its reader care."""
    least = _COUNTED if Want.NUMBER in reading.question.wants else _NAMED
    return [one.passage for one in reading.scored if reading.coverage(one.near) >= least]


def disagreements(
    cited: Sequence[Passage], found: Sequence[Passage], lang: Lang, units: Set[str] = frozenset()
) -> list[Statement]:
    """A statement for each cited passage that a passage of another source contradicts; at most two.

    Where the question asks for a number with one of `units`, numbers that differ have it, or none, as in a table.
    """
    statements: list[Statement] = []
    counting = [one for one in found if any(map(str.isdigit, one.quote))]
    for passage in cited:
        for part in _parts(passage, counting):
            other = next((one for one in counting if _contradicts(part, one, units)), None)
            if other is None or len(statements) == _MOST:
                continue
            shown = [passage, next((one for one in cited if _holds(one, other)), other)]
            if not any(set(shown) == set(one.passages) for one in statements):
                statements.append(Statement(_worded([part, other], lang), tuple(shown), Support.CONFLICT))
    return statements


def _parts(passage: Passage, found: Sequence[Passage]) -> Iterator[Passage]:
    """The sentences of a cited passage, as they were found."""
    parts = [one for one in found if _holds(passage, one)]
    yield from parts or [passage]


def _holds(passage: Passage, part: Passage) -> bool:
    return passage.hit.chunk.id == part.hit.chunk.id and passage.start <= part.start and part.end <= passage.end


def _contradicts(one: Passage, other: Passage, units: Set[str]) -> bool:
    source = one.hit.source
    if source.id == other.hit.source.id or other.hit.source.id in one.hit.twins or one.form != other.form:
        return False
    left, right = _said(one.quote), _said(other.quote)
    if not left.numbers or left.units != right.units or left.numbers == right.numbers or left.names != right.names:
        return False
    if units and not any(unit in units or not unit for unit, _ in left.numbers ^ right.numbers):
        return False
    shared = len(left.words & right.words)
    return shared >= _LEAST and shared >= _ALIKE * len(left.words | right.words)


@lru_cache(maxsize=2048)
def _said(text: str) -> _Said:
    held = [(quantity.unit, quantity.value) for quantity in quantities(text)]
    words = frozenset(word for word in stems(text) if not _DIGITS.fullmatch(word))
    names = frozenset(name.casefold() for name in _NAME.findall(text))
    return _Said(words, names, frozenset(held), tuple(sorted(unit for unit, _ in held)))


def _worded(passages: Sequence[Passage], lang: Lang) -> str:
    said = [f"{_label(passage)}{'：' if lang == 'zh' else ': '}“{readable(passage)}”" for passage in passages]
    return f"资料说法不一：{'；'.join(said)}。" if lang == "zh" else f"Sources disagree: {'; '.join(said)}."


def _label(passage: Passage) -> str:
    source = passage.hit.source
    version = f"v{source.version.removeprefix('v')}" if source.version else ""
    return ", ".join(filter(None, (version, str(source.date or "")))) or " ".join(source.title.split())
