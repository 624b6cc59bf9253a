"""The zip that an Office file is: checked against bombs, asked what it is, and its pictures."""

from __future__ import annotations

import mmap
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from kb.errors import LimitExceeded

if TYPE_CHECKING:
    from PIL.Image import Image

_ENTRIES = 50_000
_INFLATED = 512 * 2**20  # bytes of XML in a deck; a thousand dense slides stay below a tenth of it
_INFLATED_MEDIA = 8 * 2**30  # bytes of all parts
_PICTURE = 256 * 2**20  # bytes; a larger part is a film, and no rendering needs it
_RATIO = 200  # of a part above a mebibyte; XML of real decks shrinks 10 to 50 times
# Pillow hands some others, such as EPS, to programs of the system.
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "DIB", "TIFF", "WEBP", "JPEG2000", "ICO", "PCX", "TGA")
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
RAISED_BY_ZIPFILE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)
PRESENTATION = "ppt/presentation.xml"
DOCUMENT = "word/document.xml"
CONTENT_TYPES = "[Content_Types].xml"


def check_bomb(archive: zipfile.ZipFile, path: Path) -> None:
    """
    Raises:
        LimitExceeded: if it would inflate to more than any deck or document does.
    """
    entries = archive.infolist()
    remedy = "Check where the file comes from; a deck is never like this"
    if len(entries) > _ENTRIES:
        raise LimitExceeded(
            f"the deck holds {len(entries)} files, more than {_ENTRIES}", where=str(path), remedy=remedy
        )
    text = sum(entry.file_size for entry in entries if is_xml(entry.filename))
    everything = sum(entry.file_size for entry in entries)
    if text > _INFLATED or everything > _INFLATED_MEDIA:
        what = f"the deck would inflate to {everything // 2**20} MiB, {text // 2**20} of them XML"
        raise LimitExceeded(what, where=str(path), remedy=remedy)
    for entry in entries:
        if entry.file_size > 2**20 and entry.file_size > _RATIO * max(1, entry.compress_size):
            what = f"{entry.filename} would inflate more than {_RATIO} times, like a zip bomb"
            raise LimitExceeded(what, where=str(path), remedy=remedy)


def is_xml(name: str) -> bool:
    return name.endswith((".xml", ".rels"))


def what_else(archive: zipfile.ZipFile, main: str) -> str:
    """What a file is that cannot be read as one whose `main` part, `PRESENTATION` or `DOCUMENT`, is wanted."""
    names = archive.namelist()
    if any(name.endswith((".iwa", "Index.zip", "index.apxl")) for name in names):
        return "it is a Keynote file: in Keynote, choose File > Export To > PowerPoint or PDF"
    if main not in names and (PRESENTATION in names or DOCUMENT in names):
        return f"it is a {'PPTX' if PRESENTATION in names else 'DOCX'} file: give it that suffix"
    if main in names:
        return f"{CONTENT_TYPES} is missing or broken"
    return "it holds no " + ("presentation" if main == PRESENTATION else "document")


def is_encrypted(path: Path) -> bool:
    """An Office file that asks for a password is a container of the old format, with a stream of this name."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(_ENCRYPTED) >= 0


def open_picture(path: Path, part: str) -> Image | None:
    """A picture of the deck; None where it is missing, broken, larger than any picture, or of an unknown format."""
    from PIL import Image

    try:
        with zipfile.ZipFile(path) as archive:
            content = BytesIO(picture_bytes(archive, part))
        with Image.open(content, formats=_FORMATS) as picture:
            picture.load()
            # Of 16 bits a pixel, Pillow can neither scale them nor show them: it cuts off what is above 255.
            deep = picture.mode.startswith("I")
            return picture.convert("I").point(lambda value: value * (1 / 256)).convert("L") if deep else picture.copy()
    except (zipfile.BadZipFile, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def picture_bytes(archive: zipfile.ZipFile, name: str) -> bytes:
    """A picture's file; empty where it is missing, broken or larger than any picture."""
    try:
        entry = archive.getinfo(name)
        return archive.read(entry) if entry.file_size <= _PICTURE else b""
    except (KeyError, *RAISED_BY_ZIPFILE):
        return b""
