"""Commands that search and ask."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from api import answers, lacks, results
from api.console import note, visible
from api.options import Json, Narrowing, narrowed
from api.problems import OK, REFUSED
from api.session import exit_with, library_of, settings_of, tell

commands = typer.Typer()


@commands.command(epilog='Examples: `kb search "prefix caching"` · `kb search --kind deck --lang zh 显存占用`')
@narrowed
def search(
    context: typer.Context,
    text: Annotated[
        str, typer.Argument(help="What to look for, in Chinese or English.", show_default=False, metavar="TEXT")
    ],
    narrowing: Narrowing,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, metavar="N", help="Most results.")] = 10,
    around: Annotated[
        int,
        typer.Option(
            "--context", "-C", min=0, max=10, metavar="N", help="Sentences to show before and after each quote."
        ),
    ] = 0,
    json: Json = False,
) -> None:
    """Find the passages that answer best, each with its place, link and the matched words marked."""
    from kb.types import Query

    with library_of(context) as library:
        hits = library.search(Query(text=text, filters=narrowing.filters, limit=limit, context=around))
    tell(hits, results.show_hits, json=json)


@commands.command(
    epilog='Examples: `kb ask "Why is decoding bound by memory?"` · `kb ask --stream --lang zh 为什么需要分页？` · '
    '`kb ask --follow "And on two GPUs?"`'
)
@narrowed
def ask(
    context: typer.Context,
    question: Annotated[
        str, typer.Argument(help="A question, in Chinese or English.", show_default=False, metavar="QUESTION")
    ],
    narrowing: Narrowing,
    stream: Annotated[
        bool, typer.Option("--stream", "-s", help="Print each sentence as soon as it is verified; as JSON: each event.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on from the question that was asked last.")
    ] = False,
    json: Json = False,
) -> None:
    """Answer from the library, every statement with its citation; without evidence, refuse (exit code 3)."""
    home = settings_of(context).home
    history = answers.conversation(home) if follow else ()
    with library_of(context) as library:
        if stream:
            show = answers.print_events if json else answers.show_events
            answer = show(library.ask_events(question, narrowing.filters, history=history))
        else:
            answer = library.ask(question, narrowing.filters, history=history)
            tell(answer, answers.show_answer, json=json)
    if answer is not None:
        answers.remember(home, history, answer)
        exit_with(REFUSED if answer.refused else OK)


class Rating(StrEnum):
    UP = "up"
    DOWN = "down"


@commands.command(epilog='Examples: `kb rate down`, for the answer before · `kb rate up "What is a block table?"`')
def rate(
    context: typer.Context,
    rating: Annotated[
        Rating, typer.Argument(help="Whether the answer was good.", show_default=False, metavar="up|down")
    ],
    question: Annotated[
        str | None,
        typer.Argument(help="The question; else the one that was asked last.", show_default=False, metavar="QUESTION"),
    ] = None,
) -> None:
    """Say whether an answer was good. A bad one counts as a gap."""
    from kb.types import Feedback

    feedback = Feedback(question=question or answers.last_question(settings_of(context).home), good=rating is Rating.UP)
    with library_of(context) as library:
        library.rate(feedback)
    note(f"Noted as {'good' if feedback.good else 'bad; `kb gaps` lists it'}: {visible(feedback.question)}")


@commands.command(
    epilog="Examples: `kb gaps`, to see what to write about next · `kb gaps --recheck`, after adding sources"
)
def gaps(
    context: typer.Context,
    recheck: Annotated[
        bool, typer.Option("--recheck", help="Ask the refused questions again, and close those that are answered.")
    ] = False,
    closed: Annotated[bool, typer.Option("--closed", help="List those that were closed.")] = False,
    json: Json = False,
) -> None:
    """List what the library lacks: questions that it refused or answered badly, in groups that ask for the same."""
    with library_of(context) as library:
        if recheck:
            lacks.show_closed(library.recheck_gaps())
        found = library.gaps(closed=closed)
    tell(found, lacks.show_gaps, json=json)
