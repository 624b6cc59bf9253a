"""Stand-ins at the model seams, deterministic and fast. Everything else in the tests is real."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from generate.llm import Message, Meter, safe_count
from ingest.parsed import Block, Piece, Recording
from kb.types import Role, Time, Usage

Written = str | Callable[[Message], str]
Scripted = Written | Exception | tuple[Written, Exception]


class FakeEmbedder:
    """Hashed character bigrams: similar texts are near."""

    fingerprint = "fake-bigrams/1"
    dimension = 128
    max_tokens = 512

    def __init__(self) -> None:
        self.calls = 0

    def count_tokens(self, text: str) -> int:
        return 2 + sum(2 if ord(character) > 0x2E80 else 1 for character in text) // 2

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._vectors([text])[0]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        return self._vectors(texts)

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            folded = f" {text.casefold()} "
            for left, right in itertools.pairwise(folded):
                row[zlib.crc32((left + right).encode()) % self.dimension] += 1
            row /= np.linalg.norm(row) or 1
        return rows


class FakeTranscriber:
    """Hears one sentence a second, whatever the sound."""

    fingerprint = "fake-transcriber/1"

    def __init__(self, sentences: Sequence[str] = ("The KV cache is paged.", "Blocks are shared.")) -> None:
        self.sentences = sentences
        self.calls = 0

    def transcribe(self, recording: Recording, on_progress: Callable[[float], None]) -> Iterator[Piece]:
        """One piece a sentence; what is known or was heard before is left out, as a real one does."""
        self.calls += 1
        for number, sentence in enumerate(self.sentences):
            on_progress(number / len(self.sentences))
            said = Time(start_ms=number * 1000, end_ms=number * 1000 + 900)
            known = any(each.start_ms <= said.start_ms and said.end_ms <= each.end_ms for each in recording.known)
            if said.start_ms >= recording.start_ms:
                yield Piece(number * 1000 + 1000, () if known else (Block(sentence, said, Role.SPEECH),))


class FakeRecogniser:
    """Sees the same lines in every picture, one below the other; stands for the engine of `ingest.pages.ocr`."""

    def __init__(self, *lines: tuple[str, float]) -> None:
        self.calls = 0
        self.txts = tuple(text for text, _ in lines)
        self.scores = tuple(score for _, score in lines)
        corners = [[[10, 40 * i], [200, 40 * i], [200, 40 * i + 30], [10, 40 * i + 30]] for i in range(len(lines))]
        self.boxes = np.array(corners) if lines else None

    def __call__(self, pixels: NDArray[np.uint8]) -> FakeRecogniser:
        self.calls += 1
        return self


class ScriptedModel:
    """A language model that replies from a script: texts, errors to raise, or functions of the message.

    A tuple of a text and an error is a reply that ends early; `pieces` is how many characters come at once.
    """

    fingerprint = "scripted/1"
    context_tokens = 8192
    max_tokens = 512

    def __init__(self, *replies: Scripted, pieces: int = 16) -> None:
        self.replies = list(replies)
        self.messages: list[Message] = []
        self.pieces = pieces
        self.closed = 0

    def count_tokens(self, text: str) -> int:
        return safe_count(text)

    def stream(
        self, message: Message, *, schema: Mapping[str, object] | None = None, meter: Meter | None = None
    ) -> Iterator[str]:
        self.messages.append(message)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        text, error = reply if isinstance(reply, tuple) else (reply, None)
        text = text if isinstance(text, str) else text(message)
        try:
            for at in range(0, len(text), self.pieces):
                if meter is not None:
                    meter.check()
                yield text[at : at + self.pieces]
        finally:
            self.closed += 1
        if error is not None:
            raise error
        if meter is not None:
            meter.add(Usage(calls=1, prompt_tokens=len(message.user), completion_tokens=len(text)))

    def complete(
        self, message: Message, *, schema: Mapping[str, object] | None = None, meter: Meter | None = None
    ) -> str:
        return "".join(self.stream(message, schema=schema, meter=meter))
