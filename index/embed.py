"""Text to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kb.errors import LimitExceeded, UnsafeSettings
from kb.settings import Settings
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


def open_embedder(settings: Settings, cache_db: Path | None) -> Embedder:
    """The embedder that the settings name, centred; what it embeds is remembered in `cache_db`, where one is given.

    Opening is cheap: weights are loaded, and converted on their very first use, when they are needed. Using it raises
    MissingDependency where they are not installed.

    Raises:
        UnsafeSettings: if an endpoint is set without the name of a model there.
    """
    from index.centre import CentredEmbedder

    return CentredEmbedder(_remembering(_named(settings), cache_db))


def open_cross_embedder(settings: Settings, cache_db: Path | None) -> Embedder | None:
    """The second, naturally cross-lingual embedder; None where its package is not installed, or where the settings
    name an embedder of their own, which is then trusted to know both languages."""
    from index.packaged import CrossLingualEmbedder
    from kb.carriers import USE_MULTILINGUAL

    if settings.embed.base_url or settings.embed.model != "packaged" or USE_MULTILINGUAL.carrier is None:
        return None
    return _remembering(CrossLingualEmbedder(settings.cache), cache_db)


def _named(settings: Settings) -> Embedder:
    embed = settings.embed
    if embed.base_url:
        from index.endpoint import EndpointEmbedder

        if embed.model == "packaged":
            raise UnsafeSettings(
                "KB_EMBED_BASE_URL is set, but no model", remedy="name the endpoint's model with KB_EMBED_MODEL"
            )
        return EndpointEmbedder(
            embed.base_url,
            embed.model,
            api_key=embed.api_key.get_secret_value() if embed.api_key else None,
            query_prefix=embed.query_prefix,
            passage_prefix=embed.passage_prefix,
            batch_size=embed.batch_size,
        )
    if embed.model == "packaged":
        from index.packaged import PackagedEmbedder

        return PackagedEmbedder(
            settings.cache, threads=settings.threads, batch_size=embed.batch_size, device=embed.device
        )
    from index.transformer import TransformerEmbedder

    return TransformerEmbedder(
        embed.model,
        query_prefix=embed.query_prefix,
        passage_prefix=embed.passage_prefix,
        threads=settings.threads,
        batch_size=embed.batch_size,
        device=embed.device,
    )


def _remembering(embedder: Embedder, cache_db: Path | None) -> Embedder:
    from index.embed_cache import CachedEmbedder

    return embedder if cache_db is None else CachedEmbedder(embedder, cache_db)


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
