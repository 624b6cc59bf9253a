"""The library: a folder of artefacts, a catalog and an index that always tell of the same version of each source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from index.artefacts import Artefacts
from index.catalog import Catalog
from index.live import LiveIndex
from index.recovery import end_interrupted, sweep
from index.revision import BATCH, Embed, Split, Vectors, points_of, revision_of
from index.store import Dense, Found, IndexRecipe, Request, Sparse, Store, Write
from index.writer import writing
from kb.errors import IndexMismatch, NotFound, UnreadableSource
from kb.types import Change, Chunk, Document, Filters, Outcome, Progress, Source, SourceEntry

__all__ = ["Embed", "Library", "Split", "Vectors"]


def unwatched(progress: float | Progress) -> None:
    """Progress that nobody watches: of one source, from 0 to 1, or of many."""


class Library:
    """Whole-source replacement over artefacts, catalog and index.

    Layout of `home`: `catalog.db`, `sources/` (`Artefacts`), `index/` (the embedded engine), `talks/`, `articles/`,
    `cache/`, `writer.lock`, `serve.json`.

    A source is replaced as a whole: artefacts and points of the new revision are written beside the old ones, then one
    catalog transaction makes the new revision live, then the old one is removed. Killed at any moment, a reader sees
    the old or the new; leftovers go at the next `open` or `replace`. Every method is safe to call from any thread.
    """

    def __init__(self, home: Path, store: Store, catalog: Catalog, recipe: IndexRecipe) -> None:
        """Touches nothing; `open` does. The library owns `store` and `catalog`, and closes them."""
        self.home = home
        self.store = store
        self.catalog = catalog
        self.recipe = recipe
        self._index = LiveIndex(store, catalog)
        self._artefacts = Artefacts(home / "sources")
        self._lost: frozenset[str] = frozenset()  # live in the catalog, without a point in the index

    def open(self) -> None:
        """Make or check the index and remove what an interrupted run left. Also `with library:`.

        Raises:
            IndexMismatch: if another recipe built the index; `rebuild` is the remedy and needs no `open`.
            LibraryBusy: if another process owns the embedded index, or writes for longer than a minute.
        """
        with writing(self.home):
            self.store.ensure(self.recipe)
            self._lost = sweep(self.store, self.catalog, self._artefacts)
            if self.store.exclusive:
                end_interrupted(self.catalog, self._artefacts)

    def close(self) -> None:
        self.store.close()
        self.catalog.close()

    def __enter__(self) -> Library:
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def check_whole(self) -> None:
        """
        Raises:
            IndexMismatch: if sources have nothing in the index: it was lost, or a backup came back without it.
        """
        if self._lost:
            raise IndexMismatch(
                f"the index lacks {len(self._lost)} of the sources",
                where=str(self.home),
                remedy="Build it anew with `kb rebuild`",
            )

    # --- writing ------------------------------------------------------------------------------------------------

    def is_current(self, source_id: str, sha256: str, recipe: str) -> bool:
        """Whether these bytes, read by this recipe, are what readers find: nothing to do.

        `recipe` names everything else that decides on the document: reader, transcriber, the talk's facts.
        """
        return source_id not in self._lost and self.catalog.is_current(source_id, sha256, recipe)

    def begin(self, source: Source) -> Path:
        """Show the source as pending, and give an empty folder for its page images (`Reading.images`)."""
        self.catalog.begin(source)
        return self._artefacts.prepare(source.id)

    def carry(self, source_id: str) -> None:  # as `begin`, with the images of the live version
        self._artefacts.carry(source_id, self.catalog.live(source_id) or "")

    def replace(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        embed: Embed,
        *,
        recipe: str,
        on_progress: Callable[[float], None] = unwatched,
    ) -> Outcome:
        """Make `document` the version that readers see; page images are taken from the folder that `begin` gave.

        Returns:
            `ADDED` or `UPDATED`.

        Raises:
            UnreadableSource: if there are no chunks.
            LibraryBusy: if another process writes for longer than a minute.
        """
        source_id, revision = document.source.id, revision_of(document, chunks)
        if not chunks:
            raise UnreadableSource(
                "there is no text in it to search", where=document.source.uri, remedy="Add a version that has text"
            )
        batches = []
        for batch in points_of(document, chunks, embed, revision):  # what takes long, before the lock
            batches.append(batch)
            on_progress(len(batches) * BATCH / (len(chunks) + BATCH))
        with writing(self.home):
            before = self.catalog.live(source_id)
            self._artefacts.write(document, revision)
            for batch in batches:
                self.store.upsert(batch)
            self.catalog.publish(document, revision=revision, recipe=recipe, chunks=len(chunks))
            self._lost -= {source_id}
            self.store.delete(source_id, keep=revision)
            self._artefacts.keep(source_id, revision)
            self._artefacts.discard(source_id)
        on_progress(1.0)
        return Outcome.UPDATED if before else Outcome.ADDED

    def fail(self, source: Source, error: str) -> None:
        """Show the source as failed, with its reason; the version before it stays searchable."""
        self.catalog.fail(source, error)
        self._artefacts.discard(source.id)

    def remove(self, source_id: str) -> SourceEntry:
        """Remove a source in whatever state: catalog first, then points and artefacts. Returns what it was.

        Raises:
            NotFound: if there is no such source.
        """
        with writing(self.home):
            entry = self.catalog.remove(source_id)
            self.store.delete(source_id)
            self._artefacts.keep(source_id, None)
            self._artefacts.discard(source_id)
        return entry

    def rebuild(
        self, split: Split, embed: Embed, *, on_progress: Callable[[Progress], None] = unwatched
    ) -> tuple[Change, ...]:
        """Build the index anew from the artefacts by this library's recipe, beside the old one, then switch.

        Needs no `open` and leaves the library open. The originals are not read. Readers of this process are served
        from the old index until the switch. A source whose artefact cannot be read is marked as failed.
        """
        changes: list[Change] = []

        def fill(write: Write) -> None:
            live = sorted(self.catalog.live_revisions(fresh=True).items())
            for done, (source_id, revision) in enumerate(live):
                entry = self.catalog.entry(source_id)
                on_progress(Progress(done=done, total=len(live), path=entry.source.uri, stage="embed"))
                changes.append(self._refill(entry, revision, split, embed, write))

        with writing(self.home):
            self.store.rebuild(self.recipe, fill)
            for change in changes:
                self._note(change)
            self._lost = sweep(self.store, self.catalog, self._artefacts)
        return tuple(changes)

    def optimize(self) -> None:
        """Build what makes searching fast; once after a batch, never in a request."""
        self.store.optimize()

    # --- reading ------------------------------------------------------------------------------------------------

    def search(self, list_name: str, vector: Dense | Sparse, filters: Filters, limit: int) -> list[Found]:
        """`Store.search` over live revisions only."""
        return self._index.search(list_name, vector, filters, limit)

    def search_batch(self, requests: Sequence[Request]) -> list[list[Found]]:
        """`Store.search_batch` over live revisions only, the same ones in every list."""
        return self._index.search_batch(requests)

    def get(self, chunk_ids: Sequence[str]) -> list[Found]:
        """`Store.get` over live revisions only: at most one chunk an id."""
        return self._index.get(chunk_ids)

    def document(self, source_id: str) -> Document:
        """The segments of the version that readers see.

        Raises:
            NotFound: if no version is searchable.
            UnreadableSource: if the artefact is damaged; adding the original again mends it.
        """
        while True:
            revision = self.catalog.live(source_id)
            if revision is None:
                entry = self.catalog.entry(source_id)
                raise NotFound(f"no version of the source is searchable ({entry.status})", where=entry.source.uri)
            try:
                return self._artefacts.read(source_id, revision)
            except UnreadableSource:
                if self.catalog.live_revisions(fresh=True).get(source_id) == revision:
                    raise

    def page_image(self, source_id: str, number: int) -> Path | None:
        """The WebP image of a page, counted from 1; None where there is none."""
        return self.picture(source_id, f"{number:04}.webp")

    def picture(self, source_id: str, name: str) -> Path | None:
        """What the reader left beside the document, by its file name; None where there is none."""
        revision = self.catalog.live(source_id)
        return self._artefacts.picture(source_id, revision, name) if revision else None

    # --- inside -------------------------------------------------------------------------------------------------

    def _refill(self, entry: SourceEntry, revision: str, split: Split, embed: Embed, write: Write) -> Change:
        told = Change(path=entry.source.uri, outcome=Outcome.UPDATED, source_id=entry.source.id)
        try:
            document = self._artefacts.read(entry.source.id, revision)
        except UnreadableSource as error:
            return told.model_copy(update={"outcome": Outcome.FAILED, "error": str(error)})
        chunks = split(document)
        for batch in points_of(document, chunks, embed, revision):
            write(batch)
        return told.model_copy(update={"segments": len(document.segments), "chunks": len(chunks)})

    def _note(self, change: Change) -> None:
        entry = self.catalog.entry(change.source_id or "")
        if change.error:
            self.catalog.fail(entry.source, change.error)
        else:
            self.catalog.recount(entry.source.id, change.chunks)
