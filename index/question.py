"""What a question says about where its answer stands: a version, a recording, a deck, pages in a language.

It lifts candidates and never filters: who asks may be wrong about the place, and a filter would hide the answer.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

from index.fusion import Fused
from kb.types import Kind, Lang

# What they add, in shares of the best score: enough to put one of two versions first, not to bury a better answer.
_OF_VERSION = 0.2
_OF_KIND = 0.1
_OF_LANG = 0.1

_IDENTIFIER = re.compile(r"--[\w-]+|\w*_\w+", re.ASCII)
_PLACES: tuple[tuple[frozenset[Kind], re.Pattern[str]], ...] = (
    (
        frozenset({Kind.RECORDING, Kind.CAPTIONS}),
        re.compile(r"\b(?:in|from) (?:the|this|that) [\w' -]{0,40}\b(?:video|recording|talk)\b|视频|录像|录音", re.I),
    ),
    (frozenset({Kind.DECK}), re.compile(r"\b(?:slides?|deck|ppt)\b|课件|幻灯片|演示文稿|胶片", re.I)),
)
_WRITTEN = r"(?:docs?|documentation|notes?|pages?|slides?|deck|talk|video|guide|article|version)\b"
_TONGUES: tuple[tuple[Lang, re.Pattern[str]], ...] = (
    (
        "zh",
        re.compile(
            rf"\bthe Chinese (?:[\w'-]+ ){{0,3}}{_WRITTEN}|中文版?的?(?:文档|笔记|资料|说明|课件|页面|教程|视频)", re.I
        ),
    ),
    (
        "en",
        re.compile(
            rf"\bthe English (?:[\w'-]+ ){{0,3}}{_WRITTEN}|英文版?的?(?:文档|笔记|资料|说明|课件|页面|教程|视频)", re.I
        ),
    ),
)


def without_identifiers(text: str) -> str:
    """Identifiers are the same in every language: what is left can be translated."""
    return _IDENTIFIER.sub(" ", text)


def is_bare(text: str) -> bool:
    """Whether the question is nothing but identifiers: it means these very names."""
    return not any(character.isalnum() for character in without_identifiers(text))


def named_versions(text: str, versions: Iterable[str]) -> frozenset[str]:
    """Those of `versions` that the question names: `0.20.0` as `0.20.0`, `v0.20.0` or `v0.20`."""
    return frozenset(version for version in versions if _naming(version).search(text))


def named_kinds(text: str) -> frozenset[Kind]:
    """The kinds of source that the question speaks of."""
    return frozenset(kind for kinds, words in _PLACES if words.search(text) for kind in kinds)


def named_langs(text: str) -> frozenset[Lang]:
    """The languages whose pages the question speaks of."""
    return frozenset(lang for lang, words in _TONGUES if words.search(text))


def prefer(fused: Sequence[Fused], text: str) -> list[Fused]:
    """Candidates in a new order: of a version that the question names, of a kind or in a language that it speaks of,
    first among equals. Nothing is left out."""
    versions = named_versions(text, {one.found.source.version for one in fused if one.found.source.version})
    kinds, langs = named_kinds(text), named_langs(text)
    if not kinds and not versions and not langs:
        return list(fused)
    best = max((one.score for one in fused), default=0.0)

    def bonus(one: Fused) -> float:
        source = one.found.source
        share = _OF_VERSION * (source.version in versions) + _OF_KIND * (source.kind in kinds)
        return best * (share + _OF_LANG * (one.found.chunk.lang in langs))

    raised = (one._replace(score=one.score + bonus(one)) for one in fused)
    return sorted(raised, key=lambda one: (-one.score, one.found.chunk.id))


@functools.lru_cache(maxsize=256)
def _naming(version: str) -> re.Pattern[str]:
    """In full or without a last `.0`, never inside a longer number; a number without a dot needs its `v`."""
    number = version.removeprefix("v")
    short = number.removesuffix(".0") if number.count(".") > 1 else number
    rest = r"(?:\.0)?" if short != number else ""
    return re.compile(rf"(?<![0-9A-Za-z_.])v{'?' * ('.' in number)}{re.escape(short)}{rest}(?!\d|\.\d)", re.I)
