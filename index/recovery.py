"""What an interrupted run left behind: found and removed when a library is opened."""

from __future__ import annotations

from index.artefacts import Artefacts
from index.catalog import Catalog
from index.store import Store
from kb.types import Status

_INTERRUPTED = "the work on it was interrupted. Add it again"


def sweep(store: Store, catalog: Catalog, artefacts: Artefacts) -> frozenset[str]:
    """Remove points and artefacts of revisions that are not live.

    Returns:
        Ids of the sources that are live in the catalog and have no points.
    """
    live = catalog.live_revisions(fresh=True)
    stored = store.revisions()
    for source_id, revisions in stored.items():
        if revisions - {live.get(source_id)}:
            store.delete(source_id, keep=live.get(source_id))
    for source_id in artefacts.sources():
        artefacts.keep(source_id, live.get(source_id))
    return frozenset(source_id for source_id in live if live[source_id] not in stored.get(source_id, ()))


def end_interrupted(catalog: Catalog, artefacts: Artefacts) -> None:
    """What is pending when the only owner opens was left by a process that died."""
    for entry in catalog.entries():
        if entry.status is Status.PENDING:
            catalog.fail(entry.source, _INTERRUPTED)
    for source_id in artefacts.sources():
        artefacts.discard(source_id)
