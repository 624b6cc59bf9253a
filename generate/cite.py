"""From statements to an answer's text: numbers by first use, one bibliography, the same for every surface."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from generate.passages import Passage
from kb.types import Citation, Claim

MARKER = re.compile(r"\[(\d+)\]")
"""A reference in an answer's text. Nothing else in it looks like one."""

_FULL_WIDTH = str.maketrans("[]", "［］")


@dataclass(frozen=True)
class Statement:
    """A sentence of an answer, and the passages that carry it; not numbered yet."""

    text: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class Numbered:
    text: str
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]


def number(statements: Sequence[Statement], *, joint: str = "\n") -> Numbered:
    """Number the passages by first use and join the statements, each with its markers behind it: `text [1] [2]`.

    A passage that is cited twice keeps its number. What looks like a marker in a statement, such as the `[12]` of a
    quoted paper, gets full-width brackets in the text; `claims` keep it as it stands.
    """
    numbers: dict[str, int] = {}
    citations = []
    claims = []
    lines = []
    for statement in statements:
        own = []
        for passage in statement.passages:
            if passage.id not in numbers:
                numbers[passage.id] = len(numbers) + 1
                citations.append(cite(passage, numbers[passage.id]))
            own.append(numbers[passage.id])
        own = list(dict.fromkeys(own))
        claims.append(Claim(text=statement.text, citations=tuple(own)))
        plain = MARKER.sub(lambda found: found[0].translate(_FULL_WIDTH), statement.text)
        lines.append(" ".join([plain, *(f"[{n}]" for n in own)]))
    return Numbered(joint.join(lines), tuple(claims), tuple(citations))


def cite(passage: Passage, n: int) -> Citation:
    source = passage.hit.source
    locator = passage.locator
    return Citation(
        n=n,
        evidence_id=passage.id,
        source_id=source.id,
        title=source.title,
        kind=source.kind,
        locator=locator,
        quote=passage.quote,
        href=locator.href(source),
        lang=passage.hit.chunk.lang,
        date=source.date,
        version=source.version,
        thumbnail=passage.hit.thumbnail,
    )
