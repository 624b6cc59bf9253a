"""Ranked chunks to ranked groups: what is said twice is one entry that names its twins."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from index.fusion import Fused
from index.question import named_versions
from index.twins import Likeness, Said, compare, keys
from kb.types import Lang


class Entry(NamedTuple):
    """The chunk that is shown for a group, at the place and with the score of its best, and the other sources' ids."""

    shown: Fused
    twins: tuple[str, ...]


class _Group:
    def __init__(self, first: Fused, said: Said) -> None:
        self.score = first.score
        self.shown = first
        self.said = said
        self.sources = {first.found.source.id: None}  # a set that keeps its order


class _Groups:
    """Groups in their order, and which of them a chunk may belong to: most are strangers to each other."""

    def __init__(self) -> None:
        self.found: list[_Group] = []
        self._places: dict[_Group, int] = {}
        self._by_key: dict[tuple[str, ...], set[_Group]] = defaultdict(set)
        self._translations: set[_Group] = set()

    def add(self, group: _Group) -> None:
        self._places[group] = len(self.found)
        self.found.append(group)
        self.file(group)

    def file(self, group: _Group) -> None:
        """Find `group` by what it shows from now on, too."""
        for key in keys(group.said):
            self._by_key[key].add(group)
        if group.said.original:
            self._translations.add(group)

    def near(self, said: Said) -> list[_Group]:
        if said.original:
            return self.found
        near = self._translations.union(*(self._by_key.get(key, ()) for key in keys(said)))
        return sorted(near, key=self._places.__getitem__)


def fold(fused: Sequence[Fused], text: str, lang: Lang, limit: int) -> list[Entry]:
    """At most `limit` entries, one for chunks that say the same, where the best of them stands.

    It shows the version that the question `text` names, else the language that it is asked in, else the newest. A chunk
    that another one holds goes into it, unless it is of a version that comes before. A question that names several
    versions compares them, so none of those is folded into another.
    """
    named = named_versions(text, {one.found.source.version for one in fused if one.found.source.version})
    groups = _Groups()
    for one in fused:
        said = Said.of(one.found.chunk, one.found.source)
        group = next((group for group in groups.near(said) if _joins(group, one, said, named, lang)), None)
        if group is not None:
            group.sources[one.found.source.id] = None
            groups.file(group)
        elif len(groups.found) < limit:  # later ones can only be twins
            groups.add(_Group(one, said))
    return [
        Entry(
            group.shown._replace(score=group.score),
            tuple(source for source in group.sources if source != group.shown.found.source.id),
        )
        for group in groups.found
    ]


def _joins(group: _Group, one: Fused, said: Said, named: frozenset[str], lang: Lang) -> bool:
    """Whether `one` is a member of the group; if so, the group shows it where it comes before what it showed."""
    likeness = compare(said, group.said)
    if likeness is Likeness.STRANGER:
        return False
    versions = {said.source.version, group.said.source.version}
    if len(versions) > 1 and versions <= named:
        return False
    mine, theirs = (_precedence(each, named, lang) for each in (said, group.said))
    if likeness is Likeness.TWIN:
        replaces = mine > theirs
    elif likeness is Likeness.HOLDER and mine >= theirs:
        replaces = True
    elif likeness is Likeness.HELD and mine <= theirs:
        replaces = False
    else:
        return False
    if replaces:
        group.shown, group.said = one, said
    return True


def _precedence(said: Said, named: frozenset[str], lang: Lang) -> tuple[bool, bool, tuple[int, ...], int]:
    version, day = said.source.version or "", said.source.date
    numbers = tuple(int(part) for part in re.findall(r"\d+", version))
    return version in named, said.chunk.lang == lang, numbers, day.toordinal() if day else 0
