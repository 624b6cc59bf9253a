"""DOCX fixtures: what python-docx can write, and by XML what it cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import docx
from docx.document import Document
from docx.oxml import parse_xml

NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
)


def write_docx(path: Path, *builders: Callable[[Document], None]) -> Path:
    document = docx.Document()
    for build in builders:
        build(document)
    document.save(str(path))
    return path


def heading(words: str, level: int) -> Callable[[Document], None]:
    def build(document: Document) -> None:
        document.add_heading(words, level)

    return build


def say(words: str, style: str | None = None) -> Callable[[Document], None]:
    def build(document: Document) -> None:
        document.add_paragraph(words, style=style)

    return build


def code(*lines: str) -> Callable[[Document], None]:
    def build(document: Document) -> None:
        for line in lines:
            document.add_paragraph().add_run(line).font.name = "Consolas"

    return build


def table(
    rows: Sequence[Sequence[str]], merged: Sequence[tuple[int, int, int, int]] = ()
) -> Callable[[Document], None]:
    def build(document: Document) -> None:
        grid = document.add_table(len(rows), len(rows[0]))
        for row, cells in zip(grid.rows, rows, strict=True):
            for cell, words in zip(row.cells, cells, strict=True):
                cell.text = words
        for top, left, bottom, right in merged:
            grid.cell(top, left).merge(grid.cell(bottom, right))

    return build


def xml(body: str) -> Callable[[Document], None]:
    """Puts one element into the body as it is, before the section's properties."""

    def build(document: Document) -> None:
        element = parse_xml(body.replace(">", f" {NAMESPACES}>", 1))
        document.element.body.insert(len(document.element.body) - 1, element)

    return build
