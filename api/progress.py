"""How a batch looks while it runs and when it is done."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from api.console import err, note, out, visible

if TYPE_CHECKING:
    from api.base import OnProgress
    from kb.types import Change, Progress

_OUTCOME_STYLES = {"added": "green", "updated": "green", "renamed": "green", "removed": "yellow", "failed": "bold red"}


def show_change(change: Change) -> None:
    """One line of a batch; what has not changed is not worth a line."""
    outcome = change.outcome.value
    if outcome == "unchanged":
        return
    told = reason(change)
    if outcome in ("added", "updated"):
        told = f"{change.segments} segments, {change.chunks} chunks"
        told += f", {len(change.dropped)} warnings" if change.dropped else ""
    if change.previous:
        told = f"was {Path(change.previous).name}"
    path = os.path.relpath(change.path) if Path(change.path).is_relative_to(Path.cwd()) else change.path
    path = visible(path.replace("\n", "\x00"))  # a name stays on its line
    line = Text.assemble((f"{outcome:<9}", _OUTCOME_STYLES.get(outcome, "")), f" {path}  ", (visible(told), "dim"))
    out.print(line, soft_wrap=True)


def reason(change: Change) -> str:
    """Why a file failed, for a line that names its path already."""
    return (change.error or "").removeprefix(f"{change.path}: ")


def show_total(changes: Sequence[Change]) -> None:
    counts = Counter(change.outcome.value for change in changes)
    note(", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "Nothing to do.")


def show_stopped() -> None:
    note("Stopped. What was finished is kept.")


@contextmanager
def bar(title: str, unit: str = "files") -> Iterator[OnProgress]:
    """A bar on stderr: units done, the share of the current one, time left. Nothing where stderr is no terminal."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[files]}"),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
        TextColumn("{task.fields[now]}", style="dim"),
    )
    with Bar(*columns, console=err, transient=True, disable=not err.is_terminal or err.is_dumb_terminal) as shown:
        task = shown.add_task(title, total=None, files="", now="")

        def report(state: Progress) -> None:
            now = f"{state.stage} {Path(state.path).name}" + (f" {state.share:.0%}" if 0 < state.share < 1 else "")
            now += f", {_duration(state.left_s)} left" if state.left_s else ""
            files = f"{state.done}/{state.total} {unit}"
            shown.update(task, completed=state.done + state.share, total=state.total, files=files, now=visible(now))

        yield report


def _duration(seconds: int) -> str:
    return f"{seconds} s" if seconds < 90 else f"{round(seconds / 60)} min"
