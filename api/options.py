"""Arguments and options that several commands take."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from kb.types import Filters


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


@dataclass(frozen=True)
class Narrowing:
    """The options that narrow a search; see `narrowed`."""

    kind: Annotated[list[KindName] | None, typer.Option("--kind", metavar=KINDS, help="Only this kind.")] = None
    lang: Annotated[
        list[LangName] | None, typer.Option("--lang", metavar=LANGS, help="Only sources in this language.")
    ] = None
    talk: Annotated[
        list[str] | None, typer.Option("--talk", metavar="TALK", help="Only this talk, by its id or title.")
    ] = None
    source: Annotated[list[str] | None, typer.Option("--source", metavar="SOURCE", help="Only this source.")] = None
    version: Annotated[
        list[str] | None, typer.Option("--version", metavar="VERSION", help="Only what speaks of this version.")
    ] = None
    since: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="Not older than this day.")
    ] = None
    until: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="Not newer than this day.")
    ] = None

    @property
    def filters(self) -> Filters:
        from kb.types import Filters

        return Filters.model_validate(
            {
                "kinds": self.kind or (),
                "langs": self.lang or (),
                "talks": self.talk or (),
                "sources": self.source or (),
                "versions": self.version or (),
                "since": self.since and self.since.date(),
                "until": self.until and self.until.date(),
            }
        )


def narrowed(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with the options of `Narrowing` in the place of its parameter `narrowing`, which it is called with."""
    given, options = inspect.signature(command, eval_str=True).parameters, inspect.signature(Narrowing, eval_str=True)

    @wraps(command)
    def taking(**values: Any) -> None:  # noqa: ANN401 - whatever Typer read
        narrowing = Narrowing(**{name: values.pop(name) for name in options.parameters})
        command(**values, narrowing=narrowing)

    parameters = [p for name in given for p in (options.parameters.values() if name == "narrowing" else [given[name]])]
    taking.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what Typer reads
    taking.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return taking
