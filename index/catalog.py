"""The catalog: which sources, talks and articles there are, which revision of a source readers see, what was refused.

SQLAlchemy Core, so that SQLite (in WAL mode) serves a laptop and PostgreSQL a team, by URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kb.types import Article, Document, Gap, Lang, Source, SourceEntry, Talk


class Catalog:
    """Typed rows of the library. Safe for concurrent readers and writers, threads and processes.

    Raises:
        UnreadableSource: from the constructor, if `catalog.db` is no database.
        IndexMismatch: from the constructor, if another version of the schema wrote it.
    """

    def __init__(self, url: str) -> None:
        """`url` as SQLAlchemy takes it: `sqlite:////path/catalog.db`, `postgresql+psycopg://…`."""
        raise NotImplementedError

    @classmethod
    def in_folder(cls, home: Path) -> Catalog:
        """The catalog of the library in `home`: `home/catalog.db`, made where it is missing."""
        raise NotImplementedError

    # --- sources: written by `Library` alone --------------------------------------------------------------------

    def begin(self, source: Source) -> None:
        """The source is visible as pending; a version that is already searchable stays so."""
        raise NotImplementedError

    def publish(self, document: Document, *, revision: str, recipe: str, chunks: int) -> None:
        """One transaction: `revision` is live, the row tells of `document`, its content hash and its recipe."""
        raise NotImplementedError

    def fail(self, source: Source, error: str) -> None:
        """The source is failed with its reason; a version that is already searchable stays so."""
        raise NotImplementedError

    def remove(self, source_id: str) -> SourceEntry:
        """Forget a source in whatever state, and its talk with its last source; returns what it was.

        Raises:
            NotFound: if there is no such source.
        """
        raise NotImplementedError

    def is_current(self, source_id: str, sha256: str, recipe: str) -> bool:
        """Whether these bytes, read by this recipe, are what readers see, with no failure or interruption since."""
        raise NotImplementedError

    # --- sources: read by everyone ------------------------------------------------------------------------------

    def entries(self) -> tuple[SourceEntry, ...]:
        """All sources, by title."""
        raise NotImplementedError

    def entry(self, source_id: str) -> SourceEntry:
        """Raises: NotFound."""
        raise NotImplementedError

    def find(self, name: str) -> SourceEntry:
        """The source that a person means by an id, a uri, a path or its end, a title, or the start of an id.

        Raises:
            BadRequest: if several sources answer to the name; the message lists them.
            NotFound: if none does; the message lists near names.
        """
        raise NotImplementedError

    def live(self, source_id: str) -> str | None:
        """The revision of a source that readers see. Answers from memory."""
        raise NotImplementedError

    def live_revisions(self, *, fresh: bool = False) -> Mapping[str, str]:
        """Source id -> live revision, an immutable snapshot from memory.

        Writes of this process show at once, those of others within a second, or at once with `fresh`.
        """
        raise NotImplementedError

    # --- talks --------------------------------------------------------------------------------------------------

    def put_talk(self, talk: Talk) -> None:
        """Add or replace a talk; its `sources` are not stored, they follow from the sources."""
        raise NotImplementedError

    def talks(self) -> tuple[Talk, ...]:
        """All talks by title, each with the ids of the sources that name it."""
        raise NotImplementedError

    def find_talk(self, name: str) -> Talk:
        """The talk that a person means by its id, its title, or the start of its id.

        Raises:
            BadRequest: if several talks answer to the name.
            NotFound: if none does.
        """
        raise NotImplementedError

    # --- articles -----------------------------------------------------------------------------------------------

    def put_article(self, article: Article) -> None:
        """Add or replace the article with this slug and language."""
        raise NotImplementedError

    def articles(self) -> tuple[Article, ...]:
        """All articles, by slug and language."""
        raise NotImplementedError

    def article(self, slug: str, lang: Lang) -> Article:
        """Raises: NotFound, with near names."""
        raise NotImplementedError

    # --- gaps ---------------------------------------------------------------------------------------------------

    def add_gap(self, gap: Gap) -> None:
        """File a refused question; one that was asked before (case and outer blanks aside) is counted up."""
        raise NotImplementedError

    def gaps(self) -> tuple[Gap, ...]:
        """Refused questions, most often asked first, then the latest."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError
