"""A file becomes a document: the one entry for every kind of source."""

from __future__ import annotations

import hashlib
import os
import stat
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from ingest.describe import SourceKey, describe
from ingest.parsed import Block, Parsed, Reader, Reading
from kb.errors import KBError, LimitExceeded, UnreadableSource, UnsupportedSource
from kb.text import detect_lang, printable, stable_id
from kb.types import Document, Kind, Segment


def _media() -> Reader:
    from ingest.media import read

    return read


def _captions() -> Reader:
    from ingest.captions import read

    return read


def _slides() -> Reader:
    from ingest.slides import read

    return read


def _notes() -> Reader:
    from ingest.notes import read

    return read


def _documents() -> Reader:
    from ingest.docx import read

    return read


_FORMATS: tuple[tuple[Kind, Callable[[], Reader], str], ...] = (
    (Kind.RECORDING, _media, ".wav .mp3 .m4a .flac .ogg .mp4 .mkv .mov .webm"),
    (Kind.CAPTIONS, _captions, ".srt .vtt .json .json3"),
    (Kind.DECK, _slides, ".pptx .pdf .ppt"),
    (Kind.NOTE, _notes, ".md .markdown .mdx .txt .rst .ipynb .html .htm .po"),
    (Kind.NOTE, _documents, ".docx"),
)
_EXPORTS = {
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


_SETTLED_NS = 2_000_000_000  # file systems keep times to two seconds, at worst


def source_of(path: Path) -> SourceKey:
    """Identity and content hash of a file, without parsing it: the same hash needs no second reading.

    Links are followed and the path is put in NFC: a name is one name, however a file system spells it.

    Raises:
        UnreadableSource: if there is no such file, it is no file, or it may not be read.
    """
    where = printable(str(path))
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            enter(path)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableSource("this is no file", where=where, remedy="Name a file, or a folder of files")
        stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        # A file that was written a moment ago may change again without a new stamp.
        is_settled = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED_NS
        digest = (_digest if is_settled else _digest.__wrapped__)(path, stamp)
        uri = Path(unicodedata.normalize("NFC", str(path.resolve()))).as_uri()
    except OSError as error:
        raise _inaccessible(error, where) from error
    return SourceKey(stable_id(uri), uri, digest)


@lru_cache(maxsize=100_000)
def _digest(path: Path, stamp: tuple[int, ...]) -> str:  # noqa: ARG001  the key under which a digest is remembered
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def enter(folder: Path) -> None:
    """
    Raises:
        OSError: if what the folder holds cannot be listed, or not be reached: a folder needs both rights.
    """
    os.scandir(folder).close()
    os.stat(os.path.join(folder, "."))  # noqa: PTH116, PTH118 - `Path` would take the dot away


def load(path: Path, reading: Reading) -> Document:
    """Read a file whole.

    This is the one boundary to the parsers of others: whatever they raise becomes an `UnreadableSource`.

    Raises:
        UnsupportedSource: if no reader knows its suffix, or the content is of another kind.
        LimitExceeded: if it is larger than `settings.ingest.max_mb`.
        UnreadableSource: if it is empty, may not be read, is broken, or holds nothing to cite.
    """
    where = printable(str(path))
    suffix = path.suffix.lower()
    if suffix not in READERS:
        raise UnsupportedSource(
            f"no reader for {printable(suffix) or 'a file without a suffix'}",
            where=where,
            remedy=_EXPORTS.get(suffix, f"Supported are {' '.join(sorted(READERS))}"),
        )
    _check_size(path, reading.settings.ingest.max_mb, where)
    key = source_of(path)
    parsed = _read(path, reading, READERS[suffix](), where)
    if not any(block.text.strip() for block in parsed.blocks):
        reasons = "; ".join(f"{reason} ({count}×)" for reason, count in _reasons(parsed).most_common(3))
        raise UnreadableSource(
            "nothing in it can be read as text" + (f": {reasons}" if reasons else ""),
            where=where,
            remedy="Check that it opens and has content",
        )
    segments = tuple(_segment(key.id, order, block) for order, block in enumerate(parsed.blocks))
    source = describe(path, key, KINDS[suffix], parsed, reading.talk, segments)
    return Document(source=source, segments=segments, dropped=parsed.dropped, pages=parsed.pages)


def _check_size(path: Path, max_mb: int, where: str) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise _inaccessible(error, where) from error
    if size > max_mb << 20:
        raise LimitExceeded(
            f"{size / (1 << 20):,.0f} MiB are more than the {max_mb} MiB that are read",
            where=where,
            remedy="Split it, or raise KB_INGEST_MAX_MB",
        )
    if size == 0:
        raise UnreadableSource("the file is empty", where=where, remedy="Copy or download it again")


def _inaccessible(error: OSError, where: str) -> UnreadableSource:
    if isinstance(error, PermissionError):
        return UnreadableSource("no right to read it", where=where, remedy="Grant it: chmod +r, and +x on its folders")
    return UnreadableSource(f"it cannot be opened ({error.strerror})", where=where, remedy="Check the path")


def _read(path: Path, reading: Reading, reader: Reader, where: str) -> Parsed:
    try:
        return reader(path, reading)
    except KBError as error:
        place = error.where if path.name in error.where or where in error.where else f"{where} {error.where}".strip()
        raise type(error)(error.what, where=place, remedy=error.remedy) from error
    except OSError as error:
        raise _inaccessible(error, where) from error
    except MemoryError:
        raise
    except Exception as error:
        raise UnreadableSource(
            f"the file is broken: {type(error).__name__}: {printable(str(error))[:200]}",
            where=where,
            remedy="Open it in its own program and save it again",
        ) from error


def _reasons(parsed: Parsed) -> Counter[str]:
    return Counter(dropped.reason for dropped in parsed.dropped)


def _segment(source_id: str, order: int, block: Block) -> Segment:
    return Segment(
        source_id=source_id,
        order=order,
        text=block.text,
        locator=block.locator,
        role=block.role,
        lang=block.lang or detect_lang(block.text),
        flags=block.flags,
        confidence=block.confidence,
        original=block.original,
    )
