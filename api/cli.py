"""The command `kb`. Only Typer and Rich are imported here; everything else waits for the command that needs it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from api import console
from api.options import Json, Kinds, LangName, Langs, Name, Since, Sources, Talks, Until, Versions
from api.problems import ENVIRONMENT, EXIT_CODES, OK, REFUSED
from api.session import exit_with, filters_of, library_of, report, run_batch, settings_of, tell, write_anything

app = typer.Typer(
    name="kb",
    help="A knowledge base over talks and notes: search, cited answers, articles.",
    epilog="Exit codes: " + "; ".join(f"**{code}** {meaning}" for code, meaning in EXIT_CODES.items()) + ".",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root(
    context: typer.Context,
    home: Annotated[
        Path | None, typer.Option(envvar="KB_HOME", help="Folder of the library.", show_default=".kb")
    ] = None,
) -> None:
    context.obj = home


# --- the library --------------------------------------------------------------------------------------------------


@app.command(epilog="Examples: `kb add talks/ notes.md` · `kb --home team.kb add --json deck.pptx`")
def add(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.", show_default=False, readable=False)],
    json: Json = False,
) -> None:
    """Read files, and everything below folders, into the library. What has not changed is skipped."""
    run_batch(context, "Adding", lambda library, report: library.add(paths, report), json=json, new=True)


@app.command(epilog="Example: `kb sync notes/`")
def sync(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A folder.", show_default=False, readable=False)],
    json: Json = False,
) -> None:
    """Make the library equal to a folder: as `add`, and sources whose file is gone are removed."""
    run_batch(context, "Syncing", lambda library, report: library.sync(folder, report), json=json, new=True)


@app.command(epilog="Example: `kb rebuild`, after another embedder was chosen with KB_EMBED_MODEL")
def rebuild(context: typer.Context, json: Json = False) -> None:
    """Build the index anew from the stored documents, with the models that are set now."""
    run_batch(context, "Rebuilding", lambda library, report: library.rebuild(report), json=json)


@app.command(epilog="Example: `kb rm notes/old.md`")
def rm(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(help="Ids, files, file names or titles.", show_default=False)],
    json: Json = False,
) -> None:
    """Forget sources. The files themselves stay where they are."""
    run_batch(context, "Removing", lambda library, _: (library.remove(name) for name in names), json=json)


@app.command(epilog="Examples: `kb ls` · `kb ls --warnings` · `kb ls --json | jq '.[].source.title'`")
def ls(
    context: typer.Context,
    warnings: Annotated[bool, typer.Option("--warnings", help="List what was left out, and why.")] = False,
    talks: Annotated[bool, typer.Option("--talks", help="List the talks instead.")] = False,
    articles: Annotated[bool, typer.Option("--articles", help="List the articles instead.")] = False,
    json: Json = False,
) -> None:
    """List the sources: kind, language, segments, chunks, warnings."""
    with library_of(context) as library:
        if talks:
            tell(library.talks(), console.show_talks, json=json)
        elif articles:
            tell(library.articles(), console.show_articles, json=json)
        else:
            tell(library.sources(), console.show_warnings if warnings else console.show_sources, json=json)


@app.command(epilog="Examples: `kb show deck.pptx` · `kb show 3f2a --json`")
def show(context: typer.Context, name: Name, json: Json = False) -> None:
    """Print a source: every segment with its time, page or lines, and what was left out."""
    with library_of(context) as library:
        document = library.show(name)
    tell(document, console.show_document, json=json)


# --- questions ----------------------------------------------------------------------------------------------------


@app.command(epilog='Examples: `kb search "prefix caching"` · `kb search --kind deck --lang zh 显存占用`')
def search(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="What to look for, in Chinese or English.", show_default=False)],
    kind: Kinds = None,
    lang: Langs = None,
    talk: Talks = None,
    source: Sources = None,
    version: Versions = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="Most results.")] = 10,
    json: Json = False,
) -> None:
    """Find the passages that answer best, each with its place, link and the matched words marked."""
    from kb.types import Query

    filters = filters_of(kind, lang, talk, source, version, since, until)
    with library_of(context) as library:
        hits = library.search(Query(text=text, filters=filters, limit=limit))
    tell(hits, console.show_hits, json=json)


@app.command(epilog='Examples: `kb ask "Why is decoding bound by memory?"` · `kb ask --lang zh 为什么需要分页？`')
def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="A question, in Chinese or English.", show_default=False)],
    kind: Kinds = None,
    lang: Langs = None,
    talk: Talks = None,
    source: Sources = None,
    version: Versions = None,
    since: Since = None,
    until: Until = None,
    json: Json = False,
) -> None:
    """Answer from the library, every statement with its citation; without evidence, refuse (exit code 3)."""
    with library_of(context) as library:
        answer = library.ask(question, filters_of(kind, lang, talk, source, version, since, until))
    tell(answer, console.show_answer, json=json)
    exit_with(REFUSED if answer.refused else OK)


@app.command(epilog="Example: `kb gaps`, to see what to write about next")
def gaps(context: typer.Context, json: Json = False) -> None:
    """List the questions that the library could not answer."""
    with library_of(context) as library:
        found = library.gaps()
    tell(found, console.show_gaps, json=json)


# --- writing ------------------------------------------------------------------------------------------------------


@app.command(epilog="Example: `kb ls --talks`, then `kb write why-paging --lang en`")
def write(
    context: typer.Context,
    talk: Annotated[str, typer.Argument(help="Id or title of a talk.", show_default=False)],
    lang: Annotated[LangName | None, typer.Option(help="Language of the article.")] = None,
    json: Json = False,
) -> None:
    """Draft an article from a talk: facts, outline, sections with citations and figures."""
    with library_of(context) as library:
        article = library.write(talk, lang.value if lang else None)
    tell(article, console.show_article, json=json)


@app.command(epilog="Example: `kb ls --articles`, then `kb publish why-paging --reviewed`")
def publish(
    context: typer.Context,
    slug: Annotated[str, typer.Argument(help="Slug of an article.", show_default=False)],
    reviewed: Annotated[bool, typer.Option("--reviewed", help="I have reviewed it.")] = False,
    json: Json = False,
) -> None:
    """Copy a reviewed draft into the site."""
    with library_of(context) as library:
        files = library.publish(slug, reviewed=reviewed)
    tell([str(file) for file in files], console.show_published, json=json)


# --- running ------------------------------------------------------------------------------------------------------


@app.command(epilog="Examples: `kb serve` · `KB_SERVE_API_KEY=… kb serve --host 0.0.0.0`")
def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.", show_default="8765")
    ] = None,
) -> None:
    """Serve the library over HTTP, with a page to search and ask. While it runs, `kb` goes through it."""
    from api.serve import run

    settings = settings_of(context)
    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    run(settings.model_copy(update={"serve": settings.serve.model_copy(update=given)}))


@app.command(epilog="Example: `kb doctor`")
def doctor(context: typer.Context, json: Json = False) -> None:
    """Say what is installed, which models are used, what is missing and how to get it."""
    from api.doctor import examine, show_checks

    checks = examine(settings_of(context))
    tell(checks, show_checks, json=json)
    exit_with(ENVIRONMENT if any(check.state == "missing" for check in checks) else OK)


@app.command(
    name="eval",
    epilog="Example: `kb eval --cases questions.jsonl --corpus notes/ --html build/eval.html --floor floor.json`",
)
def evaluate(
    context: typer.Context,
    corpus: Annotated[Path, typer.Option(help="Folder that the gold files are named relative to.")],
    more: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="More files of cases.")] = None,
    cases: Annotated[list[Path] | None, typer.Option(help="Questions with gold quotes, in JSON Lines.")] = None,
    home: Annotated[Path | None, typer.Option(help="Library to reuse; else one of the evaluation's own.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the report here, as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write it here, as one HTML page.")] = None,
    baseline: Annotated[Path | None, typer.Option(help="An earlier JSON report to compare with.")] = None,
    floor: Annotated[Path | None, typer.Option(help="The least to accept, as JSON; below it, exit code 7.")] = None,
    answers: Annotated[bool, typer.Option("--answers/--no-answers", help="Ask, or only search.")] = True,
    fit: Annotated[bool, typer.Option("--fit", help="Fit what each list counts first, and keep it.")] = False,
) -> None:
    """Measure search and answers on questions whose sources are known (docs/evaluation.md)."""
    from api.evaluation import Order, carry_out

    order = Order([*(cases or ()), *(more or ())], corpus, json, html, baseline, floor, answers=answers, fit=fit)
    exit_with(carry_out(context, order, home))


def main() -> NoReturn:
    """Run `kb`. The boundary where every error becomes a sentence and an exit code (docs/cli.md)."""
    write_anything()
    try:
        app()
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - no traceback reaches a person, not even that of a panic in Rust
        sys.exit(report(error))
    sys.exit(OK)
