"""What the commands share: settings, the library behind them, batches, JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TYPE_CHECKING, TextIO, TypeVar

import typer

from api.problems import OK, SOME_FAILED, UNEXPECTED, problem_of
from kb.errors import BadRequest, KBError, NotFound, StorageFailed

if TYPE_CHECKING:
    from pathlib import Path

    from api.base import KnowledgeBase, OnProgress
    from kb.settings import Settings
    from kb.types import Change

Result = TypeVar("Result")


def settings_of(context: typer.Context) -> Settings:
    from pydantic import ValidationError

    from api.logs import configure
    from kb.settings import Settings

    try:
        settings = Settings() if context.obj is None else Settings(home=context.obj)
    except ValidationError as error:
        fault = error.errors()[0]
        name = "KB_" + "_".join(map(str, fault["loc"])).upper()
        raise BadRequest(fault["msg"], where=name, remedy="docs/settings.md lists what it can be") from error
    configure(settings.log_level)
    if not _is_text(settings.home):
        raise BadRequest("the name of the folder is no UTF-8", where="--home", remedy="Rename it")
    return settings


def _is_text(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def library_of(context: typer.Context, *, new: bool = False) -> Iterator[KnowledgeBase]:
    """The library: through the service that owns it where one runs, else opened here.

    Raises:
        NotFound: if there is none, and `new` does not ask for one to be made.
    """
    from api.remote import connect

    settings = settings_of(context)
    if not new and not (settings.home / "catalog.db").exists():
        raise NotFound("there is no library here", where=str(settings.home), remedy="Make one: kb add FOLDER")
    library = connect(settings)
    try:
        yield library
    finally:
        library.close()


def run_batch(
    context: typer.Context,
    title: str,
    start: Callable[[KnowledgeBase, OnProgress], Iterable[Change]],
    *,
    json: bool,
    new: bool = False,
) -> None:
    """Run a batch with a progress bar, tell what became of each file, and exit with 1 if one failed."""
    from api import progress

    changes = []
    try:
        with library_of(context, new=new) as library, progress.bar(title) as report:
            for change in start(library, report):
                changes.append(change)
                if not json:
                    progress.show_change(change)
    except KeyboardInterrupt:
        progress.show_stopped()
        raise
    tell(changes, progress.show_total, json=json)
    if any(change.outcome == "failed" for change in changes):
        exit_with(SOME_FAILED)


def tell(value: Result, show: Callable[[Result], None], *, json: bool) -> None:
    """Print a result: as JSON, or as `show` renders it."""
    from pydantic_core import to_json

    if json:
        sys.stdout.buffer.write(to_json(value, indent=2) + b"\n")
        sys.stdout.flush()
    else:
        show(value)


def exit_with(code: int) -> None:
    if code != OK:
        raise typer.Exit(code)


def write_anything() -> None:
    """Let streams of a narrow encoding show `?` for what they lack, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def flush_output() -> None:
    """
    Raises:
        OSError: if what was printed cannot be written: a full disk, or, as `BrokenPipeError`, nobody who reads it.
    """
    for stream in _printed():
        stream.flush()


def discard_output() -> None:
    """Let what was printed and cannot be written go: the interpreter would try it once more, and complain."""
    for stream in _printed():
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def _printed() -> list[TextIO]:
    """The streams that the process began with; one that was closed then is None."""
    return [stream for stream in (sys.__stdout__, sys.__stderr__) if stream is not None]


def report(error: BaseException) -> int:
    """Tell of an error, and give the exit code. What the operating system refused is of the library's folder: what
    reads other files tells of them in errors of its own."""
    from api.console import note

    told = StorageFailed.of(error) if isinstance(error, OSError) else error
    if not isinstance(told, KBError):
        _report_fault(told)
        return UNEXPECTED
    problem = problem_of(told)
    note(f"Error: {told}" + ("" if told.remedy else f". {problem.remedy}"), "bold red")
    return problem.exit_code


def _report_fault(error: BaseException) -> None:
    """Tell of a fault of our own, and keep its traceback in a file for whoever mends it."""
    import tempfile
    import traceback

    from api.console import note

    with tempfile.NamedTemporaryFile("w", prefix="kb-fault-", suffix=".txt", delete=False, encoding="utf-8") as file:
        traceback.print_exception(error, file=file)
    note(f"Error: this is a fault of kb: {type(error).__name__}: {error}", "bold red")
    note(f"Its details are in {file.name}; please report it.")
