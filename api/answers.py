"""How an answer looks to a person, whole or while it comes into being, and the conversation that it belongs to."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from api.chaptering import show_screen
from api.console import link, note, out, say, visible
from api.phrases import phrase, versions
from api.results import headline, show_heard

if TYPE_CHECKING:
    from kb.types import Answer, AnswerEvent, Citation, Dropped, Exchange, Lang, Usage

_TURNS = 8  # that a conversation keeps
_BROKEN_OFF = "model"  # what is dropped there was never written, so code alone words it


def show_answer(answer: Answer) -> None:
    if answer.refused is None:
        say(answer.text)
    _show_ground(answer)


def show_events(events: Iterable[AnswerEvent]) -> Answer | None:
    """Print every sentence as it comes and what it rests on at the end; the answer, None if the events broke off."""
    answer = None
    for event in events:
        if event.event == "sentence":
            out.print(visible(event.text), end="", soft_wrap=True)
            out.file.flush()
        elif event.event == "done":
            answer = event.answer
    if answer is not None:
        say()
        _show_ground(answer)
    return answer


def print_events(events: Iterable[AnswerEvent]) -> Answer | None:
    """Print every event as a line of JSON; the answer, None if the events broke off."""
    answer = None
    for event in events:
        sys.stdout.buffer.write(event.model_dump_json().encode() + b"\n")
        sys.stdout.flush()
        if event.event == "done":
            answer = event.answer
    return answer


def _show_ground(answer: Answer) -> None:
    if answer.refused is not None:
        colon = phrase(answer.lang, "colon")
        head = phrase(answer.lang, "refused") + colon
        say(Text.assemble((head, "bold yellow"), visible(answer.refused.reason)))
        if answer.refused.nearest:
            say(f"\n{phrase(answer.lang, 'nearest')}{colon.rstrip()}")
    say()
    for citation in answer.refused.nearest if answer.refused else answer.citations:
        _show_citation(citation, answer.lang)
    for remark in _remarks(answer):
        note(remark, "dim")


def _show_citation(citation: Citation, lang: Lang) -> None:
    say(headline(f"[{citation.n}]", citation.title, citation.locator, citation, lang))
    say(visible(citation.quote), indent=4)
    show_heard(citation.heard, lang)
    if citation.gloss:
        say(Text(visible(phrase(lang, "gloss", text=citation.gloss)), style="italic"), indent=4)
    say(link(citation.href, citation.locator), indent=4)
    show_screen(citation.screen, lang)


def _remarks(answer: Answer) -> Iterator[str]:
    lang = answer.lang
    if answer.asked_as:
        yield f"\n{phrase(lang, 'asked_as', question=answer.asked_as)}"
    if answer.as_of:
        yield f"\n{phrase(lang, 'as_of', versions=versions(lang, answer.as_of))}"
    if answer.refused is None and answer.mode == "extractive" and answer.usage is None:
        yield f"\n{phrase(lang, 'quoted', variable='KB_LLM_BASE_URL')}"
    yield from _left_out(answer.dropped, lang)
    if answer.usage is not None:
        yield _usage(answer.usage, lang)


def _usage(usage: Usage, lang: Lang) -> str:
    read, written = usage.prompt_tokens, usage.completion_tokens
    told = phrase(lang, "usage", calls=usage.calls, cached=usage.cached, read=read, written=written)
    cost = [phrase(lang, "cost", cost=f"{usage.cost:.4f}")] if usage.cost is not None else []
    return phrase(lang, "joint").join([told, *cost])


def _left_out(dropped: Sequence[Dropped], lang: Lang) -> Iterator[str]:
    """How many, by the rule that they broke. What a model wrote and nothing bears out is not shown; `--json` has it."""
    for rule, count in Counter(one.where for one in dropped if one.where != _BROKEN_OFF).items():
        yield phrase(lang, "left_out", count=count, rule=rule)
    for one in dropped:
        if one.where == _BROKEN_OFF:
            yield phrase(lang, "broken_off", reason=one.reason)


# --- the conversation -------------------------------------------------------------------------------------------


def conversation(home: Path) -> tuple[Exchange, ...]:
    """The turns that a question may follow on: those that were answered; nothing goes on from a refusal."""
    return tuple(turn for turn in _turns(home) if turn.answer)


def _turns(home: Path) -> tuple[Exchange, ...]:
    """The turns that `remember` kept for this library; none if there are none or they cannot be read."""
    from pydantic import TypeAdapter, ValidationError

    from kb.types import Exchange

    try:
        return TypeAdapter(tuple[Exchange, ...]).validate_json(_kept(home).read_bytes())
    except (OSError, ValidationError):
        return ()


def last_question(home: Path) -> str:
    """The one that was asked last in this library.

    Raises:
        BadRequest: if none was.
    """
    if not (turns := _turns(home)):
        from kb.errors import BadRequest

        raise BadRequest("nothing was asked here yet", remedy="Name the question: kb rate down QUESTION")
    return turns[-1].question


def remember(home: Path, history: Iterable[Exchange], answer: Answer) -> None:
    """Keep the conversation, with the question as it stands alone, for the question that follows."""
    from pydantic import TypeAdapter

    from kb.files import write_whole
    from kb.types import Exchange

    latest = Exchange(question=answer.asked_as or answer.question, answer="" if answer.refused else answer.text)
    turns = (*history, latest)[-_TURNS:]
    _kept(home).parent.mkdir(parents=True, exist_ok=True)
    write_whole(_kept(home), TypeAdapter(tuple[Exchange, ...]).dump_json(turns), mode=0o600)


def _kept(home: Path) -> Path:
    return home / "cache" / "conversation.json"
