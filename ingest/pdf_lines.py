"""Text of a PDF page as lines in the order of reading, from the boxes that PDFium gives its characters."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from ctypes import byref
from typing import TYPE_CHECKING

from ingest.layout import Box
from ingest.lines import Line, arranged
from kb.text import canonical

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

_GAP = 2.0  # a wider gap inside a line, in heights of the text, divides it


def page_lines(text_page: PdfTextPage) -> tuple[list[Line], float]:
    """Visual lines in the order of reading, and the share of characters that could not be mapped."""
    glyphs = list(_glyphs(text_page))
    visible = "".join(glyph[0] for glyph in glyphs if not glyph[0].isspace())
    unmapped = visible.count("\ufffd") + visible.count("\x00") + len("(cid:") * visible.count("(cid:")
    runs = _runs(_upright(glyphs))
    return arranged(_stacks([run for run in runs if run.text])), unmapped / max(1, len(visible))


def _glyphs(text_page: PdfTextPage) -> Iterator[tuple[str, Box, float]]:
    """Each character with its box (y still upwards: `top` is the larger) and the direction of its text in radians."""
    from pypdfium2 import raw

    rectangle = raw.FS_RECTF()
    high = 0
    for i in range(text_page.count_chars()):
        code = raw.FPDFText_GetUnicode(text_page, i)
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
            yield "-", box, angle
            code = 0xA
        yield chr(code), box, angle


def _upright(glyphs: list[tuple[str, Box, float]]) -> list[tuple[str, Box]]:
    """Glyphs as seen with the page turned so that most of its text runs to the right; y now downwards."""
    turns = Counter(round(angle / (math.pi / 2)) % 4 for character, _, angle in glyphs if not character.isspace())
    turn = turns.most_common(1)[0][0] if turns else 0

    def turned(box: Box) -> Box:
        left, bottom, right, top = box.left, box.bottom, box.right, box.top
        return (
            Box(left, -top, right, -bottom),
            Box(-top, -right, -bottom, -left),
            Box(-right, bottom, -left, top),
            Box(bottom, left, top, right),
        )[turn]

    return [(character, turned(box)) for character, box, _ in glyphs]


def _runs(glyphs: list[tuple[str, Box]]) -> list[Line]:
    """Pieces of lines in the order of the file, divided at line ends and at wide gaps."""
    runs: list[Line] = []
    text, box, size = "", None, 0.0
    for character, glyph in [*glyphs, ("\n", Box(0, 0, 0, 0))]:
        blank = character.isspace()
        jump = box is not None and not blank and glyph.left - box.right > _GAP * size
        if (character in "\r\n" or jump) and box is not None:
            runs.append(Line(canonical(text).strip(), box, size))
            text, box, size = "", None, 0.0
        if blank:
            text += "" if character in "\r\n" or box is None else character
        else:
            text += character
            box, size = (box | glyph if box else glyph), max(size, glyph.height)
    return runs


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
