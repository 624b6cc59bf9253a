"""Any sentence-transformers model, by folder or by name of a hub."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from index.embed import check_lengths, normalised
from kb.errors import MissingDependency

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_HEAD = 1 << 20
_DEFAULT_MAX_TOKENS = 512  # where a model does not say


class TransformerEmbedder:
    """Loads its model on first use. Prefixes given here win over the prompts that the model itself brings.

    `half_words` leaves the table of word embeddings in the file, in float16: see `load`.
    """

    def __init__(
        self,
        model: str,
        *,
        query_prefix: str = "",
        passage_prefix: str = "",
        threads: int = 0,
        batch_size: int = 16,
        device: str = "cpu",
        half_words: bool = False,
    ) -> None:
        self._name = model
        self._prefixes = {"query": query_prefix, "document": passage_prefix}
        self._threads = threads
        self._batch_size = batch_size
        self._device = device
        self._half_words = half_words
        self._lock = threading.Lock()

    @functools.cached_property
    def fingerprint(self) -> str:
        folder = Path(self._name).expanduser()
        if folder.is_dir():
            weights = _fingerprint(folder)
        else:
            weights = str(getattr(self._model[0].auto_model.config, "_commit_hash", None))
        prefixes = " ".join(f"{role}={self._prefix(role)!r}" for role in ("query", "document"))
        return f"{Path(self._name).name}@{weights} {prefixes} normalised"

    @property
    def dimension(self) -> int:
        return int(self._model.get_embedding_dimension() or 0)

    @functools.cached_property
    def max_tokens(self) -> int:
        return int(self._model.max_seq_length or _DEFAULT_MAX_TOKENS)

    def count_tokens(self, text: str) -> int:
        encoded = self._model.tokenizer(f"{self._prefix('document')}{text}".strip(), truncation=False, verbose=False)
        return len(encoded["input_ids"])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        check_lengths(self, [text])
        vector: NDArray[np.float32] = self._encode([text], "query")[0]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        check_lengths(self, texts)
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return self._encode(list(texts), "document")

    def _encode(self, texts: list[str], role: str) -> NDArray[np.float32]:
        with self._lock:  # torch already uses every core, and one forward pass bounds the memory
            rows = self._model.encode(
                texts, prompt=self._prefix(role), batch_size=self._batch_size, show_progress_bar=False
            )
        return normalised(rows)

    def _prefix(self, role: str) -> str:
        return self._prefixes[role] or str(self._model.prompts.get(role, ""))

    @functools.cached_property
    def _model(self) -> SentenceTransformer:
        with self._lock:
            return load(self._name, threads=self._threads, device=self._device, half_words=self._half_words)


def load(name: str, *, threads: int, device: str, half_words: bool = False) -> SentenceTransformer:
    """A sentence-transformers model that computes in float32, quietly.

    With `half_words`, for files in float16: the word embeddings, by far the largest table of a multilingual model,
    stay mapped from the file, and only rows that are looked up become float32. The vectors are the same to the last
    bit, and 380 MB of memory are saved. The network must add something in float32 to those rows, as BERT's does.

    Raises:
        MissingDependency: if it is neither a folder with a model nor can be fetched by its name.
    """
    if threads:
        os.environ.setdefault("OMP_NUM_THREADS", str(threads))  # OpenMP reads it once, when torch is imported
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer

    if threads:
        torch.set_num_threads(threads)
    transformers.utils.logging.set_verbosity_error()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # each try to reach the hub is a line otherwise
    transformers.utils.logging.disable_progress_bar()
    folder = Path(name).expanduser()
    try:
        model = SentenceTransformer(
            str(folder) if folder.is_dir() else name,
            device=device,
            local_files_only=folder.is_dir(),
            model_kwargs={"dtype": torch.float16 if half_words else torch.float32},
        )
    except (OSError, ValueError) as error:
        raise MissingDependency(
            f"the embedding model could not be loaded ({' '.join(str(error).split()).rstrip('.')})",
            where=name,
            remedy="Name a sentence-transformers folder or model with KB_EMBED_MODEL, or `packaged`",
        ) from error
    if half_words:
        words = model[0].auto_model.get_input_embeddings()
        for module in model.modules():
            if module is not words and not any(module.children()):
                module.float()
    return model


def _fingerprint(folder: Path) -> str:
    """A hash over names, sizes and first MiB of the files: cheap, and another training gives another one."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")):
        with path.open("rb") as stream:
            digest.update(f"{path.relative_to(folder)} {path.stat().st_size} ".encode())
            digest.update(stream.read(_HEAD))
    return digest.hexdigest()[:12]
