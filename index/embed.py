"""Text to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kb.errors import LimitExceeded
from kb.text import HAN

DENSE = "dense"  # the list of the embedder that the settings name
CROSS = "cross"  # the list of the second embedder, whose vectors meet across languages


class Embedder(Protocol):
    """An embedding model with its facts. Queries and passages are different calls."""

    @property
    def fingerprint(self) -> str:
        """Names model, weights, prefixes and normalisation: the same fingerprint gives the same vectors."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int: ...

    def count_tokens(self, text: str) -> int:
        """Tokens that `text` takes as a passage, the prefix and special tokens included."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Shape `(dimension,)`, length 1."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape `(len(texts), dimension)`, rows of length 1.

        Raises:
            LimitExceeded: if a text has more than `max_tokens` tokens; nothing is cut silently.
        """
        ...


@runtime_checkable
class Closeable(Protocol):
    """What holds a file or connections open; embedders and language models may be one."""

    def close(self) -> None: ...


class EmbedderAround:
    """An embedder that stands around another one and passes on what it does not change."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._embedder.embed_query(text)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embedder.embed_passages(texts)

    def close(self) -> None:
        if isinstance(self._embedder, Closeable):
            self._embedder.close()


def check_lengths(embedder: Embedder, texts: Sequence[str]) -> None:
    """Raises:
    LimitExceeded: if a text has more tokens than the model reads.
    """
    for text in texts:
        # A token covers at least one character, so a short text needs no counting.
        if len(text) + 16 <= embedder.max_tokens:
            continue
        tokens = embedder.count_tokens(text)
        if tokens > embedder.max_tokens:
            raise LimitExceeded(
                f"a text of {tokens} tokens is longer than the {embedder.max_tokens} that the embedder reads",
                where=f"{text[:60]!r}…",
                remedy="lower KB_INGEST_CHUNK_TOKENS",
            )


def normalised(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    """Rows of length 1, in float32; a row of zeros stays one."""
    plain = np.asarray(rows, dtype=np.float32)
    scaled: NDArray[np.float32] = plain / np.maximum(np.linalg.norm(plain, axis=-1, keepdims=True), 1e-12)
    return scaled


def estimate_tokens(text: str) -> int:
    """Where a tokenizer is unknown, a count on the safe side: 1.5 a hanzi, 0.4 any other character, two specials."""
    hanzi = len(HAN.findall(text))
    return 2 + int(1.5 * hanzi + 0.4 * (len(text) - hanzi))
