"""A language model writes from fenced evidence; every sentence is verified before anyone sees it."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing

from generate import prompts
from generate.cite import Statement
from generate.fence import LANGUAGES, defanged, nonce, one_line
from generate.llm import LanguageModel, Message, Meter
from generate.passages import Passage, mint
from generate.question import Question, content_terms
from generate.reply import ClaimStream, Drafted, parse, schema
from generate.verify import Checked, check, dangling, is_plain, parted
from kb.errors import BrokenOff, GenerationFailed, Truncated
from kb.text import folded
from kb.types import Dropped, Hit, Locator, Page, Severity, Time, clock

PROMPTS = ("answer", "question", "said", "findings", "repair")
"""What is sent, for the recipe of what comes of it."""

_ANY = "0" * 16  # stands for a nonce where only lengths count, so that the same question gets the same evidence
_TEMPLATE = 64  # tokens that a chat template adds
_SAME = 0.5  # of a sentence's words: one that shares so many stands in its place

Offered = Mapping[str, Passage]
"""Evidence by the id under which the model sees it."""


def offer(hits: Sequence[Hit], llm: LanguageModel, question: Question) -> Offered:
    """The chunks that fit into the model's window, best first; at least one."""
    evidence = {mint(hit.chunk.id): _whole(hit) for hit in hits}
    asked = _message(question, {}, (), (), _ANY)
    room = llm.context_tokens - llm.max_tokens - llm.count_tokens(f"{asked.system}\n{asked.user}") - _TEMPLATE
    if llm.count_tokens(_all_shown(evidence)) <= room:
        return evidence
    fitting: dict[str, Passage] = {}
    for key, passage in evidence.items():
        room -= llm.count_tokens(_shown(key, passage)) + 1
        if room < 0 and fitting:
            break
        fitting[key] = passage
    return fitting


class Writer:
    """Writes one answer. What fails a check is asked for once more, with the finding, then dropped and counted."""

    def __init__(self, llm: LanguageModel, question: Question, evidence: Offered, meter: Meter) -> None:
        self._llm = llm
        self._question = question
        self._evidence = evidence
        self._meter = meter
        self._nonce = nonce()  # one for all that is asked about this evidence, which a server need then read once
        self._said: dict[str, str] = {}
        self._cut: GenerationFailed | None = None
        self.is_declined = False  # whether the model found no answer in the evidence
        self.dropped: list[Dropped] = []

    def statements(self) -> Iterator[Statement]:
        """Each as soon as it is verified; `dropped` is whole when they end.

        Raises:
            GenerationFailed: if the endpoint fails, or its reply cannot be read even after one repair, before any
                sentence stands. Later, the rest of the answer is dropped.
            Truncated: if even half of the evidence makes the reply too long.
        """
        failed = yield from self._asked(self._evidence)
        if failed:
            before = len(self._said)
            again = yield from self._asked(self._evidence, failed)
            later = [*list(self._said.values())[before:], *(one.text for one in again)]
            failed = [*(one for one in failed if not any(_replaces(text, one.text) for text in later)), *again]
        self.dropped += [_dropped(one) for one in failed]
        self.is_declined = not self._said and not failed and self._cut is None
        if self._cut is not None and not self._said:
            raise self._cut
        if self._cut is not None:
            self.dropped.append(Dropped(what="the rest of the answer", where="model", reason=self._cut.what))

    def _asked(
        self, evidence: Offered, failed: Sequence[Checked] = (), *, is_part: bool = False
    ) -> Generator[Statement, None, list[Checked]]:
        """Sentences that hold, as they come, and those that don't.

        A reply that is cut at the length limit is not asked for again: the evidence is split, and each half is asked
        about. One that broke off is taken up where it stands.
        """
        wrong: list[Checked] = []
        try:
            yield from self._verified(evidence, failed, wrong)
        except (Truncated, BrokenOff) as error:
            if is_part or (isinstance(error, Truncated) and len(evidence) < 2):
                self._cut = error
                return wrong
            for part in _halves(evidence) if isinstance(error, Truncated) else (evidence,):
                wrong += yield from self._asked(part, failed, is_part=True)
        except GenerationFailed as error:
            if not self._said:
                raise
            self._cut = error
        return wrong

    def _verified(self, evidence: Offered, failed: Sequence[Checked], wrong: list[Checked]) -> Iterator[Statement]:
        is_gap = False
        for claim in self._claims(evidence, failed):
            for sentence in parted(claim):
                checked = check(sentence, evidence, self._question.lang)
                checked = dangling(checked) if is_gap else checked
                is_gap = not checked.holds
                key = folded(checked.text).casefold()
                if checked.holds and checked.statement is not None:
                    if key not in self._said:
                        self._said[key] = checked.text
                        self.dropped += _mended(checked)
                        yield checked.statement
                else:
                    wrong.append(checked)

    def _claims(self, evidence: Offered, failed: Sequence[Checked]) -> Iterator[Drafted]:
        message = _message(self._question, evidence, list(self._said.values()), failed, self._nonce)
        allowed = schema(list(evidence), quotes=bool(failed))
        reply = ClaimStream()
        with closing(self._llm.stream(message, schema=allowed, meter=self._meter)) as pieces:  # type: ignore[type-var]
            for piece in pieces:
                yield from reply.feed(piece)
        try:
            yield from reply.close()
        except GenerationFailed as error:
            request = prompts.load("repair").render(error=error.what, reply=reply.text)
            repaired = self._llm.complete(
                Message(message.system, request, message.nonce), schema=allowed, meter=self._meter
            )
            try:
                yield from parse(repaired).claims
            except GenerationFailed as again:
                remedy = "Use a model that writes JSON, or one behind a server that enforces a schema"
                raise GenerationFailed(again.what, remedy=remedy) from again


