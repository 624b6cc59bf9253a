"""Vectors that were made before: by text and by the embedder's fingerprint, in one SQLite file."""

from __future__ import annotations

import functools
import hashlib
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import structlog
from numpy.typing import NDArray

from index.embed import Embedder, EmbedderAround

log = structlog.get_logger(__name__)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
"""
_QUESTIONS = 256  # of 2 KB
_BATCH = 500  # keys of one SELECT; SQLite allows 32,766


class CachedEmbedder(EmbedderAround):
    """An embedder that asks the model only for texts it has not seen; safe from any thread and several processes.

    Vectors are kept as float32, so that a remembered vector equals a fresh one to the last bit. A cache that cannot be
    read or written is passed by: it saves time and holds nothing that cannot be made again.
    """

    def __init__(self, embedder: Embedder, path: Path) -> None:
        super().__init__(embedder)
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._asked = functools.lru_cache(_QUESTIONS)(embedder.embed_query)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Remembered while the process lives: an answer searches for its question more than once."""
        return self._asked(text)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        keys = [self._key(text) for text in texts]
        known = self._read(keys)
        unknown = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if unknown:
            fresh = dict(zip(unknown, self._embedder.embed_passages(list(unknown.values())), strict=True))
            self._write(fresh)
            known |= fresh
        if not keys:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.stack([known[key] for key in keys])

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(f"{self.fingerprint}\x1f{text}".encode()).digest()

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        found: dict[bytes, NDArray[np.float32]] = {}

        def select(connection: sqlite3.Connection) -> None:
            for start in range(0, len(keys), _BATCH):
                batch = list(dict.fromkeys(keys[start : start + _BATCH]))
                places = ",".join("?" * len(batch))
                rows = connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({places})", batch)  # noqa: S608
                found.update((key, np.frombuffer(vector, dtype=np.float32)) for key, vector in rows)

        self._run(select)
        return found

    def _write(self, vectors: dict[bytes, NDArray[np.float32]]) -> None:
        rows = [(key, np.asarray(vector, dtype=np.float32).tobytes()) for key, vector in vectors.items()]
        self._run(lambda connection: connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows))

    def _run(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Do `work` in a transaction; without a usable file, nothing. A damaged file is replaced by an empty one."""
        with self._lock:
            try:
                with self._open() as connection:
                    work(connection)
            except (sqlite3.OperationalError, OSError) as error:
                log.warning("embedding_cache_unusable", path=str(self._path), error=str(error))
            except sqlite3.DatabaseError as error:
                log.warning("embedding_cache_damaged", path=str(self._path), error=str(error))
                self._discard()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=30, check_same_thread=False)
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute(_SCHEMA)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _discard(self) -> None:
        self._disconnect()
        for suffix in ("", "-wal", "-shm"):  # a log of the old file must not be played into the new one
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file, which opens again when it is needed again, and the embedder."""
        with self._lock:
            self._disconnect()
        super().close()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Questions(EmbedderAround):
    """The questions of an embedder as passages: a `CachedEmbedder` around it keeps those that are filed for good."""

    @property
    def fingerprint(self) -> str:
        return f"questions of {self._embedder.fingerprint}"

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._embedder.embed_query(text) for text in texts])

    def close(self) -> None:
        """The embedder is borrowed; whoever opened it closes it."""
