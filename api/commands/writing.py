"""Commands that write and publish articles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from api import chaptering, results
from api.chaptering import ChapterFormat
from api.options import LANGS, Json, LangName, Talk, given_path
from api.session import library_of, tell

commands = typer.Typer()


@commands.command(epilog="Example: `kb ls --talks`, then `kb write why-paging --lang en`")
def write(
    context: typer.Context,
    talk: Talk,
    lang: Annotated[LangName | None, typer.Option(metavar=LANGS, help="Language of the article.")] = None,
    json: Json = False,
) -> None:
    """Draft an article from a talk: facts, outline, sections with citations and figures."""
    with library_of(context) as library:
        article = library.write(talk, lang.value if lang else None)
    tell(article, results.show_article, json=json)


@commands.command(epilog="Examples: `kb chapters why-paging` · `kb chapters why-paging --format youtube`")
def chapters(
    context: typer.Context,
    talk: Talk,
    form: Annotated[
        ChapterFormat,
        typer.Option(
            "--format",
            metavar="|".join(ChapterFormat),
            help="As a table, as JSON, or as the lines of a video platform.",
        ),
    ] = ChapterFormat.TEXT,
    most: Annotated[int, typer.Option("--max", min=1, max=10, metavar="N", help="Most chapters.")] = 10,
    minutes: Annotated[
        float | None,
        typer.Option(min=0.5, max=120, metavar="MINUTES", help="Length of a chapter.", show_default="6 to 10"),
    ] = None,
    lang: Annotated[LangName | None, typer.Option(metavar=LANGS, help="Language of the titles.")] = None,
    json: Json = False,
) -> None:
    """Cut a talk into chapters, where its slides and its words turn, with short titles."""
    with library_of(context) as library:
        transcript = library.transcript(talk, minutes=minutes, most=most, lang=lang.value if lang else None)
    if json or form is ChapterFormat.JSON:
        tell(list(transcript.chapters), lambda _: None, json=True)
        return
    shown = {"youtube": chaptering.show_youtube, "bilibili": chaptering.show_bilibili}
    shown.get(form.value, chaptering.show_chapters)(transcript)


@commands.command(epilog="Example: `kb ls --articles`, then `kb publish why-paging --reviewed`")
def publish(
    context: typer.Context,
    slug: Annotated[str, typer.Argument(help="Slug of an article.", show_default=False, metavar="SLUG")],
    reviewed: Annotated[bool, typer.Option("--reviewed", help="I have reviewed it.")] = False,
    site: Annotated[
        Path | None,
        typer.Option(
            help="Folder to copy it into.", show_default="the site of KB_SITE_DIR", parser=given_path, metavar="FOLDER"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Copy a reviewed draft into the site."""
    with library_of(context) as library:
        files = library.publish(slug, reviewed=reviewed, site=site)
    tell(files, results.show_published, json=json)
