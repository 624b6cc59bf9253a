"""A language model writes from fenced evidence; every claim is verified before anyone sees it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from generate import prompts
from generate.cite import Statement
from generate.llm import LanguageModel, Message
from generate.passages import Passage, mint
from generate.question import Question
from generate.reply import Reply, parse, schema
from generate.verify import Checked, check
from kb.errors import GenerationFailed, Truncated
from kb.types import Dropped, Hit

_LANGUAGES = {"zh": "Chinese (简体中文)", "en": "English", "und": "the language of the question"}
_PROMPT_TOKENS = 900  # instructions and question
_SAFETY = 1.3  # the model's tokenizer may need more tokens than the embedder's, by which chunks are counted


@dataclass(frozen=True)
class Written:
    """Statements that passed every check, and the claims that did not."""

    statements: tuple[Statement, ...]
    dropped: tuple[Dropped, ...]


def write(llm: LanguageModel, question: Question, hits: Sequence[Hit]) -> Written:
    """Ask the model, verify, ask once more with the findings, and drop what still does not hold.

    A reply that is cut at the length limit is not asked for again: the evidence is split, and each half is asked about.

    Raises:
        GenerationFailed: if the endpoint fails, or its reply cannot be read even after one repair.
        Truncated: if even half of the evidence makes the reply too long.
    """
    evidence = {passage.evidence_id: passage.value for passage in _evidence(hits, llm)}
    try:
        return _write(llm, question, evidence)
    except Truncated:
        if len(evidence) < 2:
            raise
        items = list(evidence.items())
        middle = (len(items) + 1) // 2
        halves = [_write(llm, question, dict(part)) for part in (items[:middle], items[middle:])]
        return Written(
            tuple(statement for half in halves for statement in half.statements),
            tuple(dropped for half in halves for dropped in half.dropped),
        )


@dataclass(frozen=True)
class _Offered:
    evidence_id: str
    value: Passage


def _evidence(hits: Sequence[Hit], llm: LanguageModel) -> Iterator[_Offered]:
    """The chunks that fit into the model's window, best first, each under an opaque id."""
    room = llm.context_tokens - llm.max_tokens - _PROMPT_TOKENS
    for hit in hits:
        room -= int(hit.chunk.tokens * _SAFETY) + 20
        if room < 0:
            return
        yield _Offered(mint(hit.chunk.id), Passage(hit, 0, len(hit.chunk.text), "prose", hit.chunk.context))


def _write(llm: LanguageModel, question: Question, evidence: Mapping[str, Passage]) -> Written:
    first = _checked(_ask(llm, question, evidence), evidence)
    if all(one.holds for one in first):
        return _result(first)
    second = _checked(_ask(llm, question, evidence, first), evidence)
    return _result(max(second, first, key=lambda checks: sum(one.holds for one in checks)))


def _checked(reply: Reply, evidence: Mapping[str, Passage]) -> list[Checked]:
    return [check(claim, evidence) for claim in reply.claims]


def _result(checks: Sequence[Checked]) -> Written:
    statements = []
    dropped = []
    for one in checks:
        if one.holds and one.statement is not None:
            statements.append(one.statement)
        dropped += [Dropped(what=finding.place, where=finding.rule, reason=finding.hint) for finding in one.findings]
    return Written(tuple(statements), tuple(dropped))


def _ask(
    llm: LanguageModel, question: Question, evidence: Mapping[str, Passage], failed: Sequence[Checked] = ()
) -> Reply:
    nonce = secrets.token_hex(8)
    findings = "\n".join(f"- {finding.rule}: {finding.hint}" for one in failed for finding in one.findings)
    message = Message(
        system=prompts.load("answer").render(nonce=nonce, language=_LANGUAGES[question.lang]),
        user=prompts.load("question").render(
            nonce=nonce,
            evidence="\n\n".join(_shown(key, passage) for key, passage in evidence.items()),
            question=question.text,
            findings=prompts.load("findings").render(findings=findings) if findings else "",
        ),
    )
    text = llm.complete(message, schema=schema(list(evidence)))
    try:
        return parse(text)
    except GenerationFailed as error:
        return _repaired(llm, message.system, text, error, evidence)


def _repaired(
    llm: LanguageModel, system: str, text: str, error: GenerationFailed, evidence: Mapping[str, Passage]
) -> Reply:
    request = prompts.load("repair").render(error=error.what, reply=text)
    try:
        return parse(llm.complete(Message(system, request), schema=schema(list(evidence))))
    except Truncated:
        raise
    except GenerationFailed as again:
        raise GenerationFailed(
            again.what, remedy="Use a model that writes JSON, or one behind a server that enforces a schema"
        ) from again


def _shown(key: str, passage: Passage) -> str:
    source = passage.hit.source
    version = f", version {source.version}" if source.version else ""
    dated = f", {source.date}" if source.date else ""
    context = f"\n({passage.around})" if passage.around else ""
    return f"[{key}] {source.title}{version}{dated}, {passage.locator}{context}\n{passage.quote}"
