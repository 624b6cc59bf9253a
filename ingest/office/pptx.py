"""PPTX decks: texts through unstructured, and through python-pptx and the XML what it misses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.links import link_text
from ingest.office.archive import open_picture
from ingest.office.package import sound_copy
from ingest.office.partition import shape_texts
from ingest.office.shapes import Piece, Unread, pieces
from ingest.office.slide_xml import background, inherited_texts, links
from ingest.pages.images import Rendering
from ingest.pages.layout import mostly_picture
from ingest.pages.ocr import Recogniser, Seen, passed_over, unsure_lines
from ingest.pages.picture_text import written
from ingest.parsed import Block, Parsed, Reading
from kb.errors import LimitExceeded, UnreadableSource
from kb.text import canonical
from kb.types import Dropped, Flag, Page, Role

if TYPE_CHECKING:
    from pptx.presentation import Presentation
    from pptx.slide import Slide

_SLIDES = 10_000
_LEAST_SHARE = 0.01  # of the slide's area; smaller pictures are logos and bullets
_SHOWN = 0.2  # of the slide's area; a smaller picture does not show what the slide is about
_DRAWINGS = (".emf", ".wmf", ".svg")  # what only LibreOffice can draw


@dataclass
class _Slide:
    number: int
    hidden: bool = False
    pieces: list[Piece | Unread] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)

    @property
    def where(self) -> str:
        return f"P:{self.number}"


def read_pptx(path: Path, reading: Reading, rendering: Rendering) -> tuple[Parsed, Mapping[int, str]]:
    """Each slide's title, texts, tables, code, formulas, graphics, links and notes, in this order of reading; and the
    file of the largest picture of each slide that has one.

    Raises:
        UnreadableSource: if the file is no PPTX deck.
        LimitExceeded: if it is a zip bomb, or has more than 10,000 slides.
        MissingDependency: if the installed unstructured cannot work offline.
    """
    file = BytesIO()
    dropped = list(sound_copy(path, file))
    deck = _open(path, file)
    rendering.pages = len(deck.slides)
    slides: list[_Slide] = []
    lost = {missing.where for missing in dropped if missing.what == "slide"}
    for number in range(1, rendering.pages + 1):
        if f"P:{number}" in lost:
            continue
        try:
            slides.append(_read_slide(deck, number))
        except Exception as error:  # noqa: BLE001 - a broken part costs its slide, whatever it makes python-pptx raise
            dropped.append(Dropped(what="slide", where=f"P:{number}", reason=f"it cannot be read ({error!r})"))
    dropped += _without_repeats(slides)
    _write_texts(slides)
    sight = _Sight(path, rendering, Recogniser(reading.settings))
    blocks: list[Block] = []
    for slide in slides:
        found, missing = _blocks(slide, sight)
        blocks += found
        dropped += missing
        reading.on_progress(slide.number / rendering.pages)
    dropped += passed_over(sight.recogniser, [slide.where for slide in slides if any(map(_is_picture, slide.pieces))])
    parsed = Parsed(blocks=tuple(blocks), title=_title(deck), dropped=tuple(dropped), pages=rendering.pages)
    return parsed, {slide.number: part for slide in slides if (part := _largest(slide))}


def _open(path: Path, file: BytesIO) -> Presentation:
    from pptx import Presentation

    try:
        deck = Presentation(file)
        count = len(deck.slides)
    except Exception as error:  # python-pptx raises anything on a broken package
        what, remedy = f"the deck is broken ({error!r})", "Open it in PowerPoint or LibreOffice and save it again"
        raise UnreadableSource(what, where=str(path), remedy=remedy) from error
    if count > _SLIDES:
        what = f"the deck has {count:,} slides, more than {_SLIDES:,}"
        raise LimitExceeded(what, where=str(path), remedy="Split it, and add the parts")
    return deck


def _title(deck: Presentation) -> str | None:
    try:
        return deck.core_properties.title or None
    except Exception:  # noqa: BLE001 - python-pptx raises anything on a broken part; it is told with the package
        return None


def _read_slide(deck: Presentation, number: int) -> _Slide:
    slide = deck.slides[number - 1]
    found = _Slide(number, hidden=slide.element.get("show", "1") in ("0", "false"), links=list(links(slide)))
    found.pieces += pieces(slide, deck.slide_width or 0, deck.slide_height or 0)
    found.pieces += [Piece(Role.BODY, text, repeats=True) for text in inherited_texts(slide)]
    if part := background(slide):
        found.pieces.append(Unread("picture", "it is the background", 1.0, part, described=True))
    if notes := _notes(slide):
        found.pieces.append(Piece(Role.NOTES, notes))
    return found


def _notes(slide: Slide) -> str:
    frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    return "" if frame is None else canonical(frame.text.replace("\v", "\n")).strip()


def _without_repeats(slides: list[_Slide]) -> list[Dropped]:
    """Take footers and texts of layouts out of all slides but the first that shows them; what was taken."""
    places: dict[str, list[str]] = {}
    for slide in slides:
        kept: list[Piece | Unread] = []
        for piece in slide.pieces:
            if not isinstance(piece, Piece) or not piece.repeats:
                kept.append(piece)
                continue
            if piece.text not in places:
                kept.append(piece)
            places.setdefault(piece.text, []).append(slide.where)
        slide.pieces = kept
    return [
        Dropped(
            what="repeated line",
            where=f"{found[1]} to {found[-1]}",
            reason=f"{text[:80]!r} stands on {len(found)} slides; the first keeps it",
        )
        for text, found in places.items()
        if len(found) > 1
    ]


def _write_texts(slides: list[_Slide]) -> None:
    """Give each piece that still is a shape its text, for all slides at once."""
    shapes = [p.shape for slide in slides for p in slide.pieces if isinstance(p, Piece) and p.shape is not None]
    texts = iter(shape_texts(shapes))
    for slide in slides:
        slide.pieces = [
            replace(p, text=next(texts)) if isinstance(p, Piece) and p.shape is not None else p for p in slide.pieces
        ]


@dataclass(frozen=True)
class _Sight:
    """What looks at pictures: the recogniser, and LibreOffice for those that are drawings of other programs."""

    path: Path
    rendering: Rendering
    recogniser: Recogniser

    def look(self, graphic: Unread, number: int) -> Seen:
        if self.recogniser.off:
            return Seen(reason=self.recogniser.off)
        picture = open_picture(self.path, graphic.part)
        if picture is not None:
            left, top, right, bottom = (max(0.0, share) for share in graphic.crop)
            width, height = picture.size
            if left + right < 1 and top + bottom < 1:
                picture = picture.crop((left * width, top * height, (1 - right) * width, (1 - bottom) * height))
        elif graphic.part.lower().endswith(_DRAWINGS) and graphic.box is not None:
            picture = self.rendering.part(number, graphic.box)
        return Seen(reason="its file cannot be read") if picture is None else self.recogniser.read(picture)


def _blocks(slide: _Slide, sight: _Sight) -> tuple[list[Block], list[Dropped]]:
    """The texts of a slide, those in its pictures at their place; and what could not be read."""
    shown = [piece.text for piece in slide.pieces if isinstance(piece, Piece) and piece.role is not Role.NOTES]
    characters = sum(not character.isspace() for text in shown for character in text)
    found: list[Piece] = []
    unread: list[Dropped] = []
    unsure = 0
    for piece in slide.pieces:
        if isinstance(piece, Piece):
            found.append(piece)
            continue
        seen = sight.look(piece, slide.number) if _is_picture(piece) else Seen()
        unsure += seen.unsure
        if seen.lines:
            found += [Piece(text.role, text.text, confidence=text.confidence) for text in written(seen.lines)]
        elif _is_missed(piece, characters):
            reason = "; ".join(filter(None, (piece.reason, seen.reason)))
            unread.append(Dropped(what=piece.what, where=slide.where, reason=reason))
    if text_of_links := link_text(slide.links, "\n".join(shown)):
        found.append(Piece(Role.BODY, text_of_links))
    found.sort(key=lambda piece: piece.role is Role.NOTES)
    flags = {Flag.HIDDEN} if slide.hidden else set()
    flags |= {Flag.UNREAD_GRAPHIC} if unread else set()
    return [_block(piece, slide, flags) for piece in found if piece.text.strip()], [
        *unread,
        *unsure_lines(unsure, slide.where),
    ]


def _block(piece: Piece, slide: _Slide, flags: set[Flag]) -> Block:
    seen = {Flag.OCR} if piece.confidence is not None else set()
    return Block(
        piece.text, Page(number=slide.number), piece.role, frozenset(flags | seen), confidence=piece.confidence
    )


def _is_picture(piece: Piece | Unread) -> bool:
    return isinstance(piece, Unread) and piece.what != "shape" and piece.share >= _LEAST_SHARE and bool(piece.part)


def _is_missed(graphic: Unread, characters: int) -> bool:
    """Other pictures on a slide that has a text of its own are decoration."""
    return not graphic.described and (graphic.what != "picture" or mostly_picture(characters, graphic.share))


def _largest(slide: _Slide) -> str:
    graphics = [piece for piece in slide.pieces if isinstance(piece, Unread) and piece.part and piece.share >= _SHOWN]
    return max(graphics, key=lambda graphic: graphic.share).part if graphics else ""
