"""What is said of a command line that cannot be read."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

_UsageError: Any = typer.BadParameter.__mro__[1]  # Typer exports no name for it
_FOREIGN = "Value error, "  # what pydantic, inside of Typer, writes before the words of an error


class Commands(TyperGroup):
    """The commands of `kb`, whose errors say what a person can do."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - Click's context, as Click has it
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            _reword(error)
            raise


def _reword(error: Any) -> None:  # noqa: ANN401 - the class has no public name
    if getattr(error, "option_name", "") == "--home" and error.ctx:
        command = error.ctx.command_path.removeprefix(error.ctx.find_root().command_path).strip()
        error.message = f"--home stands before the command: kb --home FOLDER {command}"
        error.possibilities = None
    error.message = error.message.removeprefix(_FOREIGN)
