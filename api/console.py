"""Printing to a terminal and to a pipe: in a pipe, tables are tab-separated and nothing is cut."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kb.files import path_of

if TYPE_CHECKING:
    from kb.types import Mark, Page, Time

out = Console(highlight=False, emoji=False, markup=False)
err = Console(stderr=True, highlight=False, emoji=False, markup=False)


def say(text: str | Text = "", *, indent: int = 0) -> None:
    """Print text; a terminal wraps it with its indent, a pipe gets the line whole."""
    shown = visible(text) if isinstance(text, str) else text
    if out.is_terminal:
        out.print(Padding(shown, (0, 0, 0, indent)) if indent else shown)
    else:
        _write(" " * indent + str(shown).replace("\n", "\n" + " " * indent))


def note(text: str, style: str = "") -> None:
    """Print a remark beside the results, on stderr."""
    err.print(Text(visible(text), style=style), soft_wrap=True)


def visible(text: str) -> str:
    """`text` without what would steer a terminal, or what no encoding has: control, direction, half characters."""
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else "�" for c in text)


def _write(line: str) -> None:
    """A line as it is: Rich would turn tabs into blanks."""
    out.file.write(line + "\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[str | int | Text]], *, numbers: Sequence[str] = ()) -> None:
    """A table; `numbers` names the columns that stand to the right."""
    if not out.is_terminal:
        for row in (columns, *rows):
            _write("\t".join(" ".join(visible(str(cell)).split()) for cell in row))
        return
    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for column in columns:
        grid.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else visible(str(cell)) for cell in row))
    out.print(grid)


# --- links --------------------------------------------------------------------------------------------------------


def readable(href: str, locator: Time | Page | Mark) -> str:
    """A link as text: a web address as it is, a local file as a path, with the line that an editor understands."""
    parts = urlsplit(href)
    if parts.scheme != "file":
        return href
    path = local_path(href)
    if locator.type == "mark":
        return f"{path}:{locator.line_start}"
    return path + (f"#{parts.fragment}" if parts.fragment else "")


def local_path(uri: str) -> str:
    """The path of a file's uri, relative to here where it lies below."""
    path = path_of(uri)
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def link(href: str, locator: Time | Page | Mark) -> Text:
    return Text(visible(readable(href, locator)), style=f"dim link {href}" if _clickable(href) else "dim")


def _clickable(href: str) -> bool:
    return href.isprintable() and " " not in href and urlsplit(href).scheme in ("http", "https", "file")
