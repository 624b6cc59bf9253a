"""The command `kb`. Only Typer and Rich are imported here; everything else waits for the command that needs it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from api.commands import corrections, library, questions, running, writing
from api.problems import EXIT_CODES, OK, OUTPUT_CLOSED
from api.session import discard_output, flush_output, report, write_anything
from api.usage import Commands

app = typer.Typer(
    name="kb",
    cls=Commands,
    help="A knowledge base over talks and notes: search, cited answers, articles.",
    epilog="Exit codes: " + "; ".join(f"**{code}** {meaning}" for code, meaning in EXIT_CODES.items()) + ".",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"kb {version('vllm-notes-kb')}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    home: Annotated[
        Path | None,
        typer.Option(envvar="KB_HOME", metavar="FOLDER", help="Folder of the library.", show_default=".kb"),
    ] = None,
    version: Annotated[  # noqa: ARG001 - its callback does it
        bool, typer.Option("--version", "-V", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    context.obj = home


for part in (library, corrections, questions, writing, running):
    app.add_typer(part.commands)


def main() -> NoReturn:
    """Run `kb`. The boundary where every error becomes a sentence and an exit code (docs/cli.md)."""
    write_anything()
    try:
        code = _run()
        flush_output()
    except OSError as error:
        discard_output()
        code = OUTPUT_CLOSED if isinstance(error, BrokenPipeError) else report(error)
    sys.exit(code)


def _run() -> int | str | None:
    """The exit code.

    Raises:
        BrokenPipeError: if nobody reads the output any more, as behind `| head`. Typer and Rich make an exit of it.
    """
    try:
        try:
            app()
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - no traceback reaches a person, not even that of a panic in Rust
            return report(error)
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):
            raise left.__context__ from None
        return left.code
    return OK
