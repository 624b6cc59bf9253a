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
from itertools import pairwise
from typing import NamedTuple

from kb.glossary import load_glossary
from kb.text import HAN

_EXACT, _NEAR = 3, 4  # syllables of a term that sounds the same, or the same but for one syllable
_LETTERS = 12  # of an English term; shorter ones are too near to other words
_LONGEST = 12  # units of a name
_PER_MISTAKE = 8  # letters of a term for each one that may differ
_UNIT = re.compile(rf"{HAN.pattern}|[A-Za-z0-9]+")
_INSIDE = re.compile(r"[\s，,、]{0,2}")  # what a recogniser sets inside a term where the speaker draws breath
_WORD = re.compile(r"[A-Za-z]+")
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
    units, spelled = list(_UNIT.finditer(text)), _names().spelled | _spellings().right
    for first, unit in enumerate(units):
        letters = ""
        for last in units[first : first + _LONGEST]:
            letters += last[0].casefold()
            if letters in spelled:
                yield unit.start(), last.end()


# --- Chinese ------------------------------------------------------------------------------------------------------

_Syllables = tuple[str, ...]


class _Names(NamedTuple):
    """Names by how they sound; `near` has a blank for each syllable in turn."""

    exact: dict[_Syllables, str]
    near: dict[_Syllables, str]
    spelled: frozenset[str]


@cache
def _names() -> _Names:
    exact: dict[_Syllables, str] = {}
    near: dict[_Syllables, str] = {}
    spelled = set()
    for name in (name for term in load_glossary().terms for name in term.zh if HAN.search(name)):
        sound = _sounds(name)
        spelled.add("".join(_UNIT.findall(name)).casefold())
        exact.setdefault(sound, name)
        if len(sound) >= _NEAR:
            for at in range(len(sound)):
                near.setdefault(_blank(sound, at), name)
    return _Names(exact, near, frozenset(spelled))


def _sounds(text: str) -> _Syllables:
    from pypinyin import lazy_pinyin

    units = _UNIT.findall(text)
    return tuple(sound.casefold() for sound in lazy_pinyin(units, v_to_u=True))


def _blank(sound: _Syllables, at: int) -> _Syllables:
    return (*sound[:at], "", *sound[at + 1 :])


def _chinese(text: str) -> Iterator[Alike]:
    names, units = _names(), list(_UNIT.finditer(text))
    if not HAN.search(text):
        return
    sounds = _sounds(text)
    lengths = sorted({len(sound) for sound in names.exact}, reverse=True)
    for first in range(len(units)):
        for length in lengths:
            run = units[first : first + length]
            if len(run) == length and _is_run(text, run):
                start, end = run[0].start(), run[-1].end()
                name = _name_of(sounds[first : first + length], text, start, end)
                if name is not None:
                    yield Alike(start, end, name)
                    break


def _is_run(text: str, run: list[re.Match[str]]) -> bool:
    joints = [text[left.end() : right.start()] for left, right in pairwise(run)]
    return all(map(_INSIDE.fullmatch, joints)) and sum(any(mark in joint for mark in "，,、") for joint in joints) <= 1


def _name_of(sound: _Syllables, text: str, start: int, end: int) -> str | None:
    """The name that a place sounds like; None if it is spelled so already, or says something else."""
    names, heard = _names(), text[start:end]
    plain = "".join(_UNIT.findall(heard)).casefold()
    if plain in names.spelled:
        is_broken = any(mark in heard for mark in "，,、") and len(sound) >= _NEAR
        return names.exact[sound] if is_broken and sound in names.exact else None
    if name := names.exact.get(sound):
        return name if len(sound) >= _EXACT or _is_no_word(text, start, end) else None
    for at in range(len(sound) if len(sound) >= _NEAR else 0):
        if (name := names.near.get(_blank(sound, at))) and _are_near(sound[at], _sounds(name)[at]):
            return name
    return None


def _are_near(heard: str, meant: str) -> bool:
    """Whether two syllables share their initial or their final sound."""
    initials = [_INITIAL.match(each) for each in (heard, meant)]
    first, second = (each[0] if each else "" for each in initials)
    return (first == second != "") or heard.removeprefix(first) == meant.removeprefix(second)


def _is_no_word(text: str, start: int, end: int) -> bool:
    """Whether the characters stand for themselves: in no word of the dictionary, nor part of one."""
    import rjieba

    at = 0
    for word in rjieba.cut(text, hmm=False):
        if at < end and at + len(word) > start and len(word) > 1:
            return False
        at += len(word)
    return True


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
    known = {each for word in words for each in by_word.get(word, ()) if each[0] not in heard}
    distances = {each: Levenshtein.distance(heard, each[0]) for each in known}
    alike = [(distance, each) for each, distance in distances.items() if distance <= len(each[0]) // _PER_MISTAKE]
    return min(alike)[1][1] if alike else None
