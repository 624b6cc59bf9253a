"""Jupyter notebooks: the text of their cells, their code and what it printed, with the lines of the file.

The format is plain JSON (nbformat 3 and 4); a notebook is neither run nor trusted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from json import scanner
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from ingest.markup import markdown
from ingest.markup.outline import Outline
from ingest.parsed import Block, Parsed
from kb.errors import UnreadableSource
from kb.text import canonical
from kb.types import Dropped, Mark, Role

_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_TEXTS = ("text/markdown", "text/plain", "text/latex")  # forms of an output that are text, the richest first
_REPR = re.compile(r"<[^<>\n]+>")  # what an object prints that is nothing but a picture
_DEEPEST = 6  # level of a heading
_REMEDY = "Open it in Jupyter and save it again"

Line = tuple[str, int]  # and the line of the file that it stands on, counted from 1


class _Placed(str):
    """A string of the file that knows its line."""

    __slots__ = ("line",)
    line: int


class _Decoder(json.JSONDecoder):
    """Reads JSON and remembers where each string stands. The scanner in Python is the one that lets strings be
    watched; the one in C does not."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text, self._at, self._line = text, 0, 1
        self.parse_string = self._string
        self.scan_once = scanner.py_make_scanner(self)  # type: ignore[attr-defined]

    def _string(self, text: str, start: int, strict: bool = True) -> tuple[str, int]:  # noqa: FBT001, FBT002
        value, end = scanstring(text, start, strict)
        self._line += text.count("\n", self._at, start)
        self._at = start
        placed = _Placed(value)
        placed.line = self._line
        return placed, end


def read(text: str, where: str) -> Parsed:
    """A notebook as blocks: those of its Markdown cells, one for each code cell, one for each output that is text.

    Raises:
        UnreadableSource: if `text` is no notebook.
    """
    walk = _Walk(where)
    for cell in _cells(text, where):
        walk.cell(cell)
    return Parsed(
        blocks=tuple(walk.blocks),
        title=walk.title,
        dropped=(
            *walk.dropped,
            *(
                Dropped(what=what if n == 1 else f"{n} × {what}", where=where, reason=reason)
                for (what, reason), n in walk.lost.items()
            ),
        ),
    )


def _cells(text: str, where: str) -> list[Mapping[str, Any]]:
    try:
        notebook = _Decoder(text).decode(text)
    except (ValueError, RecursionError) as error:
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UnreadableSource("it is not valid JSON", where=f"{where}{line}", remedy=_REMEDY) from error
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None
    holders = sheets if isinstance(sheets, list) else [notebook]
    lists = [holder.get("cells") for holder in holders if isinstance(holder, dict)]
    if not any(isinstance(cells, list) for cells in lists):
        raise UnreadableSource("it is no notebook: it has no cells", where=where, remedy=_REMEDY)
    return [cell for cells in lists if isinstance(cells, list) for cell in cells if isinstance(cell, dict)]


class _Walk:
    def __init__(self, where: str) -> None:
        self.where = where
        self.blocks: list[Block] = []
        self.title: str | None = None
        self.dropped: list[Dropped] = []
        self.lost: Counter[tuple[str, str]] = Counter()
        self._place = Outline()

    def cell(self, cell: Mapping[str, Any]) -> None:
        lines = _lines(cell.get("source") or cell.get("input"))
        kind = cell.get("cell_type")
        if kind in ("markdown", "heading"):
            self._markdown(lines, level=cell.get("level") if kind == "heading" else None)
        else:
            self._put(lines, Role.CODE if kind == "code" else Role.BODY)
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            if isinstance(output, dict):
                self._output(output)
        if isinstance(attached := cell.get("attachments"), dict) and attached:
            self.lost["attached picture", "what it shows cannot be read"] += len(attached)

    def _markdown(self, lines: Sequence[Line], level: object) -> None:
        if isinstance(level, int) and lines:
            lines = [("#" * min(level, _DEEPEST) + " " + lines[0][0], lines[0][1]), *lines[1:]]
        numbers = [number for _, number in lines]
        parsed = markdown.read_lines([line for line, _ in lines], numbers, self.where, outline=self._place)
        self.blocks += parsed.blocks
        self.dropped += parsed.dropped
        self.title = self.title or parsed.title

    def _output(self, output: Mapping[str, Any]) -> None:
        if output.get("output_type") in ("error", "pyerr"):
            self._put(_lines(output.get("traceback"), apart=True), Role.CODE)
        elif "text" in output and "data" not in output:
            self._put(_lines(output["text"]), Role.CODE)
        else:
            data = output.get("data", output)
            data = data if isinstance(data, dict) else {}
            form = next((form for form in (*_TEXTS, "text", "latex") if _lines(data.get(form))), None)
            pictures = [key for key in data if key.startswith(("image/", "video/", "audio/")) or key in ("png", "jpeg")]
            if form and not (pictures and _REPR.fullmatch("\n".join(line for line, _ in _lines(data[form])).strip())):
                self._put(_lines(data[form]), Role.BODY if form == "text/markdown" else Role.CODE)
            for kind in sorted(pictures):
                self.lost[f"{kind} output", "what it shows cannot be read"] += 1
            if not form and any(key.endswith(("html", "json", "javascript", "+xml")) for key in data):
                self.lost["interactive output", "it has no form that is text"] += 1

    def _put(self, lines: Sequence[Line], role: Role) -> None:
        while lines and not lines[-1][0].strip():
            lines = lines[:-1]
        while lines and not lines[0][0].strip():
            lines = lines[1:]
        if lines:
            mark: Mark = self._place.mark(lines[0][1], lines[-1][1])
            self.blocks.append(Block("\n".join(line for line, _ in lines), mark, role))


def _lines(source: object, *, apart: bool = False) -> list[Line]:
    """The lines of a cell or an output. The format has one string a line, which ends with its line feed, or one string
    for all; `apart` is for tracebacks, whose strings end without one."""
    strings = source if isinstance(source, list) else [source]
    lines: list[Line] = []
    opened = False  # whether the last line goes on in the next string
    for string in strings:
        if not isinstance(string, _Placed):
            continue
        for at, part in enumerate(canonical(_as_shown(string)).split("\n")):
            if at == 0 and opened:
                begun, number = lines[-1]
                lines[-1] = (begun + part, number if begun else string.line)
            else:
                lines.append((part, string.line))
        opened = not apart
    return lines


def _as_shown(string: str) -> str:
    """What a terminal shows: no colours, and of a progress bar, which returns to its beginning, the last state."""
    lines = _COLOUR.sub("", string).split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
