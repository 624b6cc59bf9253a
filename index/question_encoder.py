"""One text to a vector by the packaged multilingual-e5-small, without PyTorch."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kb.e5 import GRAPH, PIECES
from kb.e5_graph import INPUT, OUTPUT

_MOST_THREADS = 4


class QuestionEncoder:
    """ONNX Runtime and SentencePiece over a prepared folder; loads in a quarter of a second, safe from any thread.

    Args:
        threads: that share the work of a text; 0 for all cores, up to 4: a question has some thirty tokens.
    """

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        from onnxruntime import InferenceSession, SessionOptions
        from sentencepiece import SentencePieceProcessor

        options = SessionOptions()
        options.intra_op_num_threads = threads or min(os.cpu_count() or 1, _MOST_THREADS)
        # Threads that spin while they wait take the cores from whoever works beside, such as another question.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
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
