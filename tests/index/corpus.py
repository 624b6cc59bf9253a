"""Small sources, chunks and points for the tests of the index."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from index.library import Vectors
from index.store import IndexRecipe, Point, Sparse
from kb.text import stable_id
from kb.types import Chunk, Document, Kind, Lang, Mark, Role, Segment, Source, Span
from tests.fakes import FakeEmbedder

RECIPE = IndexRecipe("fake/1", {"bigrams": FakeEmbedder.dimension})
EMBEDDER = FakeEmbedder()


def source(
    name: str = "kv-cache.md",
    *,
    text: str = "",
    kind: Kind = Kind.NOTE,
    lang: Lang = "en",
    talk: str | None = None,
    day: date | None = None,
    version: str | None = None,
) -> Source:
    uri = Path("/corpus", name).as_uri()
    return Source(
        id=stable_id(uri),
        kind=kind,
        uri=uri,
        sha256=f"{zlib.crc32(text.encode()):064x}",
        title=Path(name).stem,
        lang=lang,
        talk=talk,
        date=day,
        version=version,
    )


def document(text: str, name: str = "kv-cache.md") -> Document:
    """One segment a line."""
    of = source(name, text=text)
    segments = (
        Segment(
            source_id=of.id,
            order=order,
            text=line,
            locator=Mark(line_start=order + 1, line_end=order + 1),
            role=Role.BODY,
            lang="en",
        )
        for order, line in enumerate(text.splitlines())
    )
    return Document(source=of, segments=tuple(segments))


def chunk(of: Source, text: str, order: int = 0, lang: Lang = "en") -> Chunk:
    locator = Mark(line_start=order + 1, line_end=order + 1)
    return Chunk(
        id=stable_id(of.id, str(locator), text),
        source_id=of.id,
        order=order,
        text=text,
        context=of.title,
        spans=(Span(start=0, end=len(text), order=order, offset=0, locator=locator),),
        role=Role.BODY,
        lang=lang,
        tokens=len(text),
        recipe="lines/1",
    )


def split(doc: Document) -> list[Chunk]:
    """One chunk a segment."""
    return [chunk(doc.source, segment.text, segment.order) for segment in doc.segments]


def lexical(text: str) -> Sparse:
    counts: dict[int, float] = {}
    for word in text.casefold().split():
        term = zlib.crc32(word.encode())
        counts[term] = counts.get(term, 0.0) + 1.0
    return Sparse(tuple(counts), tuple(counts.values()))


def embed(chunks: Sequence[Chunk]) -> list[Vectors]:
    rows = EMBEDDER.embed_passages([chunk.full_text for chunk in chunks])
    return [Vectors({"bigrams": row}, lexical(chunk.full_text)) for chunk, row in zip(chunks, rows, strict=True)]


def point(of: Source, text: str, order: int = 0, *, revision: str = "r1", lang: Lang = "en") -> Point:
    made = chunk(of, text, order, lang)
    vectors = embed([made])[0]
    return Point(made, of, revision, vectors.dense, vectors.lexical)
