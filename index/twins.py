"""Whether two chunks say the same: versions of a page, a deck as PDF and as PPTX, spans that overlap, translations.

Likeness is resemblance and containment of shingles (Broder, "On the resemblance and containment of documents", 1997),
here pairs of neighbouring words. Likeness alone would hide what a reader compares versions for, so twins also agree in
every *mark*: numbers, identifiers, flags, paths, and words that turn a statement round.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from kb.files import path_of
from kb.types import Chunk, Mark, Page, Source

_ALIKE = 0.85  # of the larger one's shingles: a word or two changed
_FEWEST = 12  # shingles; less is held by anything
_TRANSLATED = 0.65  # of the shorter one's: entries of a catalogue leave out markup
_CERTAIN = 3  # different marks that a translation must share with its original
_REMEMBERED = 4096  # chunks, some 10 KB each

_WORD = re.compile(r"[^\W_\u3400-\u9fff]+|[\u3400-\u9fff]")
_TOKEN = re.compile(r"[A-Za-z0-9_./:@%+#=-]+|[不没未无非勿仅只禁]|开启|关闭|启用|停用")
_IDENTIFIER = re.compile(r"\d|_|=|^--|[a-z][A-Z]|\w[/:]\w")
_TURNING_WORDS = """
no not never none neither without cannot only except unless true false on off enable enables enabled disable disables
disabled supported unsupported deprecated removed 不 没 未 无 非 勿 仅 只 禁 开启 关闭 启用 停用
"""
_TURNING = frozenset(_TURNING_WORDS.split())
_PAGE_NUMBER = re.compile(r"(?m)^[ \t]*(\d+)(?:[ \t]*/[ \t]*\d+)?[ \t]*$")

_LOCALE = re.compile(r"i18n|locales?|LC_MESSAGES|(?:zh|en)(?:[-_]\w+)?|docusaurus-plugin-[\w-]+|current|docs", re.I)
_VERSION = re.compile(r"[-_.]?(?:version-)?v?\d+(?:\.\d+)+$|^version-v?\d+(?:\.\d+)*$")
_IN_NAME = re.compile(r"[._-](?:zh|en)(?:[-_]\w+)?$", re.I)


class Likeness(Enum):
    """What the first of two chunks is to the second. Twins are interchangeable; of two where one holds the other, only
    the holder says everything."""

    STRANGER = "stranger"
    TWIN = "twin"
    HOLDER = "holder"
    HELD = "held"


class Said(NamedTuple):
    """A chunk as it is compared: its shingles, and its marks in their order."""

    chunk: Chunk
    source: Source
    page: tuple[str, ...]
    shingles: frozenset[int]
    marks: tuple[str, ...]
    original: frozenset[int]  # shingles of what it is a translation of, where a catalogue says so
    sorted_marks: tuple[str, ...]

    @classmethod
    def of(cls, chunk: Chunk, source: Source) -> Said:
        """The headings count among the marks of a note: the same code below `Eagle` and below `Eagle3` differs."""
        place = chunk.spans[0].locator if chunk.spans else None
        headings = place.heading_path if isinstance(place, Mark) else ()
        number = place.number if isinstance(place, Page) else None
        original = _read(chunk.original, (), None)[0] if chunk.original else frozenset()
        shingles, marks, sorted_marks = _read(chunk.text, headings, number)
        return cls(chunk, source, page(source.uri), shingles, marks, original, sorted_marks)

    def is_related(self, other: Said) -> bool:
        """Whether both are of one source, one talk or one page in several versions, languages or formats."""
        return self.page == other.page or (self.source.talk is not None and self.source.talk == other.source.talk)


def keys(said: Said) -> Iterator[tuple[str, ...]]:
    """What two chunks share at least one of, unless they are strangers or one is a translation that says of what."""
    yield ("page", *said.page)
    yield ("marks", *said.sorted_marks)
    if said.source.talk is not None:
        yield "talk", said.source.talk


def compare(one: Said, other: Said) -> Likeness:
    """What `one` is to `other`."""
    if (one.original and _translates(one, other)) or (other.original and _translates(other, one)):
        return Likeness.TWIN
    if one.chunk.lang != other.chunk.lang and one.page == other.page:
        certain = one.marks == other.marks and len(set(one.marks)) >= _CERTAIN
        return Likeness.TWIN if certain else Likeness.STRANGER
    mine, theirs = len(one.shingles), len(other.shingles)
    small, large = (mine, theirs) if mine < theirs else (theirs, mine)
    if small >= _ALIKE * large and _same_marks(one, other) and len(one.shingles & other.shingles) >= _ALIKE * large:
        return Likeness.TWIN
    if small < _FEWEST or not one.is_related(other):
        return Likeness.STRANGER
    if one.shingles >= other.shingles and Counter(one.marks) >= Counter(other.marks):
        return Likeness.HOLDER
    if one.shingles <= other.shingles and Counter(one.marks) <= Counter(other.marks):
        return Likeness.HELD
    return Likeness.STRANGER


def _translates(one: Said, other: Said) -> bool:
    """Whether most of the shorter one of `other` and what `one` translates stands in the longer one."""
    least = min(len(one.original), len(other.shingles))
    return least >= _FEWEST and len(one.original & other.shingles) >= _TRANSLATED * least


@functools.lru_cache(maxsize=_REMEMBERED)
def page(uri: str) -> tuple[str, ...]:
    """The path of a source without what tells its versions, languages and formats apart."""
    *folders, name = path_of(uri).parts
    stem = _IN_NAME.sub("", name.rpartition(".")[0] or name)
    plain = (_VERSION.sub("", folder) for folder in folders if not _LOCALE.fullmatch(folder))
    return (*(folder for folder in plain if folder), _VERSION.sub("", stem))


@functools.lru_cache(maxsize=_REMEMBERED)
def _read(
    text: str, headings: tuple[str, ...], number: int | None
) -> tuple[frozenset[int], tuple[str, ...], tuple[str, ...]]:
    """Shingles and marks, in their order and sorted."""
    if number is not None:
        text = _PAGE_NUMBER.sub(lambda line: "" if int(line[1]) == number else line[0], text)
    text = unicodedata.normalize("NFKC", text)
    words = _WORD.findall(text.casefold())
    shingles = frozenset(map(hash, itertools.pairwise(words))) or frozenset(map(hash, words))
    tokens = _TOKEN.findall(" ".join((*headings, text)))
    marks = tuple(mark for token in tokens if (mark := _mark(token)))
    return shingles, marks, tuple(sorted(marks))


def _mark(token: str) -> str:
    token = token.rstrip(".,:/-").lstrip("./:")
    return token if _IDENTIFIER.search(token) or token.casefold() in _TURNING else ""


def _same_marks(one: Said, other: Said) -> bool:
    """In the same order: two numbers that changed places are a difference. Formats order a slide differently."""
    if one.marks == other.marks:
        return True
    on_pages = all(isinstance(span.locator, Page) for said in (one, other) for span in said.chunk.spans)
    return on_pages and one.sorted_marks == other.sorted_marks
