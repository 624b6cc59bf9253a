"""A question to an answer that can be checked: extractive, or written by a model and verified."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from generate import prompts
from generate.cite import Numbered, Statement, number
from generate.extract import Reading, Scored, Similarity, read
from generate.llm import LanguageModel
from generate.naming import inflected, stems
from generate.passages import Passage, passages
from generate.question import analyse
from generate.refuse import Calibration, Strength, measure, refusal
from generate.select import select
from generate.write import Written, write
from kb.errors import BadRequest
from kb.text import stable_id
from kb.types import Answer, Citation, Dropped, Filters, Hit, Query

Search = Callable[[Query], Sequence[Hit]]

LONGEST_QUESTION = 2000  # characters
_HITS = 16
_VERSION = "answer/2"
_BAR = re.compile(r"(?<!\\)\|")


class Answerer:
    """Answers questions from what `search` finds.

    Args:
        search: finds chunks for a query, best first.
        llm: writes the answer, which is then verified; without one, answers are extractive.
        calibration: where the line between answering and refusing runs.
        similarity: cosines of a question and many texts, to rank quotes by meaning as well as by words.
    """

    def __init__(
        self,
        search: Search,
        *,
        llm: LanguageModel | None = None,
        calibration: Calibration | None = None,
        similarity: Similarity | None = None,
    ) -> None:
        self._search = search
        self._llm = llm
        self._calibration = calibration or Calibration()
        self._similarity = similarity

    @property
    def recipe(self) -> str:
        """Fingerprint of everything that shapes an answer besides the corpus."""
        parts = [_VERSION, self._calibration.fingerprint, "meaning" if self._similarity else "words"]
        if self._llm is not None:
            names = ("answer", "question", "findings", "repair")
            parts += [self._llm.fingerprint, *(prompts.load(name).fingerprint for name in names)]
        return stable_id("recipe", *parts)

    def ask(self, question: str, filters: Filters = Filters()) -> Answer:  # noqa: B008 - a frozen value
        """The answer, or a refusal with the nearest evidence.

        Raises:
            BadRequest: if the question is empty or longer than `LONGEST_QUESTION`.
            GenerationFailed: if the language model's endpoint fails.
        """
        question = _checked(question)
        hits = self._search(Query(text=question, filters=filters, limit=_HITS))
        reading = read(analyse(question), passages(hits), hits, self._similarity)
        chosen = select(reading)
        strength = measure(reading, chosen, self._mentioned(filters))
        if not chosen or strength.probability(self._calibration) < self._line:
            return self._refuse(reading, strength, chosen)
        if self._llm is None:
            numbered = number([Statement(_readable(one.passage), (one.passage,)) for one in chosen])
            return self._answer(reading, numbered)
        written = write(self._llm, reading.question, hits)
        if not written.statements:
            return self._refuse(reading, strength, chosen, written.dropped)
        return self._answer(reading, number(written.statements, joint=" "), written)

    @property
    def _line(self) -> float:
        return self._calibration.threshold if self._llm is None else self._calibration.threshold_generated

    def _mentioned(self, filters: Filters) -> Callable[[str], bool]:
        @cache
        def mentioned(word: str) -> bool:
            wanted = stems(word)
            found = self._search(Query(text=inflected(word), filters=filters, limit=3))
            return any(wanted <= stems(f"{hit.source.title}\n{hit.chunk.full_text}") for hit in found)

        return mentioned

    def _answer(self, reading: Reading, numbered: Numbered, written: Written | None = None) -> Answer:
        return Answer(
            question=reading.question.text,
            lang=reading.question.lang,
            text=numbered.text,
            mode="generated" if written else "extractive",
            claims=numbered.claims,
            citations=numbered.citations,
            as_of=_as_of(numbered.citations),
            dropped=written.dropped if written else (),
            recipe=self.recipe,
        )

    def _refuse(
        self, reading: Reading, strength: Strength, chosen: Sequence[Scored], dropped: tuple[Dropped, ...] = ()
    ) -> Answer:
        nearest = list(chosen) + [one for one in reading.scored[:3] if one not in chosen]
        refused = refusal(strength, nearest, reading.question.lang)
        return Answer(
            question=reading.question.text,
            lang=reading.question.lang,
            text=refused.reason,
            mode="extractive" if self._llm is None else "generated",
            refused=refused,
            dropped=dropped,
            recipe=self.recipe,
        )


def _checked(question: str) -> str:
    question = question.strip()
    if not question:
        raise BadRequest("the question is empty", remedy="Ask in a sentence, in Chinese or English")
    if len(question) > LONGEST_QUESTION:
        raise BadRequest(
            f"the question has {len(question)} characters", remedy=f"Ask it in at most {LONGEST_QUESTION} characters"
        )
    return question


def _readable(passage: Passage) -> str:
    """The quote in one line; a table's row with the name of each column."""
    cells, names = _cells(passage.quote), _cells(passage.header)
    if passage.form != "row" or len(cells) != len(names):
        return " ".join(passage.quote.strip("|").split())
    return " · ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=True) if cell)


def _cells(row: str) -> list[str]:
    """The cells of a row of a Markdown table; an escaped bar does not part them."""
    return [" ".join(cell.split()) for cell in _BAR.split(row.strip().strip("|"))]


def _as_of(citations: Sequence[Citation]) -> str | None:
    """The versions that the cited sources speak of, oldest first."""
    versions = {citation.version for citation in citations if citation.version}
    return ", ".join(sorted(versions, key=_version_key)) or None


def _version_key(version: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (0, part) for part in version.lstrip("v").split("."))
