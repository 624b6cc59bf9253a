"""The library: a folder of artefacts, a catalog and an index that always tell of the same version of each source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from index.catalog import Catalog
from index.store import Dense, Found, IndexRecipe, Sparse, Store
from kb.types import Change, Chunk, Document, Filters, Outcome, Progress, Source, SourceEntry


@dataclass(frozen=True)
class Vectors:
    """Of one chunk: the dense vectors by list name, each of length 1, and the lexical one."""

    dense: Mapping[str, Dense]
    lexical: Sparse


Embed = Callable[[Sequence[Chunk]], Sequence[Vectors]]
"""The vectors of some chunks (a batch of at most 64), in their order."""

Split = Callable[[Document], Sequence[Chunk]]
"""The chunks of a document, in their order."""


def no_share(share: float) -> None:
    """Progress of one source that nobody watches; `share` runs from 0 to 1."""


def no_progress(progress: Progress) -> None:
    """Progress of many sources that nobody watches."""


class Library:
    """Whole-source replacement over artefacts, catalog and index.

    Layout of `home`: `catalog.db`, `sources/<id>/<revision>/{document.json,pages/0001.webp}`, `index/` (the embedded
    engine), `articles/`, `cache/`, `writer.lock`, `serve.json`.

    A source is replaced as a whole: artefacts and points of the new revision are written beside the old ones, then one
    catalog transaction makes the new revision live, then the old one is removed. Killed at any moment, a reader sees
    the old or the new; leftovers go at the next `open` or `replace`. Every method is safe to call from any thread.
    """

    def __init__(self, home: Path, store: Store, catalog: Catalog, recipe: IndexRecipe) -> None:
        """Touches nothing; `open` does. The library owns `store` and `catalog`, and closes them."""
        raise NotImplementedError

    def open(self) -> None:
        """Make or check the index and remove what an interrupted run left. Also `with library:`.

        Raises:
            IndexMismatch: if another recipe built the index; `rebuild` is the remedy and needs no `open`.
            LibraryBusy: if another process owns the embedded index, or writes for longer than a minute.
        """
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Library:
        self.open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # --- writing ------------------------------------------------------------------------------------------------

    def is_current(self, source_id: str, sha256: str, recipe: str) -> bool:
        """Whether these bytes, read by this recipe, are what readers find: nothing to do.

        `recipe` names everything else that decides on the document: reader, transcriber, the talk's facts.
        """
        raise NotImplementedError

    def begin(self, source: Source) -> Path:
        """Show the source as pending, and give an empty folder for its page images (`Reading.images`)."""
        raise NotImplementedError

    def replace(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        embed: Embed,
        *,
        recipe: str,
        on_progress: Callable[[float], None] = no_share,
    ) -> Outcome:
        """Make `document` the version that readers see; page images are taken from the folder that `begin` gave.

        Returns:
            `ADDED` or `UPDATED`.

        Raises:
            UnreadableSource: if there are no chunks.
            LibraryBusy: if another process writes for longer than a minute.
        """
        raise NotImplementedError

    def fail(self, source: Source, error: str) -> None:
        """Show the source as failed, with its reason; the version before it stays searchable."""
        raise NotImplementedError

    def remove(self, source_id: str) -> SourceEntry:
        """Remove a source in whatever state: catalog first, then points and artefacts. Returns what it was.

        Raises:
            NotFound: if there is no such source.
        """
        raise NotImplementedError

    def rebuild(
        self, split: Split, embed: Embed, *, on_progress: Callable[[Progress], None] = no_progress
    ) -> tuple[Change, ...]:
        """Build the index anew from the artefacts by this library's recipe, beside the old one, then switch.

        Needs no `open` and leaves the library open. The originals are not read. Readers of this process are served
        from the old index until the switch. A source whose artefact cannot be read is marked as failed.
        """
        raise NotImplementedError

    def optimize(self) -> None:
        """Build what makes searching fast; once after a batch, never in a request."""
        raise NotImplementedError

    # --- reading ------------------------------------------------------------------------------------------------

    def search(self, list_name: str, vector: Dense | Sparse, filters: Filters, limit: int) -> list[Found]:
        """`Store.search` over live revisions only."""
        raise NotImplementedError

    def get(self, chunk_ids: Sequence[str]) -> list[Found]:
        """`Store.get` over live revisions only: at most one chunk an id."""
        raise NotImplementedError

    def document(self, source_id: str) -> Document:
        """The segments of the version that readers see.

        Raises:
            NotFound: if no version is searchable.
            UnreadableSource: if the artefact is damaged; adding the original again mends it.
        """
        raise NotImplementedError

    def page_image(self, source_id: str, number: int) -> Path | None:
        """The WebP image of a page, counted from 1; None where there is none."""
        raise NotImplementedError
