"""Text to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


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
