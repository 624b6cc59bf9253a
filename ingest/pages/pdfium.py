"""PDFium, which is not safe across threads, not even for two documents: everything runs under `LOCK` (PITFALLS 20)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kb.errors import UnreadableSource

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfDocument

LOCK = threading.RLock()
_TALLEST = 4  # times the width; a longer page is drawn smaller


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
            if document.get_formtype() != pypdfium2.raw.FORMTYPE_NONE:
                document.init_forms()  # so that what was filled in is read and drawn; scripts are not run
            yield document
        finally:
            document.close()


def page_picture(document: PdfDocument, number: int, width: int) -> Image:
    """Page `number`, counted from 1, as it is seen, `width` pixels wide.

    Raises:
        pypdfium2.PdfiumError: if the page is broken.
    """
    page = document[number - 1]
    scale = min(width / page.get_width(), _TALLEST * width / page.get_height())
    bitmap = page.render(scale=scale)
    picture: Image = bitmap.to_pil().copy()  # the bitmap's memory goes with it
    bitmap.close()
    page.close()
    return picture
