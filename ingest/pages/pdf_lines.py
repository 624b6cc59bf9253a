"""Text of a PDF page as lines in the order of reading, from the boxes that PDFium gives its characters."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from ctypes import byref, c_int, create_string_buffer
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ingest.pages.code_lines import is_code
from ingest.pages.layout import Box, around
from ingest.pages.lines import BLANK, Line, says_words
from ingest.pages.pdf_formulas import is_formula, signs, with_formulas
from ingest.pages.pdf_rules import Grid, edges, grids, parts
from ingest.pages.regions import laid_out
from ingest.pages.tables import ruled_table
from kb.text import canonical
from kb.types import Role

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

_GAP = 2.0  # a wider gap inside a line, in heights of the text, divides it
_ANOTHER_SIZE = 1.25  # times the height of other letters
_ALL_CODE = 0.9  # of a page's characters
_LABEL = 40  # characters; longer lines are no labels
_LABEL_SIGN = re.compile("^(?!#|//).*[\u2190-\u21ff×÷−]|^=")  # no comment
_FIXED_PITCH = 1  # a font's flag: PDF 32000-1, table 123
_FIXED_PITCH_NAME = re.compile(r"mono|courier|consol|menlo|code|typewriter|terminal|cmtt", re.IGNORECASE)


def page_lines(page: PdfPage, text_page: PdfTextPage, labels: Sequence[str] = ()) -> tuple[list[Line], float]:
    """Visual lines in the order of reading, and the share of characters that could not be mapped.

    Args:
        labels: how the page may be numbered; such a number in the first or the last row is left out.
    """
    glyphs = list(_glyphs(text_page))
    visible = "".join(glyph.character for glyph in glyphs if not glyph.character.isspace())
    unmapped = visible.count("\ufffd") + visible.count("\x00") + len("(cid:") * visible.count("(cid:")
    turn = _turn(glyphs)
    drawn = [_turned(edge, turn) for edge in edges(page)]
    tables = grids(drawn)
    glyphs = [glyph._replace(box=_turned(glyph.box, turn)) for glyph in glyphs]
    runs = [run for run in _runs(glyphs, text_page, tables, drawn) if run.text]
    runs = _without_number(_with_prose_in_code_fonts(runs), labels)
    groups: list[list[Line]] = []
    for grid in tables:
        cells = _cells(grid, runs)
        if table := ruled_table({place: _composed(cell) for place, cell in cells.items()}, grid.box):
            groups.append([table])
            taken = {id(run) for cell in cells.values() for run in cell}
            runs = [run for run in runs if id(run) not in taken]
    groups += with_formulas([_without_label(stack) for stack in _stacks(runs)])
    return laid_out(groups), unmapped / max(1, len(visible))


def _cells(grid: Grid, runs: Sequence[Line]) -> dict[tuple[int, int], list[Line]]:
    cells: dict[tuple[int, int], list[Line]] = {}
    for run in runs:
        if place := grid.cell(run.box):
            cells.setdefault(place, []).append(run)
    return cells


def _composed(runs: list[Line]) -> list[Line]:
    return [line for group in with_formulas(_stacks(runs)) for line in group]


def _without_label(stack: list[Line]) -> list[Line]:
    """Arrows and sums of a diagram are no program, whatever their font."""
    code = [line for line in stack if line.role is Role.CODE]
    if all(len(line.text) <= _LABEL and _LABEL_SIGN.search(line.text) for line in code):
        return [replace(line, role=Role.BODY) if line in code else line for line in stack]
    return stack


def _without_number(runs: list[Line], labels: Sequence[str]) -> list[Line]:
    numbers = {f"{label}{rest}" for label in labels for rest in ("", f"/{labels[-1]}", f"of{labels[-1]}")}
    top, bottom = min((run.box.top for run in runs), default=0), max((run.box.bottom for run in runs), default=0)

    def outermost(run: Line) -> bool:
        return run.box.top - top < run.size or bottom - run.box.bottom < run.size

    return [run for run in runs if not (outermost(run) and re.sub(r"[\s|–—-]", "", run.text) in numbers)]


def _with_prose_in_code_fonts(runs: list[Line]) -> list[Line]:
    """Where all is set in a fixed-width font, the font says nothing of what is code."""
    code = sum(len(run.text) for run in runs if run.role is Role.CODE)
    if code < _ALL_CODE * sum(len(run.text) for run in runs) or is_code(runs):
        return runs
    return [replace(run, role=Role.BODY) if run.role is Role.CODE else run for run in runs]


class _Glyph(NamedTuple):
    """A character, its number on the page, its box, and the direction of its text in radians."""

    character: str
    number: int
    box: Box
    angle: float


def _glyphs(text_page: PdfTextPage) -> Iterator[_Glyph]:
    """The characters in the order of the file; their y still upwards, so that `top` is the larger."""
    from pypdfium2 import raw

    rectangle = raw.FS_RECTF()
    high = 0
    for i in range(text_page.count_chars()):
        code = raw.FPDFText_GetUnicode(text_page, i)
        if unicodedata.category(chr(code)) == "Cf" and code != 0xAD:  # no reader sees it; soft hyphens are seen
            continue
        if 0xD800 <= code < 0xDC00:  # the first half of a surrogate pair
            high = code
            continue
        if 0xDC00 <= code < 0xE000 and high:  # the second half
            code = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00)
        high = 0
        raw.FPDFText_GetLooseCharBox(text_page, i, byref(rectangle))
        box = Box(rectangle.left, rectangle.top, rectangle.right, rectangle.bottom)
        angle = raw.FPDFText_GetCharAngle(text_page, i)  # clockwise
        if code in (0x2, 0xFFFE):  # how PDFium marks a hyphen at a line's end, which it then joins to the next line
            yield _Glyph("-", i, box, angle)
            code = 0xA
        yield _Glyph(chr(code), i, box, angle)


def _turn(glyphs: list[_Glyph]) -> int:
    """Quarters by which the page has to be turned so that most of its text runs to the right."""
    turns = Counter(round(glyph.angle / (math.pi / 2)) % 4 for glyph in glyphs if not glyph.character.isspace())
    return turns.most_common(1)[0][0] if turns else 0


def _turned(box: Box, turn: int) -> Box:
    """The box as seen with the page turned; y now downwards."""
    left, bottom, right, top = box.left, box.bottom, box.right, box.top
    return (
        Box(left, -top, right, -bottom),
        Box(-top, -right, -bottom, -left),
        Box(-right, bottom, -left, top),
        Box(bottom, left, top, right),
    )[turn]


def _runs(glyphs: list[_Glyph], text_page: PdfTextPage, tables: Sequence[Grid], drawn: Sequence[Box]) -> Iterator[Line]:
    """Pieces of lines in the order of the file, divided at line ends, at wide gaps, at the rules of tables, and at the
    borders of boxes."""
    text, run, size = "", list[_Glyph](), 0.0
    for glyph in [*glyphs, _Glyph("\n", 0, Box(0, 0, 0, 0), 0)]:
        character, blank = glyph.character, glyph.character.isspace()
        jump = bool(run) and not blank and _jumps(run[-1].box, glyph.box, _GAP * size, tables)
        if run and not (blank or jump) and glyph.box.left - run[-1].box.right > BLANK * size and says_words(text):
            jump = _begins_text(glyph) and _parted(run[-1], glyph, drawn, text_page)
        if (character in "\r\n" or jump) and run:
            said = canonical(text).strip()
            role = _role(said, run, text_page)
            yield Line(signs(said) if role is Role.MATH else said, around([each.box for each in run]), size, role)
            text, run, size = "", [], 0.0
        if blank:
            text += "" if character in "\r\n" or not run else character
        else:
            text += character
            run.append(glyph)
            size = max(size, glyph.box.height)


def _jumps(last: Box, box: Box, gap: float, tables: Sequence[Grid]) -> bool:
    """From one text to another, which PDFium takes for one line where they overlap in height."""
    return box.left - last.right > gap or last.left - box.right > gap or any(t.parts(last, box) for t in tables)


def _role(text: str, run: list[_Glyph], text_page: PdfTextPage) -> Role:
    """Code where the first, the middle and the last character are set in a font of fixed width."""
    if is_formula(text):
        return Role.MATH
    sample = {run[0].number, run[len(run) // 2].number, run[-1].number}
    return Role.CODE if all(_fixed_pitch(text_page, number) for number in sample) else Role.BODY


def _fixed_pitch(text_page: PdfTextPage, number: int) -> bool:
    name, flags = _font(text_page, number)
    return bool(flags & _FIXED_PITCH or _FIXED_PITCH_NAME.search(name))


def _begins_text(glyph: _Glyph) -> bool:
    """A letter or a digit, but none of a formula, whose brackets may be drawn and whose font is always another."""
    return glyph.character.isalnum() and unicodedata.is_normalized("NFKC", glyph.character)


def _parted(last: _Glyph, glyph: _Glyph, drawn: Sequence[Box], text_page: PdfTextPage) -> bool:
    """A border stands between, or one text ends and another one begins, set in another font or of another size."""
    if parts(drawn, last.box, glyph.box):
        return True
    if not last.character.isalnum():
        return False
    low, high = sorted((last.box.height, glyph.box.height))
    return high > _ANOTHER_SIZE * low or _font(text_page, last.number)[0] != _font(text_page, glyph.number)[0]


def _font(text_page: PdfTextPage, number: int) -> tuple[str, int]:
    """Name and flags of a character's font."""
    from pypdfium2 import raw

    name, flags = create_string_buffer(128), c_int()
    raw.FPDFText_GetFontInfo(text_page, number, name, len(name), byref(flags))
    return name.value.decode(errors="replace"), flags.value


def _stacks(runs: list[Line]) -> list[list[Line]]:
    """Runs that follow each other in the file and on the page, line below line: a paragraph, a list, a text box."""
    stacks: list[list[Line]] = []
    for run in runs:
        last = stacks[-1][-1].box if stacks else None
        if last and _continues(last, run.box):
            stacks[-1].append(run)
        else:
            stacks.append([run])
    return stacks


def _continues(last: Box, box: Box) -> bool:
    height = max(last.height, box.height)
    if box.shares_line_with(last):
        return -0.2 * height < box.left - last.right < 0.5 * height
    overlap = min(last.right, box.right) - max(last.left, box.left)
    return overlap > 0 and 0 < box.top - last.top < 2.2 * height
