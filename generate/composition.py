"""One answer on its way: what was asked, what was found for it, and what of it stands so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from generate.cite import Numbering, Statement
from generate.extract import Reading, Scored
from generate.llm import Meter
from generate.passages import Passage
from generate.refuse import refusal, unrepeated
from generate.strength import Strength
from kb.types import (
    Answer,
    AnswerEvent,
    Citation,
    CitationEvent,
    Claim,
    Dropped,
    Evidence,
    EvidenceEvent,
    Hit,
    Lang,
    Support,
)

_CANDIDATES = 9  # of which those are shown that repeat nothing


@dataclass
class Composition:
    """`question` is as it was asked, `reading` of it as it stands alone."""

    question: str
    hits: Sequence[Hit]
    reading: Reading
    chosen: Sequence[Scored]
    strength: Strength
    meter: Meter
    numbering: Numbering = field(default_factory=lambda: Numbering("\n"))
    cited: list[Passage] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    glossed: Mapping[int, Citation] = field(default_factory=dict)

    @property
    def lang(self) -> Lang:
        return self.reading.question.lang

    @property
    def nearest(self) -> list[Scored]:
        """What a refusal shows, best first."""
        return unrepeated([*self.chosen, *self.reading.scored[:_CANDIDATES]])

    def opened(self, evidence: Sequence[Evidence]) -> EvidenceEvent:
        return EvidenceEvent(question=self.reading.question.text, evidence=tuple(evidence))

    def released(self, statements: Iterable[Statement]) -> Iterator[AnswerEvent]:
        """Number statements as they come; a citation stands before the sentence that first names it."""
        for statement in statements:
            new, sentence = self.numbering.add(statement)
            self.cited += statement.passages
            yield from (CitationEvent(citation=citation) for citation in new)
            yield sentence

    def answer(self, *, is_generated: bool, recipe: str) -> Answer:
        """The whole of it; a refusal where nothing stands."""
        numbered = self.numbering.numbered
        refused = None if numbered.claims else refusal(self.strength, self.nearest, self.lang)
        citations = tuple(self.glossed.get(citation.n, citation) for citation in numbered.citations)
        asked_as = self.reading.question.text
        return Answer(
            question=self.question,
            lang=self.lang,
            text=refused.reason if refused else numbered.text,
            mode="generated" if is_generated and not _is_quoted(numbered.claims) else "extractive",
            claims=numbered.claims,
            citations=citations,
            refused=refused,
            as_of=_as_of(citations),
            dropped=tuple(self.dropped),
            asked_as=asked_as if asked_as != self.question else None,
            usage=self.meter.usage if is_generated else None,
            recipe=recipe,
        )


def _is_quoted(claims: Sequence[Claim]) -> bool:
    """Whether an answer consists of quotes, and of what code says of them."""
    return bool(claims) and all(claim.quoted or claim.support is Support.CONFLICT for claim in claims)


def _as_of(citations: Sequence[Citation]) -> str | None:
    """The versions that the cited sources speak of, oldest first."""
    versions = {citation.version for citation in citations if citation.version}
    return ", ".join(sorted(versions, key=_version_key)) or None


def _version_key(version: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (0, part) for part in version.lstrip("v").split("."))
