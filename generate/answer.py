"""A question to an answer that can be checked: extractive, or written by a model and verified.

An answer is a stream of events, of which the last one holds it whole: what every face shows comes from one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

from generate import complement, followup, gloss, plan, prompts, write
from generate.cite import Numbering, Statement
from generate.composition import Composition
from generate.disagree import disagreements, on_subject
from generate.extract import read
from generate.licence import as_evidence
from generate.llm import Abandoned, LanguageModel, Meter
from generate.naming import inflected, stems
from generate.passages import Passage, passages
from generate.question import Question, analyse
from generate.readable import readable
from generate.refuse import Calibration, packaged
from generate.select import select
from generate.strength import Strength, measure, things
from kb.errors import BadRequest
from kb.text import stable_id
from kb.types import (
    Answer,
    AnswerEvent,
    CitationEvent,
    DoneEvent,
    DroppedEvent,
    Exchange,
    Filters,
    Hit,
    Query,
    RefusalEvent,
)

Search = Callable[[Query], Sequence[Hit]]

LONGEST_QUESTION = 2000  # characters
_HITS = 16
_HITS_OF_PART = 8
_MOST_HITS = 20  # of all parts together
_VERSION = "answer/6"
_ANYWHERE = Filters()


def _awaited() -> bool:
    return False


class Answerer:
    """Answers questions from what `search` finds.

    Args:
        search: finds chunks for a query, best first.
        llm: writes the answer, which is then verified; without one, answers are extractive.
        glosses: whether quotes in another language than the question get a translation by `llm`.
        calibration: where the line between answering and refusing runs; by default as it was fitted for the packaged
            models.
    """

    def __init__(
        self,
        search: Search,
        *,
        llm: LanguageModel | None = None,
        glosses: bool = True,
        calibration: Calibration | None = None,
    ) -> None:
        self._search = search
        self._llm = llm
        self._glosses = glosses
        self.calibration = calibration or packaged()

    @property
    def recipe(self) -> str:
        """Fingerprint of everything that shapes an answer besides the corpus."""
        parts = [_VERSION, self.calibration.fingerprint]
        if self._llm is not None:
            names = (*write.PROMPTS, *followup.PROMPTS, *plan.PROMPTS, *(gloss.PROMPTS if self._glosses else ()))
            parts += [self._llm.fingerprint, *(prompts.load(name).fingerprint for name in names)]
        return stable_id("recipe", *parts)

    def ask(self, question: str, filters: Filters = _ANYWHERE, history: Sequence[Exchange] = ()) -> Answer:
        """The answer, or a refusal with the nearest evidence.

        Raises:
            BadRequest: if the question is empty or longer than `LONGEST_QUESTION`.
            GenerationFailed: if the language model's endpoint fails.
        """
        *_, last = self.stream(question, filters, history)
        assert isinstance(last, DoneEvent)  # nobody abandons it
        return last.answer

    def stream(
        self,
        question: str,
        filters: Filters = _ANYWHERE,
        history: Sequence[Exchange] = (),
        *,
        is_abandoned: Callable[[], bool] = _awaited,
    ) -> Iterator[AnswerEvent]:
        """The same answer while it comes into being; `history` are the turns before it, the latest last.

        Whoever closes the iterator, or lets `is_abandoned` say so, ends the model's work, too.

        Raises:
            BadRequest, GenerationFailed: as `ask`; the latter also after sentences that stand.
        """
        question = _checked(question)
        meter = Meter(is_abandoned)
        try:
            asked = followup.stand_alone(question, history, self._llm, meter)
            yield from self._events(self._looked_up(question, asked, filters, meter))
        except Abandoned:
            return

    def strength(self, question: str) -> Strength:
        """How well the corpus carries the question, whichever side of the line that is.

        Raises:
            BadRequest: as `ask`.
        """
        question = _checked(question)
        return self._looked_up(question, question, _ANYWHERE, Meter(_awaited)).strength

    def _looked_up(self, question: str, asked: str, filters: Filters, meter: Meter) -> Composition:
        analysed = analyse(asked)
        hits = as_evidence(asked, self._found(analysed, filters, meter))
        reading = read(analysed, passages(hits), hits)
        chosen = select(reading)
        return Composition(question, hits, reading, chosen, measure(reading, chosen, self._mentioned(filters)), meter)

    def _found(self, question: Question, filters: Filters, meter: Meter) -> Sequence[Hit]:
        """Hits for the question and for each thing that it asks; only the whole is put into the other language."""
        further = plan.further_questions(question, self._llm, meter)
        whole = self._search(Query(text=question.text, filters=filters, limit=_HITS))
        parts = [
            self._search(Query(text=text, filters=filters, limit=_HITS_OF_PART, translate=False)) for text in further
        ]
        return plan.merged(whole, parts, _MOST_HITS)

    def _events(self, case: Composition) -> Iterator[AnswerEvent]:
        if not case.chosen or self.calibration.probability(case.strength) < self._line:
            yield case.opened([one.passage.evidence() for one in case.nearest])
        elif self._llm is None:
            yield case.opened([one.passage.evidence() for one in case.chosen])
            yield from case.released(map(_quote, (one.passage for one in case.chosen)))
        else:
            yield from self._written(self._llm, case)
        if case.numbering.citations:
            asked = on_subject(case.reading)
            yield from case.released(disagreements(case.cited, asked, case.lang, case.reading.question.units))
        for dropped in case.dropped:
            yield DroppedEvent(dropped=dropped)
        if self._llm is not None and self._glosses:  # last: nothing but the record of it all waits for them
            yield from self._glossed(self._llm, case)
        answer = case.answer(is_generated=self._llm is not None, recipe=self.recipe)
        if answer.refused is not None:
            yield RefusalEvent(refusal=answer.refused)
        yield DoneEvent(answer=answer)

    def _written(self, llm: LanguageModel, case: Composition) -> Iterator[AnswerEvent]:
        offered = write.offer(case.hits, llm, case.reading.question)
        shown = [passage.evidence().model_copy(update={"id": key}) for key, passage in offered.items()]
        yield case.opened(shown)
        case.numbering = Numbering(" ")
        writer = write.Writer(llm, case.reading.question, offered, case.meter)
        yield from case.released(writer.statements())
        case.dropped += writer.dropped
        if self._are_quotes_shown(case, is_declined=writer.is_declined):
            claims = case.numbering.numbered.claims
            quotes = [one.passage for one in case.chosen]
            left = complement.remaining(quotes, claims, case.cited, things(case.reading.question))
            case.numbering.quotes_under(complement.lead(case.lang, claims, is_declined=writer.is_declined))
            yield from case.released(map(_quote, left))

    def _are_quotes_shown(self, case: Composition, *, is_declined: bool) -> bool:
        """Whether the evidence answers by itself; against a model that found no answer in it, it must be strong."""
        line = self.calibration.threshold_declined if is_declined else self.calibration.threshold
        return self.calibration.probability(case.strength) >= line

    def _glossed(self, llm: LanguageModel, case: Composition) -> Iterator[AnswerEvent]:
        glossed = gloss.gloss(llm, case.numbering.citations, case.lang, case.meter)
        case.glossed = {citation.n: citation for citation in glossed.citations}
        yield from (CitationEvent(citation=citation) for citation in glossed.citations)
        yield from (DroppedEvent(dropped=dropped) for dropped in glossed.dropped)
        case.dropped += glossed.dropped

    @property
    def _line(self) -> float:
        return self.calibration.threshold if self._llm is None else self.calibration.threshold_generated

    def _mentioned(self, filters: Filters) -> Callable[[str], bool]:
        @cache
        def mentioned(word: str) -> bool:
            wanted = stems(word)
            found = self._search(Query(text=inflected(word), filters=filters, limit=3, translate=False))
            return any(wanted <= stems(hit.source.title) | stems(hit.chunk.full_text) for hit in found)

        return mentioned


def _quote(passage: Passage) -> Statement:
    return Statement(readable(passage), (passage,), is_quote=True)


def _checked(question: str) -> str:
    question = question.strip()
    if not question:
        raise BadRequest("the question is empty", remedy="Ask in a sentence, in Chinese or English")
    if len(question) > LONGEST_QUESTION:
        raise BadRequest(
            f"the question has {len(question)} characters", remedy=f"Ask it in at most {LONGEST_QUESTION} characters"
        )
    return question
