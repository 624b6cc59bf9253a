"""How much of what can be seen in a deck comes out: its text against what python-pptx, PDFium and OCR see.

Python-pptx and PDFium are exact, so each of their words has to be found on its page. OCR reads a picture of the whole
page, with errors of its own, so each of its lines has to be found nearly: four of five characters in order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rapidfuzz.fuzz import partial_ratio

from ingest.office.libreoffice import PDF, convert
from ingest.office.slides import read
from ingest.pages.ocr import Recogniser
from ingest.pages.pdfium import open_pdf, page_picture
from ingest.parsed import Parsed, Reading
from kb.settings import Settings
from kb.text import fold

if TYPE_CHECKING:
    from pptx.shapes.base import BaseShape

_WORDS = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
_ALIKE = 80.0  # of 100: four of five characters, in order
_WIDTH = 1600


@dataclass(frozen=True)
class Recall:
    """Characters that are seen, and those of them that came out; what is missing, with its page."""

    seen: int
    found: int
    missing: tuple[str, ...]

    @property
    def share(self) -> float:
        return self.found / self.seen if self.seen else 1.0

    def __add__(self, other: Recall) -> Recall:
        return Recall(self.seen + other.seen, self.found + other.found, self.missing + other.missing)


def recall(path: Path, *, ocr: bool = True) -> dict[str, Recall]:
    """Of each that looks at the deck. Lines that repeat on many pages count where they came out, which is once."""
    parsed = read(path, Reading(Settings(threads=1)))
    with TemporaryDirectory() as folder:
        pdf = path if path.suffix == ".pdf" else _pdf(path, Path(folder))
        found = {"PDFium": _of_words(parsed, _pdfium(pdf))}
        if path.suffix == ".pptx":
            found["python-pptx"] = _of_words(parsed, _python_pptx(path))
        if ocr:
            found["OCR"] = _of_lines(parsed, _recognised(pdf))
    return found


def union(recalls: dict[str, Recall]) -> Recall:
    total = Recall(0, 0, ())
    for one in recalls.values():
        total += one
    return total


def _pdf(path: Path, folder: Path) -> Path:
    copy = folder / "deck.pptx"
    copy.write_bytes(path.read_bytes())
    return convert(copy, PDF, seconds=180, on_wait=lambda: None)


def _said(parsed: Parsed) -> dict[int, str]:
    pages: dict[int, str] = {}
    for block in parsed.blocks:
        number = getattr(block.locator, "number", 0)
        pages[number] = pages.get(number, "") + "\n" + block.text
    repeated = " ".join(dropped.reason for dropped in parsed.dropped if dropped.what == "repeated line")
    return {number: f"{text}\n{repeated}\n{number} {parsed.pages}" for number, text in pages.items()}


def _of_words(parsed: Parsed, lines: Iterator[tuple[int, str]]) -> Recall:
    said = {number: fold(text).text for number, text in _said(parsed).items()}
    total = Recall(0, 0, ())
    for number, line in lines:
        for word in _WORDS.findall(fold(line).text):
            here = word in said.get(number, "")
            total += Recall(len(word), len(word) if here else 0, () if here else (f"P:{number} {word}",))
    return total


def _of_lines(parsed: Parsed, lines: Iterator[tuple[int, str]]) -> Recall:
    said = {number: "".join(fold(text).text.split()) for number, text in _said(parsed).items()}
    total = Recall(0, 0, ())
    said[0] = "".join(said.values())
    for number, line in _once(lines, parsed.pages):
        bare = "".join(fold(line).text.split())
        here = (len(bare) > 1 and partial_ratio(bare, said.get(number, "")) >= _ALIKE) or bare in said.get(number, "")
        total += Recall(len(bare), len(bare) if here else 0, () if here else (f"P:{number} {line}",))
    return total


def _once(lines: Iterator[tuple[int, str]], pages: int) -> Iterator[tuple[int, str]]:
    """The lines with their pages; one that repeats on half of the pages, such as a logo, once, as page 0: anywhere."""
    found = list(lines)
    counts = Counter(text for _, text in {(number, fold(line).text) for number, line in found})
    repeated = {text for text, count in counts.items() if count >= max(3, pages / 2)}

    def repeats(line: str) -> bool:
        return any(text in fold(line).text for text in repeated)  # a logo is read with more or less of its marks

    yield from ((number, line) for number, line in found if not repeats(line))
    yield from ((0, text) for text in repeated)


def _pdfium(path: Path) -> Iterator[tuple[int, str]]:
    with open_pdf(path) as document:
        for number in range(1, len(document) + 1):
            yield number, document[number - 1].get_textpage().get_text_range()


def _python_pptx(path: Path) -> Iterator[tuple[int, str]]:
    from pptx import Presentation

    for number, slide in enumerate(Presentation(str(path)).slides, start=1):
        for shape in slide.shapes:
            yield from ((number, text) for text in _texts(shape))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            yield number, slide.notes_slide.notes_text_frame.text


def _texts(shape: BaseShape) -> Iterator[str]:
    for inner in getattr(shape, "shapes", ()):
        yield from _texts(inner)
    if shape.has_text_frame:
        yield shape.text_frame.text
    if shape.has_table:
        yield from (cell.text for row in shape.table.rows for cell in row.cells)
    if shape.has_chart:
        for plot in shape.chart.plots:
            yield from (str(category) for category in plot.categories)
            yield from (series.name for series in plot.series)


def _recognised(path: Path) -> Iterator[tuple[int, str]]:
    recogniser = Recogniser(Settings(threads=1))
    with open_pdf(path) as document:
        count = len(document)
    for number in range(1, count + 1):
        with open_pdf(path) as document:
            picture = page_picture(document, number, _WIDTH)
        yield from ((number, line.text) for line in recogniser.read(picture).lines)
