"""Commands that change the library and list what is in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from api import chaptering, results, transcription
from api.options import Folder, Json, Name, Paths
from api.session import library_of, run_batch, settings_of, tell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from api.base import KnowledgeBase
    from kb.types import Document, Transcript

commands = typer.Typer()


@commands.command(epilog="Examples: `kb add talks/ notes.md` · `kb --home team.kb add --json deck.pptx`")
def add(
    context: typer.Context,
    paths: Paths,
    json: Json = False,
) -> None:
    """Read files, and everything below folders, into the library. What has not changed is skipped.

    A library is made where there is none, unless none of the files is there.
    """
    _check_some_stand(context, paths)
    run_batch(context, "Adding", lambda library, report: library.add(paths, report), json=json, new=True)


@commands.command(epilog="Examples: `kb sync notes/` · `kb sync notes/ --watch`")
def sync(
    context: typer.Context,
    folder: Folder,
    watch: Annotated[bool, typer.Option("--watch", help="Go on, and sync after every change, until Ctrl-C.")] = False,
    json: Json = False,
) -> None:
    """Make the library equal to a folder: as `add`; renames are followed, and what is gone is removed.

    With `--watch`, JSON comes as one line for each change.
    """
    if watch:
        from api import watching

        watching.run(context, folder, json=json)
        return
    _check_folder(folder)
    run_batch(context, "Syncing", lambda library, report: library.sync(folder, report), json=json, new=True)


def _check_some_stand(context: typer.Context, paths: Sequence[Path]) -> None:
    """
    Raises:
        NotFound: if a library would be made for nothing.
    """
    from kb.errors import NotFound

    if not any(map(os.path.lexists, paths)) and not (settings_of(context).home / "catalog.db").exists():
        raise NotFound("there is no such file", where=str(paths[0]), remedy="Check the path; no library was made")


def _check_folder(folder: Path) -> None:
    """
    Raises:
        NotFound: before a library is made for it.
    """
    from kb.errors import NotFound

    if not folder.is_dir():
        raise NotFound("there is no such folder", where=str(folder), remedy="Check the path; nothing was changed")


@commands.command(epilog="Example: `kb rebuild`, after another embedder was chosen with KB_EMBED_MODEL")
def rebuild(context: typer.Context, json: Json = False) -> None:
    """Build the index anew from the stored documents, with the models that are set now."""
    run_batch(context, "Rebuilding", lambda library, report: library.rebuild(report), json=json)


@commands.command(epilog="Example: `kb rm notes/old.md`")
def rm(
    context: typer.Context,
    names: Annotated[
        list[str], typer.Argument(help="Ids, files, file names or titles.", show_default=False, metavar="SOURCE")
    ],
    json: Json = False,
) -> None:
    """Forget sources. The files themselves stay where they are."""
    run_batch(context, "Removing", lambda library, _: (library.remove(name) for name in names), json=json)


@commands.command(epilog="Examples: `kb ls` · `kb ls --warnings` · `kb ls --json | jq '.[].source.title'`")
def ls(
    context: typer.Context,
    warnings: Annotated[
        bool, typer.Option("--warnings", help="List what was left out or could not be read, and why.")
    ] = False,
    talks: Annotated[bool, typer.Option("--talks", help="List the talks instead.")] = False,
    articles: Annotated[bool, typer.Option("--articles", help="List the articles instead.")] = False,
    json: Json = False,
) -> None:
    """List the sources: kind, language, segments, chunks, warnings."""
    with library_of(context) as library:
        if talks:
            tell(library.talks(), results.show_talks, json=json)
        elif articles:
            tell(library.articles(), results.show_articles, json=json)
        else:
            tell(library.sources(), results.show_warnings if warnings else results.show_sources, json=json)


@commands.command(epilog="Examples: `kb show deck.pptx` · `kb show 3f2a --json` · `kb show --corrections talk.mp4`")
def show(
    context: typer.Context,
    name: Name,
    corrections: Annotated[
        bool, typer.Option("--corrections", help="List what was corrected in a transcript instead.")
    ] = False,
    json: Json = False,
) -> None:
    """Print a source: every segment with its time, page or lines, and what was left out; of a talk, what is said."""
    with library_of(context) as library:
        if corrections:
            tell(library.corrections(name), transcription.show_wordings, json=json)
            return
        shown = _source_or_talk(library, name)
    from kb.types import Document

    if isinstance(shown, Document):
        tell(shown, results.show_document, json=json)
    else:
        tell(shown, chaptering.show_transcript, json=json)


def _source_or_talk(library: KnowledgeBase, name: str) -> Document | Transcript:
    """A source of this name, else a talk; files of one talk may share its title."""
    from kb.errors import BadRequest, NotFound

    try:
        return library.show(name)
    except (NotFound, BadRequest) as error:
        try:
            return library.transcript(name)
        except (NotFound, BadRequest):
            raise error from None
