"""The catalog: which sources, talks and articles there are, which revision of a source readers see, what was refused.

SQLAlchemy Core, so that SQLite (in WAL mode) serves a laptop and PostgreSQL a team, by URL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from index import decisions, gaps, names
from index.database import Database, delete, put, rows
from index.snapshot import LiveRevisions
from kb.types import Article, Decision, Document, Dropped, Feedback, Gap, Lang, Source, SourceEntry, Status, Talk

if TYPE_CHECKING:
    from sqlalchemy import Row

_DROPPED: TypeAdapter[tuple[Dropped, ...]] = TypeAdapter(tuple[Dropped, ...])


class Catalog:
    """Typed rows of the library. Safe for concurrent readers and writers, threads and processes.

    Raises:
        StorageFailed: from every method, if `catalog.db` cannot be opened, read or written.
        IndexMismatch: from the constructor, if another version of the schema wrote it.
    """

    def __init__(self, url: str) -> None:
        """`url` as SQLAlchemy takes it: `sqlite:////path/catalog.db`, `postgresql+psycopg://…`."""
        self._database = Database(url)
        self._live = LiveRevisions(self._database)

    @classmethod
    def in_folder(cls, home: Path) -> Catalog:
        """The catalog of the library in `home`: `home/catalog.db`, made where it is missing."""
        from sqlalchemy import URL

        home.mkdir(parents=True, exist_ok=True)
        url = URL.create("sqlite", database=str(home.absolute() / "catalog.db"))
        return cls(url.render_as_string(hide_password=False))

    # --- sources: written by `Library` alone --------------------------------------------------------------------

    def begin(self, source: Source) -> None:
        """The source is visible as pending; a version that is already searchable stays so."""
        self._mark(source, Status.PENDING, None)

    def fail(self, source: Source, error: str) -> None:
        """The source is failed with its reason; a version that is already searchable stays so."""
        self._mark(source, Status.FAILED, error)

    def publish(self, document: Document, *, revision: str, recipe: str, chunks: int) -> None:
        """One transaction: `revision` is live, the row tells of `document`, its content hash and its recipe."""
        row = {
            "talk": document.source.talk,
            "source": document.source.model_dump_json(),
            "status": Status.READY.value,
            "live": revision,
            "recipe": recipe,
            "segments": len(document.segments),
            "chunks": chunks,
            "pages": document.pages,
            "dropped": _DROPPED.dump_json(document.dropped).decode(),
            "error": None,
            "updated": _now(),
        }
        with self._database.writing() as connection:
            put(connection, "sources", {"id": document.source.id}, row)
            self._live.switched(connection)
        self._live.snapshot(fresh=True)

    def recount(self, source_id: str, chunks: int) -> None:
        """Another chunker cut the same document into so many chunks."""
        with self._database.writing() as connection:
            put(connection, "sources", {"id": source_id}, {"chunks": chunks})

    def remove(self, source_id: str) -> SourceEntry:
        """Forget a source in whatever state, and its talk with its last source; returns what it was.

        Raises:
            NotFound: if there is no such source.
        """
        with self._database.writing() as connection:
            entry = _one(rows(connection, "sources", id=source_id), source_id)
            delete(connection, "sources", id=source_id)
            talk = entry.source.talk
            if talk is not None and not rows(connection, "sources", talk=talk):
                delete(connection, "talks", id=talk)
            self._live.switched(connection)
        self._live.snapshot(fresh=True)
        return entry

    def is_current(self, source_id: str, sha256: str, recipe: str) -> bool:
        """Whether these bytes, read by this recipe, are what readers see, with no failure or interruption since."""
        return any(
            row.status == Status.READY
            and row.recipe == recipe
            and Source.model_validate_json(row.source).sha256 == sha256
            for row in self._database.rows("sources", id=source_id)
        )

    # --- sources: read by everyone ------------------------------------------------------------------------------

    def entries(self) -> tuple[SourceEntry, ...]:
        """All sources, by title."""
        found = (_entry(row) for row in self._database.rows("sources"))
        return tuple(sorted(found, key=lambda entry: (entry.source.title.casefold(), entry.source.id)))

    def entry(self, source_id: str) -> SourceEntry:
        """Raises: NotFound."""
        return _one(self._database.rows("sources", id=source_id), source_id)

    def find(self, name: str) -> SourceEntry:
        """The source that a person means by an id, a uri, a path or its end, a title, or the start of an id.

        Raises:
            BadRequest: if several sources answer to the name; the message lists them.
            NotFound: if none does; the message lists near names.
        """
        return names.source(name, self.entries())

    def recipe(self, source_id: str) -> str:
        """By what the version that readers see was read; empty where there is none."""
        return next((str(row.recipe) for row in self._database.rows("sources", id=source_id)), "")

    def live(self, source_id: str) -> str | None:
        """The revision of a source that readers see. Answers from memory."""
        return self.live_revisions().get(source_id)

    def live_revisions(self, *, fresh: bool = False) -> Mapping[str, str]:
        """Source id -> live revision, from memory; writes of others show within a second, or at once with `fresh`."""
        return self._live.snapshot(fresh=fresh)

    # --- talks --------------------------------------------------------------------------------------------------

    def put_talk(self, talk: Talk) -> None:
        """Add or replace a talk; its `sources` are not stored, they follow from the sources."""
        stored = talk.model_copy(update={"sources": ()}).model_dump_json()
        with self._database.writing() as connection:
            put(connection, "talks", {"id": talk.id}, {"talk": stored})

    def talks(self) -> tuple[Talk, ...]:
        """All talks by title, each with the ids of the sources that name it."""
        sources: dict[str, list[str]] = {}
        for row in self._database.rows("sources"):
            sources.setdefault(row.talk, []).append(row.id)
        found = (
            Talk.model_validate_json(row.talk).model_copy(update={"sources": tuple(sorted(sources.get(row.id, ())))})
            for row in self._database.rows("talks")
        )
        return tuple(sorted(found, key=lambda talk: (talk.title.casefold(), talk.id)))

    def find_talk(self, name: str) -> Talk:
        """The talk that a person means by its id, its title, or the start of its id.

        Raises:
            BadRequest: if several talks answer to the name.
            NotFound: if none does.
        """
        return names.talk(name, self.talks())

    # --- articles -----------------------------------------------------------------------------------------------

    def put_article(self, article: Article) -> None:
        """Add or replace the article with this slug and language."""
        key = {"slug": article.slug, "lang": article.lang}
        with self._database.writing() as connection:
            put(connection, "articles", key, {"article": article.model_dump_json()})

    def articles(self) -> tuple[Article, ...]:
        """All articles, by slug and language."""
        found = (Article.model_validate_json(row.article) for row in self._database.rows("articles"))
        return tuple(sorted(found, key=lambda article: (article.slug, article.lang)))

    def article(self, slug: str, lang: Lang) -> Article:
        """Raises: NotFound, with near names."""
        known = self.articles()
        for article in known:
            if (article.slug, article.lang) == (slug, lang):
                return article
        raise names.unknown("article", f"{slug} ({lang})", (f"{article.slug} ({article.lang})" for article in known))

    # --- gaps and ratings: see `index.gaps` -----------------------------------------------------------------------

    def add_gap(self, gap: Gap) -> None:
        gaps.file(self._database, gap)

    def close_gap(self, question: str, at: datetime) -> None:
        gaps.close(self._database, question, at)

    def gaps(self) -> tuple[Gap, ...]:
        return gaps.all_of(self._database)

    def add_rating(self, feedback: Feedback) -> None:
        gaps.rate(self._database, feedback)

    # --- corrections of transcripts: see `index.decisions` --------------------------------------------------------

    def decide(self, decision: Decision) -> None:
        decisions.put(self._database, decision)

    def decisions(self) -> tuple[Decision, ...]:
        """The latest first: where two say something else of the same words, it holds."""
        return decisions.all_of(self._database)

    def applying(self) -> AbstractContextManager[bool]:
        return decisions.applying(self._database)

    def hand_on(self, old: str, new: str) -> None:
        decisions.hand_on(self._database, old, new)

    def close(self) -> None:
        self._database.close()

    def _mark(self, source: Source, status: Status, error: str | None) -> None:
        state = {"status": status.value, "error": error, "updated": _now()}
        with self._database.writing() as connection:
            if not any(row.live for row in rows(connection, "sources", id=source.id)):
                state |= {"talk": source.talk, "source": source.model_dump_json()}
            put(connection, "sources", {"id": source.id}, state)


def _one(found: Sequence[Row[Any]], source_id: str) -> SourceEntry:
    if not found:
        raise names.unknown("source", source_id, ())
    return _entry(found[0])


def _entry(row: Row[Any]) -> SourceEntry:
    return SourceEntry(
        source=Source.model_validate_json(row.source),
        status=Status(row.status),
        segments=row.segments,
        chunks=row.chunks,
        pages=row.pages,
        dropped=_DROPPED.validate_json(row.dropped),
        error=row.error,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
