"""PDF decks through PDFium: the text of each page, in the order of reading.

PDFium is not safe across threads, not even for two documents: everything here runs under `LOCK`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.layout import mostly_picture
from ingest.parsed import Block, Parsed, Reading
from ingest.pdf_lines import Line, around, page_lines
from kb.errors import UnreadableSource
from kb.text import HAN
from kb.types import Dropped, Flag, Page, Role

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

LOCK = threading.RLock()

_GARBLED_SHARE = 0.01  # PITFALLS 16: more unreadable characters than this and the page's text is of no use
_WORD = re.compile(r"[^\W\d_]{2}|" + HAN.pattern)
_FORMULA = re.compile("[\U0001d400-\U0001d7ff]")  # fonts for formulas claim several times the height of their letters
_DIVIDER_LINES = 3  # a page with no more lines has only titles


@contextmanager
def open_pdf(path: Path) -> Iterator[PdfDocument]:
    """The open document, with PDFium locked for this thread.

    Raises:
        UnreadableSource: if the file is broken or asks for a password.
    """
    import pypdfium2

    with LOCK:
        try:
            document = pypdfium2.PdfDocument(path)
        except pypdfium2.PdfiumError as error:
            if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
                what, remedy = "the PDF asks for a password", "Save a copy without a password and add that"
            else:
                what, remedy = f"the PDF is broken ({error})", "Export it again from the program that made it"
            raise UnreadableSource(what, where=str(path), remedy=remedy) from error
        try:
            yield document
        finally:
            document.close()


def read_pdf(path: Path, reading: Reading) -> Parsed:
    """Titles and paragraphs of each page, one line of text for each line that is seen.

    Raises:
        UnreadableSource: if the file is broken, asks for a password, or no page has any text.
    """
    blocks: list[Block] = []
    dropped: list[Dropped] = []
    with open_pdf(path) as document:
        pages = len(document)
        for index in range(pages):
            label = document.get_page_label(index).strip()
            locator = Page(number=index + 1, label="" if label == str(index + 1) else label)
            page_blocks, page_dropped = _read_page(document, locator)
            blocks += page_blocks
            dropped += page_dropped
            reading.on_progress((index + 1) / pages)
        title = document.get_metadata_dict().get("Title") or None
    return Parsed(blocks=tuple(blocks), title=title, dropped=tuple(dropped), pages=pages)


def _read_page(document: PdfDocument, locator: Page) -> tuple[list[Block], list[Dropped]]:
    import pypdfium2

    place = f"P:{locator.number}"
    try:
        page = document[locator.number - 1]
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError as error:
        return [], [Dropped(what="page", where=place, reason=f"it is broken ({error})")]
    lines, garbled = page_lines(text_page)
    share = _picture_share(page)
    text_page.close()
    page.close()
    if garbled > _GARBLED_SHARE:
        reason = f"{garbled:.0%} of its characters cannot be mapped to Unicode, and text in pictures is not read yet"
        return [], [Dropped(what="page with unreadable characters", where=place, reason=reason)]
    if not lines:
        reason = "it has no text layer, and text in pictures is not read yet"
        return [], [Dropped(what="page without text", where=place, reason=reason)]
    blocks = _blocks(lines, locator)
    visible = sum(not c.isspace() for line in lines for c in line.text)
    if not mostly_picture(visible, share):
        return blocks, []
    reason = f"the page is a picture with a title ({share:.0%} of its area), and text in pictures is not read yet"
    flagged = [replace(block, flags=block.flags | {Flag.UNREAD_GRAPHIC}) for block in blocks]
    return flagged, [Dropped(what="picture", where=place, reason=reason)]


def _picture_share(page: PdfPage) -> float:
    import pypdfium2

    left, bottom, right, top = page.get_mediabox()
    whole = (right - left) * (top - bottom)
    area = 0.0
    for picture in page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=5):
        left, bottom, right, top = picture.get_bounds()
        area = max(area, (right - left) * (top - bottom))
    return min(1.0, area / whole) if whole else 0.0


def _blocks(lines: list[Line], locator: Page) -> list[Block]:
    title = _title(lines)
    rest = [line for line in lines if line not in title]
    paragraphs: list[list[Line]] = []
    for line in rest:
        last = paragraphs[-1][-1].box if paragraphs else None
        if last and -last.height < line.box.top - last.bottom < min(last.height, line.box.height):
            paragraphs[-1].append(line)
        else:
            paragraphs.append([line])
    parts = [(Role.TITLE, title)] if title else []
    parts += [(Role.BODY, paragraph) for paragraph in paragraphs]
    return [Block(text="\n".join(line.text for line in part), locator=locator, role=role) for role, part in parts]


def _title(lines: list[Line]) -> list[Line]:
    """The largest text where it stands in the upper half, with the lines of its size that follow it.

    Where all text is of one size, the first line if it stands apart, or everything on a page of up to three lines.
    """
    worded = [line for line in lines if _WORD.search(line.text) and not _FORMULA.search(line.text)]
    page = around(lines)
    high = [line for line in worded if line.box.top <= page.top + 0.5 * page.height]
    size = max((line.size for line in high), default=0.0)
    first = next((line for line in high if line.size > 0.9 * size), None)
    if first is None:
        return []
    title = [first]
    for line in lines[lines.index(first) + 1 :]:
        if line.size < 0.9 * size or line.box.top - title[-1].box.bottom > 0.6 * size:
            break
        title.append(line)
    if len(worded) <= _DIVIDER_LINES:
        return title
    larger = size > 1.1 * sorted(line.size for line in worded)[len(worded) // 2]
    apart = len(title) == 1 and first is worded[0]
    return title if larger or apart else []
