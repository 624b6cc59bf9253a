"""The embedders that the settings name."""

from __future__ import annotations

from pathlib import Path

from index.embed import Embedder
from kb.errors import UnsafeSettings
from kb.settings import Settings


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
