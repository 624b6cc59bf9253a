"""What a reStructuredText note includes, put in its place: `include`, `literalinclude` and tables out of files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from ingest.decode import read_text
from ingest.markup.includes import MOST_LINES, Expanded, locate
from kb.errors import KBError

_DIRECTIVE = re.compile(
    r"(?P<indent>[ \t]*)\.\. (?P<name>include|literalinclude|csv-table)::[ \t]*(?P<target>.*?)[ \t]*$"
)
_OPTION = re.compile(r"[ \t]+:(?P<name>[\w-]+):[ \t]*(?P<value>.*?)[ \t]*$")
MARKERS = re.compile(rb"\.\. (?:include|literalinclude|csv-table)::")
_CODE = ("code", "literal", "number-lines")  # options of `include` that show the file as it is written


def expand(lines: Sequence[str], path: Path, where: str) -> Expanded:
    """`lines` of the note at `path` with all that they include; what cannot be is told, and its directive stays."""
    expanded = Expanded(where=where)
    _expand(lines, range(1, len(lines) + 1), (path,), "", expanded)
    return expanded


def _expand(lines: Sequence[str], numbers: Sequence[int], chain: tuple[Path, ...], indent: str, into: Expanded) -> None:
    at = 0
    while at < len(lines):
        found, end = _DIRECTIVE.match(lines[at]), at + 1
        options: dict[str, str] = {}
        while found and end < len(lines) and (option := _OPTION.match(lines[end])):
            options[option["name"]] = option["value"]
            end += 1
        target = found["target"] if found and found["name"] != "csv-table" else options.get("file", "")
        text = _chosen(target, numbers[at], options, chain, into) if target else None
        if found is None or text is None or found["name"] == "csv-table":
            for line, number in zip(lines[at:end], numbers[at:end], strict=True):
                into.add(indent + line if line.strip() else line, number)
        if found is not None and text is not None:
            path, inside, number = text[0], indent + found["indent"], numbers[at]
            if found["name"] == "include" and not options.keys() & set(_CODE):
                _expand(text[1], [number] * len(text[1]), (*chain, path), inside, into)
            else:
                opening = [] if found["name"] == "csv-table" else [_code_block(options, path)]
                for line in [*opening, "", *(f"   {line}" for line in text[1]), ""]:
                    into.add(inside + line if line.strip() else "", number)
        at = end


def _code_block(options: Mapping[str, str], path: Path) -> str:
    return f".. code-block:: {options.get('language') or options.get('code') or path.suffix[1:]}".rstrip()


def _chosen(
    target: str, number: int, options: Mapping[str, str], chain: tuple[Path, ...], into: Expanded
) -> tuple[Path, list[str]] | None:
    path = locate(target, number, chain, into)
    if path is None:
        return None
    try:
        lines = _selected(read_text(path).split("\n"), options)
    except (KBError, OSError, ValueError) as error:
        into.miss(target, number, f"it cannot be read: {error}")
        return None
    return (path, lines) if into.has_room(target, number, lines) else None


def _selected(lines: list[str], options: Mapping[str, str]) -> list[str]:
    """The lines that the options ask for, as docutils and Sphinx count them: `start-line` from 0, `lines` from 1.

    Raises:
        ValueError: if a number is none.
    """
    if "lines" in options:
        ranges = [part.partition("-") for part in options["lines"].split(",") if part.strip()]
        spans = [(int(first or 1), int(last or len(lines)) if dash else int(first)) for first, dash, last in ranges]
        # The same lines can be asked for any number of times: one more than may be included is enough to tell.
        return list(islice((line for first, last in spans for line in lines[first - 1 : last]), MOST_LINES + 1))
    start, end = int(options.get("start-line") or 0), options.get("end-line")
    lines = lines[start : int(end) if end else None]
    if after := options.get("start-after"):
        lines = lines[next((at + 1 for at, line in enumerate(lines) if after in line), 0) :]
    if before := options.get("end-before"):
        lines = lines[: next((at for at, line in enumerate(lines) if before in line), len(lines))]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines
