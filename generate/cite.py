"""From statements to an answer's text: numbers by first use, one bibliography, the same for every surface."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from generate.passages import Passage
from kb.types import Citation, Claim, SentenceEvent, Support, screen_at

MARKER = re.compile(r"\[(\d+)\]")
"""A reference in an answer's text. Nothing else in it looks like one."""

_FULL_WIDTH = str.maketrans("[]", "［］")


@dataclass(frozen=True)
class Statement:
    """A sentence of an answer, and the passages that carry it; not numbered yet."""

    text: str
    passages: tuple[Passage, ...]
    support: Support = Support.DIRECT
    is_quote: bool = False


@dataclass(frozen=True)
class Numbered:
    text: str
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]


class Numbering:
    """Numbers passages by first use while statements come: each becomes `text [1] [2]`.

    A passage that is cited twice keeps its number. What looks like a marker in a statement, such as the `[12]` of a
    quoted paper, gets full-width brackets in the text; claims keep it as it stands.
    """

    def __init__(self, joint: str) -> None:
        self._joint = joint
        self._lead = self._mark = ""
        self._numbers: dict[str, int] = {}
        self._texts: list[str] = []
        self._claims: list[Claim] = []
        self.citations: list[Citation] = []

    def quotes_under(self, lead: str) -> None:
        """Quotes that come from here on stand below `lead`, each marked as Markdown marks quotes."""
        self._lead, self._mark, self._joint = f"{lead}\n\n", "> ", "\n\n"

    def add(self, statement: Statement) -> tuple[Sequence[Citation], SentenceEvent]:
        """The citations that are new with `statement`, and the statement with its markers, which are never parted."""
        known = len(self.citations)
        own = []
        for passage in statement.passages:
            if passage.id not in self._numbers:
                self._numbers[passage.id] = len(self._numbers) + 1
                self.citations.append(cite(passage, self._numbers[passage.id]))
            own.append(self._numbers[passage.id])
        own = list(dict.fromkeys(own))
        claim = Claim(text=statement.text, citations=tuple(own), support=statement.support, quoted=statement.is_quote)
        plain = MARKER.sub(lambda found: found[0].translate(_FULL_WIDTH), statement.text)
        marked = " ".join([plain, *(f"[{n}]" for n in own)])
        text = (self._joint if self._texts else "") + self._opening(statement) + marked
        self._claims.append(claim)
        self._texts.append(text)
        return self.citations[known:], SentenceEvent(claim=claim, text=text)

    def _opening(self, statement: Statement) -> str:
        if not statement.is_quote:
            return ""
        lead, self._lead = self._lead, ""
        return lead + self._mark

    @property
    def numbered(self) -> Numbered:
        return Numbered("".join(self._texts), tuple(self._claims), tuple(self.citations))


def number(statements: Sequence[Statement], *, joint: str = "\n") -> Numbered:
    """All statements at once."""
    numbering = Numbering(joint)
    for statement in statements:
        numbering.add(statement)
    return numbering.numbered


def cite(passage: Passage, n: int) -> Citation:
    source = passage.hit.source
    locator = passage.locator
    screen = screen_at(passage.hit.screens, locator)
    return Citation(
        n=n,
        evidence_id=passage.id,
        source_id=source.id,
        title=source.title,
        kind=source.kind,
        locator=locator,
        quote=passage.quote,
        heard=passage.hit.chunk.heard(passage.start, passage.end),
        href=locator.href(source),
        lang=passage.hit.chunk.lang,
        date=source.date,
        version=source.version,
        thumbnail=screen.thumbnail if screen else passage.hit.thumbnail,
        screen=screen,
    )
