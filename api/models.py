"""The models of one library, and what follows from them: chunks, vectors, the recipe of the index.

`open_models` and `open_store` are the only places that name concrete models and engines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from index.embed import CROSS, DENSE, Closeable, Embedder
from index.library import Vectors
from index.sparse import FINGERPRINT as LEXICAL
from index.sparse import document_vector
from index.store import IndexRecipe, Store
from ingest.chunking import chunk
from ingest.parsed import Transcriber
from kb.settings import Settings
from kb.text import stable_id
from kb.types import Chunk, Document

if TYPE_CHECKING:
    from generate.llm import LanguageModel
    from generate.query_translation import QueryTranslator
    from index.fusion import FusionWeights
    from index.rerank import Reranker
    from index.search import Index, Searcher


@dataclass(frozen=True)
class Models:
    """`embedder` fills the list `dense`, `cross` the list `cross` where there is one; `transcriber` hears recordings.

    `llm` writes answers; None for the one that the settings name, which may be none at all.
    """

    settings: Settings
    embedder: Embedder
    transcriber: Transcriber
    cross: Embedder | None = None
    llm: LanguageModel | None = None

    @property
    def embedders(self) -> dict[str, Embedder]:
        return {DENSE: self.embedder} | ({CROSS: self.cross} if self.cross else {})

    @property
    def remembered(self) -> Path:
        """The file that keeps vectors, by text and embedder."""
        return embedding_cache(self.settings)

    @cached_property
    def language_model(self) -> LanguageModel | None:
        """What writes answers; None for extractive ones."""
        if self.llm is not None or self.settings.llm.base_url is None:
            return self.llm
        from generate.endpoint import connect
        from generate.remember import RememberingModel

        model = connect(self.settings.llm)
        recipe = stable_id("replies", self.settings.llm.base_url, model.fingerprint)
        return RememberingModel(model, self.settings.home / "cache" / "replies", recipe)

    @property
    def weights(self) -> FusionWeights:
        """What each list counts: as it was fitted for this library and these embedders, else the default."""
        from index.fitted import recall_weights
        from index.search import default_weights

        return recall_weights(self.settings.home, self.embedders) or default_weights(self.embedders)

    @cached_property
    def translator(self) -> QueryTranslator | None:
        """What puts questions into the other language; None where no endpoint is set, or nobody would wait for it."""
        llm = self.settings.llm
        if llm.base_url is None or not llm.translate_seconds or self.language_model is None:
            return None
        from generate.query_translation import QueryTranslator

        return QueryTranslator(self.language_model, seconds=llm.translate_seconds)

    @cached_property
    def reranker(self) -> Reranker | None:
        """What orders the best candidates anew; None where the settings name no model."""
        if self.settings.rerank.model is None:
            return None
        from index.rerank import CrossEncoderReranker

        return CrossEncoderReranker(self.settings.rerank.model, device=self.settings.rerank.device)

    def searcher(self, index: Index, weights: FusionWeights | None = None) -> Searcher:
        """What finds in `index`, by the weights that are kept for it where none are given."""
        from index.search import Searcher

        return Searcher(
            index,
            self.embedders,
            translate=self.translator,
            reranker=self.reranker,
            rerank_depth=self.settings.rerank.depth,
            weights=weights or self.weights,
        )

    @property
    def recipe(self) -> IndexRecipe:
        models = " | ".join(f"{name}: {embedder.fingerprint}" for name, embedder in self.embedders.items())
        fingerprint = f"{models} | lexical: {LEXICAL} | chunks: {chunk.RECIPE} {self._budget}"
        return IndexRecipe(fingerprint, {name: embedder.dimension for name, embedder in self.embedders.items()})

    def split(self, document: Document) -> Sequence[Chunk]:
        return chunk.split(document, count_tokens=self.embedder.count_tokens, max_tokens=self._budget)

    def embed(self, chunks: Sequence[Chunk]) -> Sequence[Vectors]:
        texts = [part.full_text for part in chunks]
        rows = {name: embedder.embed_passages(texts) for name, embedder in self.embedders.items()}
        return [
            Vectors({name: rows[name][at] for name in rows}, document_vector(part)) for at, part in enumerate(chunks)
        ]

    def close(self) -> None:
        """Let go of the files and connections that the models hold; none is opened for that."""
        for model in (*self.embedders.values(), self.__dict__.get("language_model", self.llm)):
            if isinstance(model, Closeable):
                model.close()

    @property
    def _budget(self) -> int:
        return min(self.settings.ingest.chunk_tokens, self.embedder.max_tokens)


def embedding_cache(settings: Settings) -> Path:
    return settings.home / "cache" / "embeddings.db"


def open_models(settings: Settings) -> Models:
    """The models that the settings name; each loads when it is first used.

    Raises:
        MissingDependency: if the packaged weights are asked for and not installed.
        UnsafeSettings: if an endpoint is set without the name of a model there.
    """
    from index.embedders import open_cross_embedder, open_embedder
    from ingest.recordings.isolated import IsolatedTranscriber
    from ingest.recordings.whisper import WhisperTranscriber

    remembered = embedding_cache(settings)
    return Models(
        settings,
        embedder=open_embedder(settings, remembered),
        cross=open_cross_embedder(settings, remembered),
        transcriber=IsolatedTranscriber(WhisperTranscriber(settings), settings),
    )


def open_store(settings: Settings) -> Store:
    """The engine that the settings name: a Qdrant server by URL, or the embedded one in the library's folder."""
    qdrant = settings.qdrant
    if qdrant.url is None:
        from index.edge import EdgeStore

        return EdgeStore(settings.home / "index")
    from index.client import QdrantStore

    key = qdrant.api_key.get_secret_value() if qdrant.api_key else None
    return QdrantStore(qdrant.url, collection=qdrant.collection, api_key=key)
