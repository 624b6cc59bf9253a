"""Arguments and options that several commands take."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class KindName(StrEnum):
    """The values of `kb.types.Kind`, without the import of pydantic; a test holds them equal."""

    RECORDING = "recording"
    CAPTIONS = "captions"
    DECK = "deck"
    NOTE = "note"


class LangName(StrEnum):
    ZH = "zh"
    EN = "en"


KINDS, LANGS = "|".join(KindName), "|".join(LangName)
"""How help names what an option takes: choices as they are typed, everything else in capitals (docs/cli.md)."""


def given_path(text: str) -> Path:
    """A path as it was typed. An empty one, as an unset variable of a shell gives, would be the current folder."""
    if not text:
        raise typer.BadParameter("the path is empty; name a file or a folder, the current one with a dot")
    return Path(text)


Paths = Annotated[
    list[Path], typer.Argument(help="Files and folders.", show_default=False, parser=given_path, metavar="PATH")
]
Folder = Annotated[Path, typer.Argument(help="A folder.", show_default=False, parser=given_path, metavar="FOLDER")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Name = Annotated[
    str, typer.Argument(help="Id, file, file name or title of a source.", show_default=False, metavar="SOURCE")
]
Talk = Annotated[str, typer.Argument(help="Id or title of a talk.", show_default=False, metavar="TALK")]
Kinds = Annotated[list[KindName] | None, typer.Option("--kind", metavar=KINDS, help="Only this kind.")]
Langs = Annotated[list[LangName] | None, typer.Option("--lang", metavar=LANGS, help="Only sources in this language.")]
Talks = Annotated[list[str] | None, typer.Option("--talk", metavar="TALK", help="Only this talk, by its id or title.")]
Sources = Annotated[list[str] | None, typer.Option("--source", metavar="SOURCE", help="Only this source.")]
Versions = Annotated[
    list[str] | None, typer.Option("--version", metavar="VERSION", help="Only what speaks of this version.")
]
Since = Annotated[
    datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="Not older than this day.")
]
Until = Annotated[
    datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="Not newer than this day.")
]
