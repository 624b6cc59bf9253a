"""Decks: one slide or page, one place. A file is read as what it is, whatever its suffix says."""

from __future__ import annotations

import mmap
import re
from dataclasses import replace
from pathlib import Path

from ingest import ocr
from ingest.images import draw_pdf, draw_pptx, office
from ingest.parsed import Block, Parsed, Reading
from ingest.pdf import read_pdf
from ingest.pptx import read_pptx
from kb.errors import UnreadableSource
from kb.settings import Settings
from kb.text import canonical
from kb.types import Role

_PDF, _ZIP, _OLE = b"%PDF-", b"PK\x03\x04", bytes.fromhex("d0cf11e0a1b11ae1")
_HEADER = 1024  # bytes; a PDF may start with that much of something else
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_NO_TITLE = re.compile(
    r"(?i)microsoft (powerpoint|word) - |(powerpoint )?(presentation|slides?|演示文稿|幻灯片|文档|document)\s*\d*$"
    r"|untitled|无标题|.*\.(pptx?|pdf|key|odp|docx?|tex|dvi)$|\W*$"
)


def read(path: Path, reading: Reading) -> Parsed:
    """The deck's slides, each text with its page number, and page images where `reading.images` is set.

    Raises:
        UnreadableSource: if the file is empty, broken, encrypted, of another kind, or without any text.
        LimitExceeded: if it is a zip bomb.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER)
    if _PDF in header:
        parsed = read_pdf(path, reading)
    elif header.startswith(_ZIP):
        parsed = read_pptx(path, reading)
    else:
        raise _no_deck(path, header)
    if not parsed.blocks:
        what = f"the deck's {parsed.pages} pages hold no text"
        raise UnreadableSource(what, where=str(path), remedy="Run text recognition (OCR) on it and add the result")
    if reading.images is not None:
        if _PDF in header:
            draw_pdf(path, reading.images, reading)
        else:
            missing = draw_pptx(path, reading.images, parsed.pages, reading)
            parsed = replace(parsed, dropped=parsed.dropped + missing)
    return replace(parsed, title=_deck_title(parsed))


def means(settings: Settings) -> str:
    """Names what a deck's document owes to this machine, so that a deck is read again when there is more or less."""
    programs = ("office" if office() else "", "ocr" if ocr.is_installed() else "")
    return " ".join((*filter(None, programs), f"{settings.ingest.page_width} px"))


def _no_deck(path: Path, header: bytes) -> UnreadableSource:
    if not header:
        return UnreadableSource("the file is empty", where=str(path), remedy="Export the deck again")
    if not header.startswith(_OLE):
        what, remedy = "this is neither a PPTX nor a PDF file", "Open it in its own program and save it as .pptx or PDF"
        return UnreadableSource(what, where=str(path), remedy=remedy)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        encrypted = content.find(_ENCRYPTED) >= 0
    if encrypted:
        what, remedy = "the deck asks for a password", "Save a copy without a password and add that"
        return UnreadableSource(what, where=str(path), remedy=remedy)
    what, remedy = (
        "this is a deck in the old PowerPoint format",
        "Open it in PowerPoint or LibreOffice, save it as .pptx",
    )
    return UnreadableSource(what, where=str(path), remedy=remedy)


def _deck_title(parsed: Parsed) -> str | None:
    """What the file calls itself, where that is more than a program's default, else the first slide's title."""
    declared = " ".join(canonical(parsed.title or "").split())
    if declared and not _NO_TITLE.match(declared):
        return declared
    return next((_one_line(block) for block in parsed.blocks if block.role is Role.TITLE), None)


def _one_line(block: Block) -> str:
    return " ".join(block.text.split())
