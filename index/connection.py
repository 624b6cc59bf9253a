"""The connection to a Qdrant server, made at first use; its errors become ours."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from kb.errors import KBError, MissingDependency

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

_SECONDS = 60  # an upsert waits until the server has written it


class Connection:
    """A server or cluster by URL, or `:memory:`: the client's local mode, in this process and gone with it.

    `where` is what messages call the place.
    """

    def __init__(self, url: str, *, api_key: str | None, where: str) -> None:
        self.url = url
        self.local = url == ":memory:"
        self._where = where
        self._api_key = api_key
        # The client's local mode is plain Python over shared arrays, so there a reader must not meet a writer.
        self._guard = threading.RLock() if self.local else nullcontext()
        self._client: QdrantClient | None = None

    @contextmanager
    def client(self) -> Iterator[QdrantClient]:
        """Raises:
        MissingDependency: if the server does not answer.
        KBError: if it refuses, with its reason.
        """
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        with self._guard:
            if self._client is None:
                self._client = self._connect()
            try:
                yield self._client
            except ResponseHandlingException as error:
                raise MissingDependency(
                    f"the Qdrant server does not answer ({error})",
                    where=self.url,
                    remedy="Start it, or unset KB_QDRANT_URL to use the embedded index",
                ) from error
            except UnexpectedResponse as error:
                raise KBError(
                    f"the Qdrant server refused ({error.status_code} {error.content.decode(errors='replace')[:300]})",
                    where=self._where,
                    remedy="Check KB_QDRANT_URL, KB_QDRANT_API_KEY and the server's log",
                ) from error

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _connect(self) -> QdrantClient:
        from qdrant_client import QdrantClient

        if self.local:
            return QdrantClient(location=self.url)
        return QdrantClient(url=self.url, api_key=self._api_key, timeout=_SECONDS, check_compatibility=False)
