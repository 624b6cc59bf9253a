"""Commands about what was misheard: listing corrections, adding, accepting and rejecting them."""

from __future__ import annotations

from typing import Annotated

import typer

from api import transcription
from api.options import Json
from api.session import library_of, tell

commands = typer.Typer()
corrections = typer.Typer(
    no_args_is_help=True,
    help="Corrections of transcripts: list, add, accept, reject.",
    epilog="Example: `kb corrections add 资源 词元 --source talk.mp4`",
)
commands.add_typer(corrections, name="corrections")

Source = Annotated[
    str | None, typer.Option("--source", metavar="SOURCE", help="Only in this source; else in the whole library.")
]
Ids = Annotated[
    list[str],
    typer.Argument(help="Ids, as `kb show --corrections` lists them.", show_default=False, metavar="ID"),
]


@corrections.command("list", epilog="Examples: `kb corrections list` · `kb corrections list --source talk.mp4`")
def list_(context: typer.Context, source: Source = None, json: Json = False) -> None:
    """List what was corrected in a source; without one, all that was decided in the library."""
    with library_of(context) as library:
        tell(library.corrections(source), transcription.show_wordings, json=json)


@corrections.command(epilog="Example: `kb corrections add 资源 词元 --source talk.mp4`")
def add(
    context: typer.Context,
    heard: Annotated[
        str, typer.Argument(help="Words as the transcript has them.", show_default=False, metavar="HEARD")
    ],
    corrected: Annotated[str, typer.Argument(help="Words as they were meant.", show_default=False, metavar="MEANT")],
    source: Source = None,
    json: Json = False,
) -> None:
    """Correct words wherever they are heard, now and in what is added later."""
    with library_of(context) as library:
        tell(library.correct(heard, corrected, source), transcription.show_corrected, json=json)


@corrections.command(epilog="Example: `kb corrections accept 1f9c03ab --source talk.mp4`")
def accept(context: typer.Context, ids: Ids, source: Source = None, json: Json = False) -> None:
    """Vouch for corrections, or take back that they were rejected."""
    with library_of(context) as library:
        tell(library.judge(ids, source, accepted=True), transcription.show_corrected, json=json)


@corrections.command(epilog="Example: `kb corrections reject 1f9c03ab`")
def reject(context: typer.Context, ids: Ids, source: Source = None, json: Json = False) -> None:
    """Undo corrections: the words stand as they were heard, and are never corrected so again."""
    with library_of(context) as library:
        tell(library.judge(ids, source, accepted=False), transcription.show_corrected, json=json)
