"""A file becomes a document: the one entry for every kind of source."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ingest.describe import describe
from ingest.formats import EXPORTS, KINDS, READERS
from ingest.identity import inaccessible, source_of
from ingest.parsed import Block, Parsed, Reader, Reading
from kb.errors import KBError, LimitExceeded, UnreadableSource, UnsupportedSource
from kb.text import detect_lang, printable
from kb.types import Document, Segment


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
            remedy=EXPORTS.get(suffix, f"Supported are {' '.join(sorted(READERS))}"),
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
        raise inaccessible(error, where) from error
    if size > max_mb << 20:
        raise LimitExceeded(
            f"{size / (1 << 20):,.0f} MiB are more than the {max_mb} MiB that are read",
            where=where,
            remedy="Split it, or raise KB_INGEST_MAX_MB",
        )
    if size == 0:
        raise UnreadableSource("the file is empty", where=where, remedy="Copy or download it again")


def _read(path: Path, reading: Reading, reader: Reader, where: str) -> Parsed:
    try:
        return reader(path, reading)
    except KBError as error:
        place = error.where if path.name in error.where or where in error.where else f"{where} {error.where}".strip()
        raise type(error)(error.what, where=place, remedy=error.remedy) from error
    except OSError as error:
        raise inaccessible(error, where) from error
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
