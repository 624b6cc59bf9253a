"""Questions with gold quotes. A case names files and quotes, never chunk ids, so that it outlives every chunker."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from kb.errors import BadRequest
from kb.types import Frozen, Kind, Lang

_SUFFIXES = {
    Kind.DECK: {".pptx", ".pdf"},
    Kind.CAPTIONS: {".srt", ".vtt", ".json"},
    Kind.RECORDING: {".wav", ".mp3", ".m4a", ".flac", ".ogg", ".mp4", ".mkv", ".mov", ".webm"},
}


_CUE = re.compile(r"^(?:\d+[ \t]*\n)?(?:\d+:)?\d\d:\d\d[.,]\d{3}[ \t]+-->.*$\n?", re.MULTILINE)
_REMEDY = "docs/evaluation.md shows what a case holds"


class Gold(Frozen):
    """A quote that answers, word for word, in a file named relative to the corpus; an empty one is any of the file."""

    file: str
    quote: str

    @property
    def kind(self) -> Kind:
        suffix = Path(self.file).suffix.lower()
        return next((kind for kind, suffixes in _SUFFIXES.items() if suffix in suffixes), Kind.NOTE)

    @property
    def words(self) -> str:
        """What the quote says: out of captions without the numbers and times of the cues, which nobody speaks."""
        return _CUE.sub("", self.quote) if self.kind is Kind.CAPTIONS else self.quote


class Case(Frozen, extra="ignore"):
    """One question. No gold means that the corpus cannot answer it; `alternatives` answer as well as the gold.

    An entry of `must_include` may hold alternatives joined by `|`. Fields of others are passed over.
    """

    id: str
    question: str
    lang: Lang
    kind: str
    gold: tuple[Gold, ...]
    alternatives: tuple[Gold, ...] = ()
    answer: str = ""
    must_include: tuple[str, ...] = ()
    gold_lang: tuple[Lang, ...] = ()
    cross_lingual: bool = False

    @property
    def answerable(self) -> bool:
        return bool(self.gold)

    @property
    def quotes(self) -> tuple[Gold, ...]:
        return self.gold + self.alternatives

    def groups(self) -> Iterator[str]:
        """The names of the groups that this case counts in."""
        yield "all"
        yield self.lang
        if self.answerable:
            yield "cross" if self.cross_lingual else "same"
        yield f"kind:{self.kind}"
        yield from sorted({f"source:{gold.kind}" for gold in self.gold})


def load_cases(paths: Sequence[Path]) -> list[Case]:
    """Read JSON Lines files of cases.

    Raises:
        BadRequest: naming file and line, if a line is no case or an id comes twice.
    """
    cases: dict[str, Case] = {}
    for path in paths:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            told = f"cannot read the cases: {error.strerror}"
            raise BadRequest(told, where=str(path), remedy="Check the path") from error
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{path}:{number}"
            try:
                case = Case.model_validate(json.loads(line))
            except json.JSONDecodeError as error:
                raise BadRequest(f"this line is no case: {error}", where=where, remedy=_REMEDY) from error
            except ValidationError as error:
                fault = error.errors()[0]
                told = ": ".join(("this line is no case", *map(str, fault["loc"]), fault["msg"]))
                raise BadRequest(told, where=where, remedy=_REMEDY) from error
            if case.id in cases:
                raise BadRequest(f"the id {case.id} comes twice", where=where, remedy="Give every case its own id")
            cases[case.id] = case
    if not cases:
        raise BadRequest("there are no cases", where=", ".join(map(str, paths)))
    return list(cases.values())
