"""Which revision of each source readers see: a snapshot in memory that follows the catalog."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from index.database import Database, put, rows

if TYPE_CHECKING:
    from sqlalchemy import Connection

_FRESH_SECONDS = 1.0


class LiveRevisions:
    """Read anew only when the generation, which counts the switches in the database, has moved."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._live: Mapping[str, str] = MappingProxyType({})
        self._generation = -1
        self._checked = float("-inf")

    def snapshot(self, *, fresh: bool) -> Mapping[str, str]:
        """Source id -> live revision, immutable, at most a second old; with `fresh`, of this moment."""
        if not fresh and time.monotonic() - self._checked < _FRESH_SECONDS:
            return self._live
        with self._lock, self._database.reading() as connection:
            generation = _generation(connection)
            if generation != self._generation:
                live = {row.id: row.live for row in rows(connection, "sources") if row.live}
                self._live = MappingProxyType(live)
                self._generation = generation
            self._checked = time.monotonic()
            return self._live

    def switched(self, connection: Connection) -> None:
        """Tell all processes, in the transaction that changes live revisions."""
        put(connection, "meta", {"key": "generation"}, {"value": _generation(connection) + 1})


def _generation(connection: Connection) -> int:
    value: int = rows(connection, "meta", key="generation")[0].value
    return value
