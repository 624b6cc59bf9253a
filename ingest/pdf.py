"""PDF decks: the text of each page, in the order of reading; pages that are pictures through text recognition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.layout import mostly_picture
from ingest.lines import Line, text_blocks
from ingest.ocr import recognise
from ingest.parsed import Block, Parsed, Reading
from ingest.pdf_lines import page_lines
from ingest.pdfium import open_pdf, page_picture
from kb.text import fold
from kb.types import Dropped, Flag, Page

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_GARBLED_SHARE = 0.01  # PITFALLS 16: more unreadable characters than this and the page's text is of no use
_OCR_WIDTH = 1280  # pixels; more costs time and reads no better


@dataclass(frozen=True)
class _PageText:
    locator: Page
    lines: list[Line]
    unread: Dropped | None = None  # what the text layer does not say
    drawn: bool = False  # there is a picture to look at


def read_pdf(path: Path, reading: Reading) -> Parsed:
    """Titles and paragraphs of each page, one line of text for each line that is seen.

    Raises:
        UnreadableSource: if the file is broken or asks for a password.
    """
    with open_pdf(path) as document:
        pages = [_read_page(document, index) for index in range(len(document))]
        title = document.get_metadata_dict().get("Title") or None
    blocks: list[Block] = []
    dropped: list[Dropped] = []
    for page in pages:
        page_blocks = text_blocks(page.lines, page.locator)
        if page.unread is not None:
            page_blocks, missing = _look(path, page, page.unread, page_blocks, reading)
            dropped += missing
        blocks += page_blocks
        reading.on_progress(page.locator.number / len(pages))
    return Parsed(blocks=tuple(blocks), title=title, dropped=tuple(dropped), pages=len(pages))


def _read_page(document: PdfDocument, index: int) -> _PageText:
    import pypdfium2

    label = document.get_page_label(index).strip()
    locator = Page(number=index + 1, label="" if label == str(index + 1) else label)

    def without(what: str, reason: str, lines: list[Line] | None = None, *, drawn: bool = True) -> _PageText:
        return _PageText(locator, lines or [], Dropped(what=what, where=f"P:{index + 1}", reason=reason), drawn)

    try:
        page = document[index]
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError as error:
        return without("page", f"it is broken ({error})", drawn=False)
    lines, garbled = page_lines(text_page)
    share = _picture_share(page)
    drawn = pypdfium2.raw.FPDFPage_CountObjects(page) > 0
    text_page.close()
    page.close()
    if garbled > _GARBLED_SHARE:
        reason = f"{garbled:.0%} of its characters cannot be mapped to Unicode"
        return without("page with unreadable characters", reason)
    if not lines:
        return without("page without text", "it has no text layer" if drawn else "it is empty", drawn=drawn)
    if mostly_picture(sum(not c.isspace() for line in lines for c in line.text), share):
        return without("picture", f"the page is a picture with a title ({share:.0%} of its area)", lines)
    return _PageText(locator, lines)


def _picture_share(page: PdfPage) -> float:
    """The share of the page's area that its largest picture takes."""
    import pypdfium2

    left, bottom, right, top = page.get_mediabox()
    whole = (right - left) * (top - bottom)
    area = 0.0
    for picture in page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=5):
        left, bottom, right, top = picture.get_bounds()
        area = max(area, (right - left) * (top - bottom))
    return min(1.0, area / whole) if whole else 0.0


def _look(
    path: Path, page: _PageText, unread: Dropped, known: list[Block], reading: Reading
) -> tuple[list[Block], list[Dropped]]:
    """The blocks of a page read as a picture, too, and what remains unread."""
    if not page.drawn:
        return known, [unread]
    with open_pdf(path) as document:
        picture = page_picture(document, page.locator.number, _OCR_WIDTH)
    seen = recognise(picture, reading.settings.threads)
    said = fold("\n".join(block.text for block in known)).text
    lines = [line for line in seen.lines if fold(line.text).text not in said]
    if lines:
        return known + text_blocks(lines, page.locator, frozenset({Flag.OCR}), untitled=bool(known)), []
    reason = f"{unread.reason}; {seen.reason or 'no more text was recognised in it'}"
    flagged = [replace(block, flags=block.flags | {Flag.UNREAD_GRAPHIC}) for block in known]
    return flagged, [unread.model_copy(update={"reason": reason})]
