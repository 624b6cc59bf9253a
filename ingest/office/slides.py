"""Decks: one slide or page, one place. A file is read as what it is, whatever its suffix says."""

from __future__ import annotations

import mmap
import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from ingest.office import libreoffice
from ingest.office.archive import is_encrypted
from ingest.office.libreoffice import PPTX, convert
from ingest.office.pptx import read_pptx
from ingest.pages import ocr
from ingest.pages.images import Rendering, draw_pdf, draw_pptx
from ingest.pages.pdf import read_pdf
from ingest.parsed import Block, Parsed, Reading
from kb.errors import MissingDependency, UnreadableSource
from kb.settings import Settings
from kb.text import canonical
from kb.types import Role

_PDF, _ZIP, _OLE = b"%PDF-", b"PK\x03\x04", bytes.fromhex("d0cf11e0a1b11ae1")
_HEADER = 1024  # bytes; a PDF may start with that much of something else
_PPT_STREAM = "PowerPoint Document".encode("utf-16-le")
_SECONDS = 120  # that LibreOffice may take to open an old deck
_NO_TITLE = re.compile(
    r"(?i)microsoft (powerpoint|word) - |(powerpoint )?(presentation|slides?|演示文稿|幻灯片|文档|document)\s*\d*$"
    r"|untitled|无标题|.*\.(pptx?|pdf|key|odp|docx?|tex|dvi)$|\W*$"
)


def read(path: Path, reading: Reading) -> Parsed:
    """The deck's slides, each text with its page number, and page images where `reading.images` is set.

    Raises:
        UnreadableSource: if the file is empty, broken, encrypted, of another kind, or without any text.
        LimitExceeded: if it is a zip bomb, or has too many pages.
        MissingDependency: if it is in a format that only LibreOffice opens, and that is not installed.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER)
    if _PDF in header:
        parsed = read_pdf(path, reading)
        _check(path, parsed)
        if reading.images is not None:
            draw_pdf(path, reading.images, reading)
    elif header.startswith(_ZIP):
        parsed = _read_pptx(path, reading)
    elif header.startswith(_OLE):
        parsed = _read_ppt(path, reading)
    else:
        what, remedy = "this is neither a PPTX nor a PDF file", "Open it in its own program and save it as .pptx or PDF"
        raise UnreadableSource(what if header else "the file is empty", where=str(path), remedy=remedy)
    return replace(parsed, title=_deck_title(parsed))


def _read_pptx(path: Path, reading: Reading) -> Parsed:
    with Rendering(path, lambda: reading.on_progress(1.0)) as rendering:  # who stops the reading stops LibreOffice
        parsed, largest = read_pptx(path, reading, rendering)
        _check(path, parsed)
        if reading.images is None:
            return parsed
        missing = draw_pptx(path, rendering, largest, reading.images, reading)
        return replace(parsed, dropped=parsed.dropped + missing)


def _read_ppt(path: Path, reading: Reading) -> Parsed:
    """A deck in the format of PowerPoint 97 to 2003, as the PPTX that LibreOffice makes of it."""
    encrypted = is_encrypted(path)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        deck = content.find(_PPT_STREAM) >= 0
    if encrypted or not deck:
        what = "the deck asks for a password" if encrypted else "this is no deck, but a file of another Office program"
        remedy = "Save a copy without a password and add that" if encrypted else "Save it as .docx or PDF and add that"
        raise UnreadableSource(what, where=str(path), remedy=remedy)
    with tempfile.TemporaryDirectory(prefix="deck-") as scratch:
        copy = Path(scratch) / "deck.ppt"
        shutil.copyfile(path, copy)
        try:
            pptx = convert(copy, PPTX, seconds=_SECONDS, on_wait=lambda: reading.on_progress(0.0))
        except MissingDependency as error:
            what = "this is a deck in the old PowerPoint format, which only LibreOffice opens, and it is not installed"
            remedy = f"Save it as .pptx in PowerPoint and add that. Or: {error.remedy}"
            raise MissingDependency(what, where=str(path), remedy=remedy) from error
        except UnreadableSource as error:
            remedy = "Open it in PowerPoint or LibreOffice, save it as .pptx and add that"
            raise UnreadableSource(error.what, where=str(path), remedy=remedy) from error
        return _read_pptx(pptx, reading)


def _check(path: Path, parsed: Parsed) -> None:
    if not parsed.blocks:
        what = f"the deck's {parsed.pages} pages hold no text"
        raise UnreadableSource(what, where=str(path), remedy="Run text recognition (OCR) on it and add the result")


def means(settings: Settings) -> str:
    """Names what a deck's document owes to this machine, so that a deck is read again when there is more or less."""
    seeing = settings.ingest.ocr and ocr.is_installed()
    programs = ("office" if libreoffice.program() else "", "ocr" if seeing else "")
    return " ".join((*filter(None, programs), f"{settings.ingest.page_width} px"))


def _deck_title(parsed: Parsed) -> str | None:
    """What the file calls itself, where that is more than a program's default, else the first slide's title."""
    declared = " ".join(canonical(parsed.title or "").split())
    if declared and not _NO_TITLE.match(declared):
        return declared
    return next((_one_line(block) for block in parsed.blocks if block.role is Role.TITLE), None)


def _one_line(block: Block) -> str:
    return " ".join(block.text.split())
