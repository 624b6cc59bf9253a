"""The index as readers see it: points of live revisions only."""

from __future__ import annotations

from collections.abc import Sequence

from index.catalog import Catalog
from index.store import Dense, Found, Request, Sparse, Store
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
        return self.search_batch([Request(list_name, vector, filters, limit)])[0]

    def search_batch(self, requests: Sequence[Request]) -> list[list[Found]]:
        """As `Store.search_batch`; all lists tell of the same revisions."""
        asked = list(requests)
        while True:
            live = self._catalog.live_revisions()
            lists = self._store.search_batch(asked)
            seen = [[hit for hit in found if live.get(hit.source.id) == hit.revision] for found in lists]
            if sum(map(len, seen)) < sum(map(len, lists)) and self._catalog.live_revisions(fresh=True) != live:
                continue
            short = [
                at
                for at, request in enumerate(requests)
                if len(seen[at]) < request.limit and len(lists[at]) == asked[at].limit
            ]
            if not short:
                return [hits[: request.limit] for hits, request in zip(seen, requests, strict=True)]
            for at in short:  # what is being written takes places in the list
                asked[at] = asked[at]._replace(limit=2 * asked[at].limit)

    def get(self, chunk_ids: Sequence[str]) -> list[Found]:
        """As `Store.get`, with at most one revision of a chunk."""
        while True:
            live = self._catalog.live_revisions()
            found = self._store.get(chunk_ids)
            seen = [hit for hit in found if live.get(hit.source.id) == hit.revision]
            if len(seen) == len(found) or self._catalog.live_revisions(fresh=True) == live:
                return seen
