"""The index as readers see it: points of live revisions only."""

from __future__ import annotations

from collections.abc import Sequence

from index.catalog import Catalog
from index.store import Dense, Found, Sparse, Store
from kb.types import Filters


class LiveIndex:
    """Searches a store and leaves out what is being written or removed.

    While a source is replaced, the points of two revisions lie in the store. A reader judges both by one snapshot of
    the live revisions; if a switch came in between, it asks again: it sees all of the old or all of the new.
    """

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog

    def search(self, list_name: str, vector: Dense | Sparse, filters: Filters, limit: int) -> list[Found]:
        """As `Store.search`."""
        asked = limit
        while True:
            live = self._catalog.live_revisions()
            found = self._store.search(list_name, vector, filters, asked)
            seen = [hit for hit in found if live.get(hit.source.id) == hit.revision]
            if len(seen) == len(found):
                return seen[:limit]
            if self._catalog.live_revisions(fresh=True) != live:
                continue
            if len(seen) >= limit or len(found) < asked:
                return seen[:limit]
            asked *= 2  # what is being written takes places in the list

    def get(self, chunk_ids: Sequence[str]) -> list[Found]:
        """As `Store.get`, with at most one revision of a chunk."""
        while True:
            live = self._catalog.live_revisions()
            found = self._store.get(chunk_ids)
            seen = [hit for hit in found if live.get(hit.source.id) == hit.revision]
            if len(seen) == len(found) or self._catalog.live_revisions(fresh=True) == live:
                return seen
