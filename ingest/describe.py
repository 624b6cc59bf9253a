"""What a file, its talk and its path say about a source."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from datetime import date as Date  # noqa: N812
from pathlib import Path
from typing import TypeVar

from ingest.formats import KINDS
from ingest.identity import SourceKey
from ingest.parsed import Parsed
from kb.text import printable
from kb.types import Document, Flag, Kind, Lang, Role, Segment, Source, Talk, Time

Value = TypeVar("Value")


def describe(
    path: Path, key: SourceKey, kind: Kind, parsed: Parsed, talk: Talk | None, segments: tuple[Segment, ...]
) -> Source:
    """The source of a file: what it says of itself, then what its talk says, then its name and its folders."""
    timed = any(isinstance(segment.locator, Time) for segment in segments)
    return Source(
        id=key.id,
        kind=kind,
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


def renamed(document: Document, old: Path, new: Path, key: SourceKey) -> Document:
    """The document of `old` now that its file is `new`: what the name and the folders said is read off again."""
    source = document.source

    def follow(value: Value, of: Callable[[Path], Value]) -> Value:
        return of(new) if value == of(old) else value

    said = {
        "title": follow(source.title, _title),
        "version": follow(source.version, _version),
        "date": follow(source.date, _date),
    }
    segments = tuple(segment.model_copy(update={"source_id": key.id}) for segment in document.segments)
    named = source.model_copy(update={"id": key.id, "uri": key.uri} | said)
    return document.model_copy(update={"source": named, "segments": segments})


def _title(path: Path) -> str:
    return printable(unicodedata.normalize("NFC", path.stem))


def _main_lang(segments: tuple[Segment, ...]) -> Lang | None:
    weights: Counter[Lang] = Counter()
    prose = [segment for segment in segments if segment.role is not Role.CODE and Flag.OCR not in segment.flags]
    for segment in prose or segments:
        weights[segment.lang] += len(segment.text)
    del weights["und"]
    return weights.most_common(1)[0][0] if weights else None


_VERSION = re.compile(
    r"(?:^|[_\-\s])(?:v|version-)(\d+\.\d+(?:\.\d+)?)(?=$|[_\-\s])|(?:^|[_\-\s])(\d+\.\d+\.\d+)(?=$|[_\-\s])", re.ASCII
)
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


def undescribed(path: Path, key: SourceKey) -> Source | None:
    """What is known of a source before it is read; None where no reader will know the file."""
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        return None
    return Source(id=key.id, kind=kind, uri=key.uri, sha256=key.sha256, title=printable(path.name))
