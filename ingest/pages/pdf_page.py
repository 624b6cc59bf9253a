"""One page of a PDF: its lines in the order of reading, and what there is to look at besides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ingest.pages.layout import Box
from ingest.pages.lines import Line
from ingest.pages.pdf_extras import filled_in, links
from ingest.pages.pdf_lines import page_lines
from ingest.pages.pdf_pictures import Picture, find_pictures, has_hidden_text, text_boxes
from kb.types import Dropped, Page

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

_GARBLED_SHARE = 0.01  # PITFALLS 16: more unreadable characters than this and the page's text is of no use


@dataclass
class PageText:
    """What the text layer of a page says; `unread` where it says nothing, `drawn` where there is something to see."""

    locator: Page
    lines: list[Line] = field(default_factory=list)
    unread: Dropped | None = None
    drawn: bool = True
    pictures: list[Picture] = field(default_factory=list)
    text: list[Box] = field(default_factory=list)  # where the text layer has text
    links: list[tuple[str, str]] = field(default_factory=list)  # words and address
    filled_in: list[str] = field(default_factory=list)  # fields of forms

    @property
    def where(self) -> str:
        return f"P:{self.locator.number}"


def read_page(document: PdfDocument, index: int) -> PageText:
    """The page at `index`, counted from 0; a broken one says so."""
    import pypdfium2

    label, number = document.get_page_label(index).strip(), str(index + 1)
    found = PageText(Page(number=index + 1, label="" if label == number else label))
    try:
        page = document[index]
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError as error:
        found.unread, found.drawn = Dropped(what="page", where=found.where, reason=f"it is broken ({error})"), False
        return found
    found.lines, garbled = page_lines(page, text_page, [*filter(None, (number, label)), str(len(document))])
    found.links, found.filled_in = list(links(document, page, text_page)), filled_in(document, page)
    found.drawn = pypdfium2.raw.FPDFPage_CountObjects(page) > 0
    if garbled > _GARBLED_SHARE:
        reason = f"{garbled:.0%} of its characters cannot be mapped to Unicode"
        found.unread = Dropped(what="page with unreadable characters", where=found.where, reason=reason)
        found.lines = []
    elif not found.lines:
        reason = "it has no text layer" if found.drawn else "it is empty"
        found.unread = Dropped(what="page without text", where=found.where, reason=reason)
    elif not has_hidden_text(page):
        found.pictures, found.text = find_pictures(page), text_boxes(page, text_page)
    text_page.close()
    page.close()
    return found
