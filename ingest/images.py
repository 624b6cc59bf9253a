"""Page images: `0001.webp`, `0002.webp`, … of PDF pages through PDFium, of slides through LibreOffice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from ingest.package import sound_copy
from ingest.parsed import Reading
from ingest.pdfium import open_pdf, page_picture
from kb.errors import KBError
from kb.types import Dropped

_QUALITY = 80  # of WebP; text of slides stays sharp at 13 KB a page
_SECONDS = 60, 2  # LibreOffice may take for a deck, and for each of its slides
_PDF_WITH_HIDDEN = 'pdf:impress_pdf_Export:{"ExportHiddenSlides":{"type":"boolean","value":"true"}}'
_HOW = "Install LibreOffice (Debian: apt install libreoffice-impress-nogui) and add the deck again"


def office() -> str | None:
    """The program that draws PPTX decks: LibreOffice, where it is installed."""
    return shutil.which("soffice") or shutil.which("libreoffice")


def draw_pdf(path: Path, images: Path, reading: Reading) -> None:
    """One WebP a page, `settings.ingest.page_width` pixels wide; only one page is in memory at a time.

    Raises:
        UnreadableSource: if the file is broken or asks for a password.
    """
    import pypdfium2

    width = reading.settings.ingest.page_width
    images.mkdir(parents=True, exist_ok=True)
    with open_pdf(path) as document:
        for number in range(1, len(document) + 1):
            try:
                picture = page_picture(document, number, width)
            except pypdfium2.PdfiumError:
                continue  # a broken page is reported where its text is read
            target = images / f"{number:04}.webp"
            part = target.with_suffix(".part")
            picture.save(part, format="WEBP", quality=_QUALITY)
            part.replace(target)


def draw_pptx(path: Path, images: Path, pages: int, reading: Reading) -> tuple[Dropped, ...]:
    """The slides, hidden ones included; without LibreOffice, a note of what is missing and how to get it."""
    program = office()
    if program is None:
        return (_missing("LibreOffice is not installed", path),)
    with tempfile.TemporaryDirectory(prefix="deck-") as scratch:
        folder = Path(scratch)
        deck = folder / "deck.pptx"
        with deck.open("w+b") as copy:
            sound_copy(path, copy, rendering=True)
        output = _convert(program, deck, timeout=_SECONDS[0] + _SECONDS[1] * pages)
        pdf = deck.with_suffix(".pdf")
        if not pdf.is_file():
            return (_missing(f"LibreOffice could not draw the slides ({output})", path),)
        try:
            draw_pdf(pdf, images, reading)
        except KBError as error:
            return (_missing(f"LibreOffice drew slides that cannot be read ({error.what})", path),)
    return ()


def _missing(reason: str, path: Path) -> Dropped:
    return Dropped(what="page images", where=path.name, reason=f"{reason}. {_HOW}")


def _convert(program: str, deck: Path, *, timeout: float) -> str:
    """Write the PDF beside the deck; what the program said, for the case that it did not.

    The profile is its own, because two runs that share one disturb each other. The program starts children, so its
    whole session is ended when it takes too long or is not waited for.
    """
    profile = (deck.parent / "profile").as_uri()
    command = [program, f"-env:UserInstallation={profile}", "--headless", "--norestore", "--nolockcheck"]
    command += ["--convert-to", _PDF_WITH_HIDDEN, "--outdir", str(deck.parent), str(deck)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except BaseException as reason:  # Ctrl-C, too: it does not reach a session of its own
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(reason, subprocess.TimeoutExpired):
                return f"it took longer than {timeout:.0f} s"
            raise
    return output.decode(errors="replace").strip()[-200:] or f"exit code {process.returncode}"
