"""A file becomes a document: the one entry for every kind of source."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Callable
from datetime import date as Date  # noqa: N812
from pathlib import Path
from typing import NamedTuple

from ingest.parsed import Block, Parsed, Reader, Reading
from kb.errors import KBError, LimitExceeded, UnreadableSource, UnsupportedSource
from kb.text import detect_lang, printable, stable_id
from kb.types import Document, Kind, Lang, Segment, Source, Time


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


_FORMATS: tuple[tuple[Kind, Callable[[], Reader], str], ...] = (
    (Kind.RECORDING, _media, ".wav .mp3 .m4a .flac .ogg .mp4 .mkv .mov .webm"),
    (Kind.CAPTIONS, _captions, ".srt .vtt .json"),
    (Kind.DECK, _slides, ".pptx .pdf"),
    (Kind.NOTE, _notes, ".md .markdown .mdx .txt .rst .ipynb .html .htm .po"),
)
KINDS: dict[str, Kind] = {suffix: kind for kind, _, suffixes in _FORMATS for suffix in suffixes.split()}
READERS: dict[str, Callable[[], Reader]] = {
    suffix: reader for _, reader, suffixes in _FORMATS for suffix in suffixes.split()
}


class SourceKey(NamedTuple):
    """What tells a source apart (`id`, made from its `uri`) and its content (`sha256`, in hexadecimal)."""

    id: str
    uri: str
    sha256: str


def source_of(path: Path) -> SourceKey:
    """Identity and content hash of a file, without parsing it: the same hash needs no second reading.

    Links are followed and the path is put in NFC: a name is one name, however a file system spells it.

    Raises:
        UnreadableSource: if there is no such file, it is no file, or it may not be read.
    """
    where = printable(str(path))
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            enter(path)
        if not stat.S_ISREG(mode):
            raise UnreadableSource("this is no file", where=where, remedy="Name a file, or a folder of files")
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        uri = Path(unicodedata.normalize("NFC", str(path.resolve()))).as_uri()
    except OSError as error:
        raise _inaccessible(error, where) from error
    return SourceKey(stable_id(uri), uri, digest)


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
            remedy=f"Supported are {' '.join(sorted(READERS))}",
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
    source = _describe(path, key, parsed, reading, segments)
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


# --- what the file, its talk and its path say about it ------------------------------------------------------------


def _describe(path: Path, key: SourceKey, parsed: Parsed, reading: Reading, segments: tuple[Segment, ...]) -> Source:
    talk = reading.talk
    timed = any(isinstance(segment.locator, Time) for segment in segments)
    return Source(
        id=key.id,
        kind=KINDS[path.suffix.lower()],
        uri=key.uri,
        sha256=key.sha256,
        title=parsed.title or (talk.title if talk else "") or _title(path),
        lang=parsed.lang or _main_lang(segments) or (talk.lang if talk else "und"),
        talk=talk.id if talk else None,
        date=parsed.date or (talk.date if talk else None) or _date(path),
        version=parsed.version or (talk.version if talk else None) or _version(path),
        # The published video shows what is said; its address says nothing of a page in a deck.
        url=parsed.url or (talk.url if talk and timed else None),
        licence=parsed.licence,
    )


def _title(path: Path) -> str:
    return printable(unicodedata.normalize("NFC", path.stem))


def _main_lang(segments: tuple[Segment, ...]) -> Lang | None:
    weights: Counter[Lang] = Counter()
    for segment in segments:
        weights[segment.lang] += len(segment.text)
    del weights["und"]
    return weights.most_common(1)[0][0] if weights else None


_VERSION = re.compile(r"(?:^|[_\-\s])v(\d+\.\d+(?:\.\d+)?)(?=$|[_\-\s])|[_\-\s](\d+\.\d+\.\d+)(?=$|[_\-\s])", re.ASCII)
_DATE = re.compile(r"(?<!\d)(20\d\d-[01]\d-[0-3]\d)(?!\d)", re.ASCII)


def _version(path: Path) -> str | None:
    """The version in the name of the nearest folder that has one: `docs_0.33.0`, `v0.33.0`."""
    found = next((hit for folder in path.absolute().parents if (hit := _VERSION.search(folder.name))), None)
    return (found[1] or found[2]) if found else None


def _date(path: Path) -> Date | None:
    for name in (path.stem, *(folder.name for folder in path.absolute().parents)):
        for found in _DATE.findall(name):
            try:
                return Date.fromisoformat(found)
            except ValueError:
                continue
    return None
