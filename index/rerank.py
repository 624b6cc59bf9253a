"""A second look at the best candidates by a model that reads question and passage together.

Only the order is used. Scores of such models are logits for one and probabilities for another, so a threshold or a sum
of them means nothing; the candidates keep the fused scores, handed out anew in the new order.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from index.fusion import Fused
from kb.errors import MissingDependency

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

_QUESTION = 0.5  # of what the model reads is the most that the question may take
_READS = 512  # tokens, where the model does not say


class Reranker(Protocol):
    """Orders passages by how well they answer a question. Thread-safe."""

    def order(self, question: str, passages: Sequence[str]) -> Sequence[int]:
        """Positions in `passages`, best first; what is not named keeps its place behind them."""
        ...


def rerank(fused: Sequence[Fused], question: str, reranker: Reranker, depth: int) -> list[Fused]:
    """The candidates with the best `depth` in the reranker's order, and the scores in the places they had."""
    best, rest = list(fused[:depth]), list(fused[depth:])
    named = [at for at in dict.fromkeys(reranker.order(question, _texts(best))) if 0 <= at < len(best)]
    order = named + [at for at in range(len(best)) if at not in set(named)]
    return [best[at]._replace(score=place.score) for at, place in zip(order, best, strict=True)] + rest


def _texts(fused: Sequence[Fused]) -> list[str]:
    return [one.found.chunk.full_text for one in fused]


class CrossEncoderReranker:
    """A cross-encoder of sentence-transformers, by folder or by name; loaded at the first question.

    A passage that is longer than the model reads is read in windows that overlap by half, and is as good as its best
    one: cutting it would lose its tail.
    """

    def __init__(self, model: str, *, device: str = "cpu", batch_size: int = 16) -> None:
        self._name = model
        self._device = device
        self._batch_size = batch_size
        self._lock = threading.Lock()  # tokenizers change their truncation in place

    def order(self, question: str, passages: Sequence[str]) -> Sequence[int]:
        """As `Reranker.order`.

        Raises:
            MissingDependency: if there is no such model, or it cannot be loaded.
        """
        if not passages:
            return []
        with self._lock:
            question = self._cut(question)
            windows = [self._windows(question, passage) for passage in passages]
            pairs = [(question, window) for each in windows for window in each]
            scores = np.asarray(self._model.predict(pairs, batch_size=self._batch_size, show_progress_bar=False))
        relevance = scores.reshape(len(pairs), -1)[:, -1]  # of two classes, the last one is `relevant`
        starts = np.cumsum([0, *(len(each) for each in windows[:-1])])
        best = np.maximum.reduceat(relevance, starts)
        return [int(at) for at in np.argsort(-best, kind="stable")]

    def _cut(self, question: str) -> str:
        spans = self._tokens(question)
        most = int(_QUESTION * self._longest)
        return question if len(spans) <= most else question[: spans[most - 1][1]]

    def _windows(self, question: str, passage: str) -> list[str]:
        spans = self._tokens(passage)
        special = self._model.tokenizer.num_special_tokens_to_add(pair=True)
        size = max(1, self._longest - len(self._tokens(question)) - special)
        if len(spans) <= size:
            return [passage]
        starts = range(0, max(1, len(spans) - size // 2), max(1, size // 2))
        return [passage[spans[at][0] : spans[min(at + size, len(spans)) - 1][1]] for at in starts]

    def _tokens(self, text: str) -> list[tuple[int, int]]:
        """Where each token stands in `text`."""
        offsets = self._model.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return [tuple(span) for span in offsets["offset_mapping"]]

    @property
    def _longest(self) -> int:
        return int(self._model.max_seq_length or _READS)

    @cached_property
    def _model(self) -> CrossEncoder:
        from sentence_transformers import CrossEncoder

        try:
            return CrossEncoder(self._name, device=self._device)
        except (OSError, ValueError) as error:
            raise MissingDependency(
                f"the reranker cannot be loaded: {error}",
                where=self._name,
                remedy="Set KB_RERANK_MODEL to a folder or name of a cross-encoder, or leave it unset",
            ) from error
