"""Words that sound like a term of the glossary: most of what a recogniser mishears is spelled by sound.

Chinese is compared by its syllables without tones: recognisers choose a homophone (`剑制缓存` for `键值缓存`), miss one
syllable of a long term by a sound, or set a comma inside it. English is compared by its letters (`export parallelism`
for `expert parallelism`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import combinations, pairwise
from typing import NamedTuple

from kb.glossary import load_glossary
from kb.text import HAN

_NEAR = 4  # syllables of a term that may sound the same but for one
_GRAMMAR = frozenset(  # words of one character that stand between others
    "的地得了着过与和及或在中时从即其以所把被对为是有也就都而但则让使给到由于向每各这那我你他她它们个一二两三不没很更最前后上下里外再还"
)
_LETTERS = 12  # of an English term; shorter ones are too near to other words
_LONGEST = 12  # units of a name
_PER_MISTAKE = 10  # letters of a term for each one that may differ
_UNIT = re.compile(rf"{HAN.pattern}|[A-Za-z0-9]+")
_INSIDE = re.compile(r"[\s，,、]{0,2}")  # what a recogniser sets inside a term where the speaker draws breath
_WORD = re.compile(r"[A-Za-z]+")
_NASALS = {
    frozenset(pair.split()) for pair in ("an ang", "en eng", "in ing", "ian iang", "uan uang", "uan un", "ong eng")
}
_INITIAL = re.compile(r"[zcs]h|[b-df-hj-np-tv-z]|")


class Alike(NamedTuple):
    """`text[start:end]` sounds like the term `name`."""

    start: int
    end: int
    name: str


def soundalikes(text: str) -> Iterator[Alike]:
    """Places that sound like a term and are not spelled like one: none inside another, or cutting into a name that is
    spelled right."""
    right = list(_spelled_right(text))
    found = sorted([*_chinese(text), *_english(text)], key=lambda each: (each.start, -each.end))
    reach = 0
    for each in found:
        is_free = all(
            each.end <= start or end <= each.start or (each.start <= start and end <= each.end)
            for start, end in right
        )  # fmt: skip
        if each.start >= reach and is_free:
            yield each
            reach = each.end


def _spelled_right(text: str) -> Iterator[tuple[int, int]]:
    """Where names of the glossary stand."""
    units, spelled = list(_UNIT.finditer(text)), _names().spelled.keys() | _spellings().right
    for first, unit in enumerate(units):
        letters = ""
        for last in units[first : first + _LONGEST]:
            letters += last[0].casefold()
            if letters in spelled:
                yield unit.start(), last.end()


# --- Chinese ------------------------------------------------------------------------------------------------------

_Syllables = tuple[str, ...]


class _Names(NamedTuple):
    """Names by how they sound; `near` has a blank for each syllable in turn. `lengths` are those of the names that
    have a certain syllable as their first (0) or second one (1)."""

    exact: dict[_Syllables, str]
    near: dict[_Syllables, str]
    spelled: dict[str, str]
    lengths: dict[tuple[int, str], set[int]]


@cache
def _names() -> _Names:
    exact: dict[_Syllables, str] = {}
    near: dict[_Syllables, str] = {}
    spelled: dict[str, str] = {}
    lengths: dict[tuple[int, str], set[int]] = defaultdict(set)
    for name in (name for term in load_glossary().terms for name in term.zh if HAN.search(name)):
        sound = _sounds(name)
        spelled[_plain(name)] = name
        exact.setdefault(sound, name)
        for beginning in enumerate(sound[:2]):
            lengths[beginning].add(len(sound))
        if len(sound) >= _NEAR:
            for at in range(len(sound)):
                near.setdefault(_blank(sound, at), name)
    return _Names(exact, near, spelled, lengths)


def _sounds(text: str) -> _Syllables:
    from pypinyin import lazy_pinyin

    units = _UNIT.findall(text)
    return tuple(sound.casefold() for sound in lazy_pinyin(units, v_to_u=True))


def _blank(sound: _Syllables, at: int) -> _Syllables:
    return (*sound[:at], "", *sound[at + 1 :])


def _chinese(text: str) -> Iterator[Alike]:
    if not HAN.search(text):
        return
    names, units, sounds, words = _names(), list(_UNIT.finditer(text)), _sounds(text), _words(text)
    for first in range(len(units)):
        beginnings = enumerate(sounds[first : first + 2])
        for length in sorted({length for each in beginnings for length in names.lengths.get(each, ())}, reverse=True):
            run = units[first : first + length]
            if len(run) == length and _is_run(text, run):
                start, end = run[0].start(), run[-1].end()
                name = _name_of(sounds[first : first + length], text[start:end])
                if name is not None and (
                    _plain(text[start:end]) in names.spelled or _is_stray(text, words, start, end)
                ):
                    yield Alike(start, end, name)
                    break


def _is_run(text: str, run: list[re.Match[str]]) -> bool:
    joints = [text[left.end() : right.start()] for left, right in pairwise(run)]
    return all(map(_INSIDE.fullmatch, joints)) and sum(any(mark in joint for mark in "，,、") for joint in joints) <= 1


def _name_of(sound: _Syllables, heard: str) -> str | None:
    """The name that a place sounds like; None if it is spelled so already."""
    names = _names()
    is_broken = any(mark in heard for mark in "，,、")
    if (plain := _plain(heard)) in names.spelled:
        return names.spelled[plain] if is_broken and len(sound) >= _NEAR else None
    if is_broken and len(sound) < _NEAR:
        return None
    if name := names.exact.get(sound):
        return name
    for at in range(len(sound) if len(sound) >= _NEAR and not is_broken else 0):
        if (name := names.near.get(_blank(sound, at))) and _are_near(sound[at], _sounds(name)[at]):
            return name
    return None


def _plain(text: str) -> str:
    return "".join(_UNIT.findall(text)).casefold()


def _are_near(heard: str, meant: str) -> bool:
    """Whether two syllables end alike, or begin alike and end in two of the nasals that speakers mix up."""
    initials = [_INITIAL.match(each) for each in (heard, meant)]
    first, second = (each[0] if each else "" for each in initials)
    ends = frozenset((heard.removeprefix(first), meant.removeprefix(second)))
    return len(ends) == 1 or (first == second and ends in _NASALS)


def _words(text: str) -> list[tuple[int, int]]:
    """Where the words of the dictionary stand; what is in none stands alone, character by character."""
    import rjieba

    spans, at = [], 0
    for word in rjieba.cut(text, hmm=False):
        spans.append((at, at + len(word)))
        at += len(word)
    return [(start, end) for start, end in spans if end - start > 1 or HAN.match(text[start]) is not None]


def _is_stray(text: str, words: list[tuple[int, int]], start: int, end: int) -> bool:
    """Whether the characters make no sense as they stand: one of them is in no word, and they cut into none.

    A place of ordinary words alone was probably said so; a glossary that knows better says what is heard for a term.
    """
    touched = [(first, last) for first, last in words if first < end and last > start]
    cuts = any(first < start or last > end for first, last in touched)
    return not cuts and any(last - first == 1 and text[first] not in _GRAMMAR for first, last in touched)


# --- English ------------------------------------------------------------------------------------------------------


class _Spellings(NamedTuple):
    """Long names by each of their words, with their letters; and the letters of all names, in both numbers."""

    by_word: dict[str, list[tuple[str, str]]]
    right: frozenset[str]


@cache
def _spellings() -> _Spellings:
    by_word: dict[str, list[tuple[str, str]]] = defaultdict(list)
    right: set[str] = set()
    for name in (name for term in load_glossary().terms for name in term.en):
        words = _WORD.findall(name.casefold())
        letters = "".join(words)
        right.update((letters, f"{letters}s", f"{letters}es"))
        if len(words) > 1 and len(letters) >= _LETTERS:
            for word in {word for word in words if len(word) > 3}:
                by_word[word].append((letters, name))
    return _Spellings(by_word, frozenset(right))


def _english(text: str) -> Iterator[Alike]:
    words = list(_WORD.finditer(text))
    for first in range(len(words)):
        for count in (4, 3, 2):
            run = words[first : first + count]
            if len(run) == count and (name := _spelled_alike(text, run)):
                yield Alike(run[0].start(), run[-1].end(), name)
                break


def _spelled_alike(text: str, run: list[re.Match[str]]) -> str | None:
    """The long name with a word of the run that differs from it in few letters."""
    from rapidfuzz.distance import Levenshtein

    if not all(re.fullmatch(r"[ \-]{1,2}", text[left.end() : right.start()]) for left, right in pairwise(run)):
        return None
    words = [word[0].casefold() for word in run]
    heard, (by_word, right) = "".join(words), _spellings()
    if heard in right:
        return None
    inner = ("".join(words[first:last]) for first, last in combinations(range(len(words) + 1), 2))
    if any(len(each) >= _LETTERS and each in right for each in inner):
        return None
    known = {each for word in words for each in by_word.get(word, ()) if not _is_inflection(heard, each[0])}
    distances = {each: Levenshtein.distance(heard, each[0]) for each in known}
    alike = [(distance, each) for each, distance in distances.items() if distance <= len(each[0]) // _PER_MISTAKE]
    return min(alike)[1][1] if alike else None


def _is_inflection(heard: str, meant: str) -> bool:
    return heard.startswith(meant) or meant.startswith(heard)