def _message(
    question: Question, evidence: Offered, said: Sequence[str], failed: Sequence[Checked], mark: str
) -> Message:
    language = LANGUAGES[question.lang]
    sentences = "\n".join(f"- {text}" for text in said)
    findings = "\n".join(
        f"- “{one.text}” {finding.rule}: {finding.hint}"
        for one in failed
        for finding in one.findings
        if finding.severity is not Severity.P3
    )
    return Message(
        system=prompts.load("answer").render(),
        user=prompts.load("question").render(
            nonce=mark,
            language=language,
            evidence=_all_shown(evidence),
            question=one_line(question.text),
            said=prompts.load("said").render(sentences=sentences) if said else "",
            findings=prompts.load("findings").render(findings=findings) if findings else "",
        ),
        nonce=mark,
    )


def _whole(hit: Hit) -> Passage:
    return Passage(hit, 0, len(hit.chunk.text), "prose", hit.chunk.context)


def _all_shown(evidence: Offered) -> str:
    return "\n\n".join(_shown(key, passage) for key, passage in evidence.items())


def _shown(key: str, passage: Passage) -> str:
    source = passage.hit.source
    version = f", version {one_line(source.version)}" if source.version else ""
    dated = f", {source.date}" if source.date else ""
    context = f"\n({one_line(passage.around)})" if passage.around else ""
    return (
        f"[{key}] {one_line(source.title)}{version}{dated}{_place(passage.locator)}{context}\n{defanged(passage.quote)}"
    )


def _place(locator: Locator) -> str:
    """Where a passage stands; of a note, its headings say it."""
    match locator:
        case Page():
            return f", page {locator.number}"
        case Time():
            return f", at {clock(locator.start_ms)[:8]}"
        case _:
            return ""


def _halves(evidence: Offered) -> tuple[Offered, Offered]:
    items = list(evidence.items())
    middle = (len(items) + 1) // 2
    return dict(items[:middle]), dict(items[middle:])


def _replaces(text: str, other: str) -> bool:
    words, others = content_terms(text), content_terms(other)
    return len(words & others) >= _SAME * min(len(words), len(others))


def _dropped(one: Checked) -> Dropped:
    grave = [finding for finding in one.findings if finding.severity is not Severity.P3]
    hints = dict.fromkeys(_plain(finding.hint) for finding in grave)
    return Dropped(what=_plain(one.text), where=grave[0].rule, reason=" ".join(hints))


def _plain(text: str) -> str:
    """What was left out is told, too, and no link or markup leaves by that way."""
    return text if is_plain(text, "") else "text with a link or markup"


def _mended(one: Checked) -> list[Dropped]:
    return [Dropped(what=finding.place, where=finding.rule, reason=finding.hint) for finding in one.findings]
