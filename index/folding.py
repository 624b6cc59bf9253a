"""Ranked chunks to ranked groups: what is said twice is one entry that names its twins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from index.fusion import Fused
from index.question import named_versions
from index.twins import Likeness, Said, compare
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


def fold(fused: Sequence[Fused], text: str, lang: Lang, limit: int) -> list[Entry]:
    """At most `limit` entries, one for chunks that say the same, where the best of them stands.

    It shows the version that the question `text` names, else the language that it is asked in, else the newest. A chunk
    that another one holds goes into it, unless it is of a version that comes before. A question that names several
    versions compares them, so none of those is folded into another.
    """
    named = named_versions(text, {one.found.source.version for one in fused if one.found.source.version})
    groups: list[_Group] = []
    for one in fused:
        said = Said.of(one.found.chunk, one.found.source)
        group = next((group for group in groups if _joins(group, one, said, named, lang)), None)
        if group is not None:
            group.sources[one.found.source.id] = None
        elif len(groups) < limit:  # later ones can only be twins
            groups.append(_Group(one, said))
    return [
        Entry(
            group.shown._replace(score=group.score),
            tuple(source for source in group.sources if source != group.shown.found.source.id),
        )
        for group in groups
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
