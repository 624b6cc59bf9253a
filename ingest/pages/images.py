"""Page images: `0001.webp`, `0002.webp`, … of PDF pages through PDFium, of slides through LibreOffice.

Without LibreOffice, a slide shows the largest of its own pictures, where it has one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ingest.office import libreoffice
from ingest.office.archive import open_picture
from ingest.office.package import sound_copy
from ingest.pages.layout import Box
from ingest.pages.pdf_pictures import draw
from ingest.pages.pdfium import open_pdf, page_picture
from ingest.parsed import Reading
from kb.errors import KBError, UnreadableSource
from kb.types import Dropped

if TYPE_CHECKING:
    from PIL.Image import Image

_QUALITY = 80  # of WebP; text of slides stays sharp at 13 KB a page
_SECONDS = 60, 2  # LibreOffice may take for a deck, and for each of its slides


class Rendering:
    """A PPTX deck as the PDF that LibreOffice makes of it, when it is first asked for. A context manager."""

    def __init__(self, path: Path, on_wait: Callable[[], None]) -> None:
        self._path = path
        self._on_wait = on_wait
        self.pages = 0  # of the deck, known once it is read
        self._scratch = tempfile.TemporaryDirectory(prefix="deck-")

    def __enter__(self) -> Rendering:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._scratch.cleanup()

    @cached_property
    def pdf(self) -> Path | KBError:
        """The file, or why there is none."""
        deck = Path(self._scratch.name) / "deck.pptx"
        try:
            with deck.open("w+b") as copy:
                sound_copy(self._path, copy, rendering=True)
            seconds = _SECONDS[0] + _SECONDS[1] * self.pages
            return libreoffice.convert(deck, libreoffice.PDF, seconds=seconds, on_wait=self._on_wait)
        except KBError as error:
            return error

    def part(self, number: int, share: Box) -> Image | None:
        """What stands in a part of a slide, given in shares of its width and height; None where it cannot be drawn."""
        import pypdfium2

        if isinstance(self.pdf, KBError):
            return None
        try:
            with open_pdf(self.pdf) as document:
                page = document[number - 1]
                width, height = page.get_size()
                return draw(page, share.scaled(width, height))
        except (KBError, pypdfium2.PdfiumError, IndexError):
            return None


def draw_pdf(path: Path, images: Path, reading: Reading) -> None:
    """One WebP a page, `settings.ingest.page_width` pixels wide; only one page is in memory at a time.

    Raises:
        UnreadableSource: if the file is broken or asks for a password.
    """
    import pypdfium2

    images.mkdir(parents=True, exist_ok=True)
    with open_pdf(path) as document:
        for number in range(1, len(document) + 1):
            try:
                _save(page_picture(document, number, reading.settings.ingest.page_width), images, number)
            except pypdfium2.PdfiumError:
                continue  # a broken page is reported where its text is read


def draw_pptx(
    path: Path, rendering: Rendering, largest: Mapping[int, str], images: Path, reading: Reading
) -> tuple[Dropped, ...]:
    """The slides, hidden ones included; without LibreOffice their own pictures, and what is missing and how to get it.

    Args:
        largest: for each slide that has one, its largest picture's file in the package.
    """
    pdf = rendering.pdf
    try:
        if not isinstance(pdf, KBError):
            draw_pdf(pdf, images, reading)
            return ()
    except KBError as error:
        pdf = UnreadableSource(f"LibreOffice drew slides that cannot be read ({error.what})", remedy=libreoffice.HOW)
    drawn = 0
    for number, part in largest.items():
        picture = open_picture(path, part)
        if picture is not None:
            width = reading.settings.ingest.page_width
            picture.thumbnail((width, 4 * width))
            _save(picture, images, number)
            drawn += 1
    instead = f"{drawn} of {rendering.pages} slides show a picture of their own instead" if drawn else ""
    reason = ". ".join(filter(None, (pdf.what, instead, pdf.remedy)))
    return (Dropped(what="page images", where=path.name, reason=reason),)


def _save(picture: Image, images: Path, number: int) -> None:
    images.mkdir(parents=True, exist_ok=True)
    target = images / f"{number:04}.webp"
    part = target.with_suffix(".part")
    picture.save(part, format="WEBP", quality=_QUALITY)
    part.replace(target)
