"""Transcripts that were made before: by the recording's content, the transcriber and what it was told."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ingest.parsed import Piece, Recording, Transcriber

_PIECE: TypeAdapter[Piece] = TypeAdapter(Piece)
_END = b"null\n"  # behind the last piece of a whole transcript


class RememberedTranscriber:
    """A `Transcriber` that asks `inner` only once for the same sound.

    Every piece is kept as soon as it was heard, one a line: a run that was stopped goes on behind the last whole line.
    """

    def __init__(self, inner: Transcriber, folder: Path) -> None:
        self._inner = inner
        self._folder = folder

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    def transcribe(self, recording: Recording, on_progress: Callable[[float], None]) -> Iterator[Piece]:
        kept = self._folder / f"{self._key(recording)}.jsonl"
        pieces, is_whole = _read(kept)
        yield from pieces
        if not is_whole:
            rest = replace(recording, start_ms=pieces[-1].end_ms) if pieces else recording
            yield from self._hear(rest, kept, on_progress)
        on_progress(1.0)

    def _hear(self, recording: Recording, kept: Path, on_progress: Callable[[float], None]) -> Iterator[Piece]:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with kept.open("ab") as file:
            for piece in self._inner.transcribe(recording, on_progress):
                file.write(_PIECE.dump_json(piece) + b"\n")
                file.flush()
                yield piece
            file.write(_END)

    def _key(self, recording: Recording) -> str:
        with recording.path.open("rb") as stream:
            sound = hashlib.file_digest(stream, "sha256").hexdigest()
        known = (str(each) for each in recording.known)
        told = "\x1f".join((sound, self.fingerprint, recording.lang or "", *recording.hotwords, "", *known))
        return hashlib.sha256(told.encode()).hexdigest()


def _read(path: Path) -> tuple[list[Piece], bool]:
    """The pieces that were kept, and whether they are all. What stands behind the last whole line is cut off."""
    pieces: list[Piece] = []
    good = 0
    try:
        with path.open("rb") as file:
            for line in file:
                if line == _END:
                    return pieces, True
                if not line.endswith(b"\n"):
                    break
                pieces.append(_PIECE.validate_json(line))
                good += len(line)
    except FileNotFoundError:
        return [], False
    except ValidationError:
        pass
    os.truncate(path, good)
    return pieces, False
