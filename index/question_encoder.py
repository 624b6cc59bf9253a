"""One text to a vector by the packaged multilingual-e5-small, without PyTorch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kb.e5 import GRAPH, PIECES
from kb.e5_graph import INPUT, OUTPUT


class QuestionEncoder:
    """ONNX Runtime and SentencePiece over a prepared folder; loads in a quarter of a second, safe from any thread.

    One thread a question: it has some thirty tokens, and a second thread takes as long to wake as it saves.
    """

    def __init__(self, folder: Path) -> None:
        from onnxruntime import InferenceSession, SessionOptions
        from sentencepiece import SentencePieceProcessor

        options = SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3  # errors alone
        self._session = InferenceSession(folder / GRAPH, options, providers=["CPUExecutionProvider"])
        self._pieces = SentencePieceProcessor(model_file=str(folder / PIECES))

    def tokens(self, text: str) -> list[int]:
        """Token ids, the special ones included."""
        ids: list[int] = self._pieces.encode(text, add_bos=True, add_eos=True)
        return ids

    def encode(self, text: str) -> NDArray[np.float32]:
        """Shape `(384,)`, not normalised; `text` has its prefix and at most 512 tokens."""
        (vectors,) = self._session.run([OUTPUT], {INPUT: np.array([self.tokens(text)])})
        vector: NDArray[np.float32] = vectors[0]
        return vector
