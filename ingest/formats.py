"""Which files are read, as what, and by which reader."""

from __future__ import annotations

from collections.abc import Callable

from ingest.parsed import Reader
from kb.types import Kind


def _media() -> Reader:
    from ingest.recordings.media import read

    return read


def _captions() -> Reader:
    from ingest.recordings.captions import read

    return read


def _slides() -> Reader:
    from ingest.office.slides import read

    return read


def _notes() -> Reader:
    from ingest.markup.notes import read

    return read


def _documents() -> Reader:
    from ingest.office.docx import read

    return read


_FORMATS: tuple[tuple[Kind, Callable[[], Reader], str], ...] = (
    (Kind.RECORDING, _media, ".wav .mp3 .m4a .flac .ogg .mp4 .mkv .mov .webm"),
    (Kind.CAPTIONS, _captions, ".srt .vtt .json .json3"),
    (Kind.DECK, _slides, ".pptx .pdf .ppt"),
    (Kind.NOTE, _notes, ".md .markdown .mdx .txt .rst .ipynb .html .htm .po"),
    (Kind.NOTE, _documents, ".docx"),
)
EXPORTS = {  # what to do with files that other programs save in a form that is read
    ".key": "In Keynote, choose File > Export To > PowerPoint or PDF, and add that",
    ".pages": "In Pages, choose File > Export To > Word or PDF, and add that",
    ".doc": "Save it as .docx in Word or LibreOffice, and add that",
    ".odt": "Save it as .docx in LibreOffice, and add that",
    ".odp": "Save it as .pptx in LibreOffice, and add that",
    ".pps": "Save it as .pptx in PowerPoint or LibreOffice, and add that",
}
KINDS: dict[str, Kind] = {suffix: kind for kind, _, suffixes in _FORMATS for suffix in suffixes.split()}
READERS: dict[str, Callable[[], Reader]] = {
    suffix: reader for _, reader, suffixes in _FORMATS for suffix in suffixes.split()
}
