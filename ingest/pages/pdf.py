"""PDF decks: the text of each page, in the order of reading, and what is written in its pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ingest.links import link_text
from ingest.pages.furniture import without_furniture
from ingest.pages.layout import Box, mostly_picture
from ingest.pages.ocr import AIR, SIDE, Recogniser, Seen, passed_over, unsure_lines
from ingest.pages.paragraphs import text_blocks
from ingest.pages.pdf_page import PageText, read_page
from ingest.pages.pdf_pictures import Picture, draw
from ingest.pages.pdfium import open_pdf, page_picture
from ingest.pages.picture_text import written
from ingest.pages.regions import laid_out
from ingest.parsed import Block, Parsed, Reading
from kb.errors import LimitExceeded
from kb.types import Dropped, Flag, Role

_PAGES = 10_000  # of a book of ten volumes
_COVERED = 0.4  # of a recognised line: the text layer says it
_NOTHING_MORE = "no more text was recognised in it"
_OCR = frozenset({Flag.OCR})


def read_pdf(path: Path, reading: Reading) -> Parsed:
    """Titles, paragraphs, tables, code and formulas of each page, one line of text for each line that is seen.

    Raises:
        UnreadableSource: if the file is broken or asks for a password.
        LimitExceeded: if it has more than 10,000 pages.
    """
    with open_pdf(path) as document:
        if len(document) > _PAGES:
            what = f"the PDF has {len(document):,} pages, more than {_PAGES:,}"
            raise LimitExceeded(what, where=str(path), remedy="Split it, and add the parts")
        pages = [read_page(document, index) for index in range(len(document))]
        title = document.get_metadata_dict().get("Title") or None
    dropped = list(without_furniture([(page.where, page.lines) for page in pages]))
    recogniser = Recogniser(reading.settings)
    blocks: list[Block] = []
    for page in pages:
        found, missing = _page_blocks(path, page, recogniser)
        blocks += found
        dropped += missing
        reading.on_progress(page.locator.number / len(pages))
    dropped += passed_over(recogniser, [page.where for page in pages if page.pictures and not page.unread])
    return Parsed(blocks=tuple(blocks), title=title, dropped=tuple(dropped), pages=len(pages))


def _page_blocks(path: Path, page: PageText, recogniser: Recogniser) -> tuple[list[Block], list[Dropped]]:
    if page.unread is not None:
        blocks, dropped = _looked_at(path, page, page.unread, recogniser)
    else:
        blocks = text_blocks(page.lines, page.locator)
        written, dropped = _pictures(path, page, recogniser)
        if any(missing.what == "picture" for missing in dropped):
            blocks = [replace(block, flags=block.flags | {Flag.UNREAD_GRAPHIC}) for block in blocks]
        blocks += written
    said = "\n".join(block.text for block in blocks)
    extras = [*page.filled_in, link_text(page.links, said)]
    return blocks + [Block(text, page.locator, Role.BODY) for text in extras if text and text not in said], dropped


def _looked_at(
    path: Path, page: PageText, unread: Dropped, recogniser: Recogniser
) -> tuple[list[Block], list[Dropped]]:
    """A page without usable text, read as one picture."""
    if not page.drawn:
        return [], [unread]
    with open_pdf(path) as document:
        picture = page_picture(document, page.locator.number, SIDE)
    seen = recogniser.read(picture)
    if not seen.lines:
        return [], [unread.model_copy(update={"reason": f"{unread.reason}; {seen.reason}"})]
    lines = laid_out([[line] for line in seen.lines], AIR)
    return text_blocks(lines, page.locator, _OCR), unsure_lines(seen.unsure, page.where)


def _pictures(path: Path, page: PageText, recogniser: Recogniser) -> tuple[list[Block], list[Dropped]]:
    """What is written in the pictures of a page, and what is not said anywhere else on it."""
    blocks: list[Block] = []
    unsure = 0
    reason = ""
    for picture in page.pictures:
        seen = _seen(path, page, picture, recogniser)
        if lines := [line for line in seen.lines if not _is_said(line.box, page.text)]:
            texts = written(lines)
            blocks += [Block(t.text, page.locator, t.role, _OCR, confidence=t.confidence) for t in texts]
        unsure += seen.unsure
        reason = reason or seen.reason
    share = max((picture.share for picture in page.pictures), default=0.0)
    characters = sum(not character.isspace() for line in page.lines for character in line.text)
    if not blocks and mostly_picture(characters, share):
        reason = f"the page is a picture with a title ({share:.0%} of its area); {reason or _NOTHING_MORE}"
        return [], [Dropped(what="picture", where=page.where, reason=reason)]
    return blocks, unsure_lines(unsure, page.where)


def _seen(path: Path, page: PageText, picture: Picture, recogniser: Recogniser) -> Seen:
    """The lines in a picture, with their boxes on the page."""
    import pypdfium2

    if recogniser.off:
        return Seen(reason=recogniser.off)
    try:
        with open_pdf(path) as document:
            image = draw(document[page.locator.number - 1], picture.box)
    except pypdfium2.PdfiumError as error:
        return Seen(reason=f"it cannot be drawn ({error})")
    seen = recogniser.read(image)
    return replace(seen, lines=tuple(line.placed(picture.box, image.width) for line in seen.lines))


def _is_said(box: Box, text: list[Box]) -> bool:
    """The text layer has text where this line was seen."""
    covered = sum((box & each).width * (box & each).height for each in text)
    return covered > _COVERED * box.width * box.height
