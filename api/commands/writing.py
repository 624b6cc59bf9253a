"""Commands that write and publish articles."""

from __future__ import annotations

from typing import Annotated

import typer

from api import results
from api.options import Json, LangName
from api.session import library_of, tell

commands = typer.Typer()


@commands.command(epilog="Example: `kb ls --talks`, then `kb write why-paging --lang en`")
def write(
    context: typer.Context,
    talk: Annotated[str, typer.Argument(help="Id or title of a talk.", show_default=False)],
    lang: Annotated[LangName | None, typer.Option(help="Language of the article.")] = None,
    json: Json = False,
) -> None:
    """Draft an article from a talk: facts, outline, sections with citations and figures."""
    with library_of(context) as library:
        article = library.write(talk, lang.value if lang else None)
    tell(article, results.show_article, json=json)


@commands.command(epilog="Example: `kb ls --articles`, then `kb publish why-paging --reviewed`")
def publish(
    context: typer.Context,
    slug: Annotated[str, typer.Argument(help="Slug of an article.", show_default=False)],
    reviewed: Annotated[bool, typer.Option("--reviewed", help="I have reviewed it.")] = False,
    json: Json = False,
) -> None:
    """Copy a reviewed draft into the site."""
    with library_of(context) as library:
        files = library.publish(slug, reviewed=reviewed)
    tell([str(file) for file in files], results.show_published, json=json)
