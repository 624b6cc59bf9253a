"""PPTX decks: texts through unstructured, and through python-pptx and the XML what it misses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.layout import mostly_picture
from ingest.ocr import Seen, recognise
from ingest.package import picture_bytes, sound_copy
from ingest.parsed import Block, Parsed, Reading
from ingest.partition import shape_texts
from ingest.shapes import Piece, Unread, pieces
from kb.errors import UnreadableSource
from kb.text import canonical
from kb.types import Dropped, Flag, Page, Role

if TYPE_CHECKING:
    from pptx.presentation import Presentation
    from pptx.slide import Slide


_OCR_SIDE = 1600  # pixels; more costs time and reads no better


@dataclass
class _Slide:
    number: int
    hidden: bool = False
    pieces: list[Piece] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)


def read_pptx(path: Path, reading: Reading) -> Parsed:
    """Each slide's title, texts, tables, code, formulas, graphics and notes, in this order of reading.

    Raises:
        UnreadableSource: if the file is no PPTX deck.
        LimitExceeded: if it is a zip bomb.
        MissingDependency: if the installed unstructured cannot work offline.
    """
    from pptx import Presentation

    file = BytesIO()
    dropped = list(sound_copy(path, file))
    try:
        deck = Presentation(file)
        count = len(deck.slides)
        title = deck.core_properties.title
    except Exception as error:  # python-pptx raises anything on a broken package
        what, remedy = f"the deck is broken ({error!r})", "Open it in PowerPoint or LibreOffice and save it again"
        raise UnreadableSource(what, where=str(path), remedy=remedy) from error
    slides: list[_Slide] = []
    for number in range(1, count + 1):
        try:
            slides.append(_read_slide(deck, number))
        except Exception as error:  # noqa: BLE001 - a broken part costs its slide, whatever it makes python-pptx raise
            dropped.append(Dropped(what="slide", where=f"P:{number}", reason=f"it cannot be read ({error!r})"))
        reading.on_progress(number / count)
    texts = iter(shape_texts([piece.shape for slide in slides for piece in slide.pieces if piece.shape is not None]))
    blocks: list[Block] = []
    for slide in slides:
        slide.pieces = [replace(p, text=next(texts)) if p.shape is not None else p for p in slide.pieces]
        _look(path, slide, reading.settings.threads)
        blocks += _blocks(slide)
        dropped += [Dropped(what=each.what, where=f"P:{slide.number}", reason=each.reason) for each in slide.unread]
    return Parsed(blocks=tuple(blocks), title=title or None, dropped=tuple(dropped), pages=count)


def _read_slide(deck: Presentation, number: int) -> _Slide:
    slide = deck.slides[number - 1]
    found = _Slide(number, hidden=slide.element.get("show", "1") in ("0", "false"))
    for piece in pieces(slide, deck.slide_width or 0, deck.slide_height or 0):
        if isinstance(piece, Piece):
            found.pieces.append(piece)
        else:
            found.unread.append(piece)
    if notes := _notes(slide):
        found.pieces.append(Piece(Role.NOTES, notes))
    return found


def _notes(slide: Slide) -> str:
    frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    return "" if frame is None else canonical(frame.text.replace("\v", "\n")).strip()


def _look(path: Path, slide: _Slide, threads: int) -> None:
    """Recognise the text in the pictures of a slide that says little else; other pictures are decoration."""
    shown = [piece.text for piece in slide.pieces if piece.role is not Role.NOTES]
    visible = sum(not character.isspace() for text in shown for character in text)
    unread: list[Unread] = []
    for graphic in slide.unread:
        if graphic.what != "picture":
            unread.append(graphic)
        elif mostly_picture(visible, graphic.share):
            seen = _seen(path, graphic.part, threads)
            if seen.lines:
                text = "\n".join(line.text for line in seen.lines)
                slide.pieces.append(Piece(Role.BODY, text, recognised=True))
            else:
                unread.append(replace(graphic, reason=f"{graphic.reason}; {seen.reason}"))
    slide.unread = unread
    slide.pieces.sort(key=lambda piece: piece.role is Role.NOTES)


def _seen(path: Path, part: str, threads: int) -> Seen:
    from PIL import Image

    try:
        with Image.open(BytesIO(picture_bytes(path, part))) as picture:
            picture.thumbnail((_OCR_SIDE, _OCR_SIDE))
            return recognise(picture, threads)
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        return Seen(reason=f"its file cannot be read ({error})")


def _blocks(slide: _Slide) -> list[Block]:
    flags = {Flag.HIDDEN} if slide.hidden else set()
    if slide.unread:
        flags.add(Flag.UNREAD_GRAPHIC)
    return [
        Block(
            piece.text,
            Page(number=slide.number),
            piece.role,
            frozenset(flags | {Flag.OCR} if piece.recognised else flags),
        )
        for piece in slide.pieces
        if piece.text.strip()
    ]
