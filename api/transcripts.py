"""Transcripts that were made before: by the recording's content, the transcriber and what it was told."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ingest.parsed import Block, Transcriber
from kb.types import Dropped, Lang

_TRANSCRIPT: TypeAdapter[list[Block | Dropped]] = TypeAdapter(list[Block | Dropped])


class RememberedTranscriber:
    """A `Transcriber` that asks `inner` only once for the same sound; a transcript is kept when it is whole.

    A cached file that cannot be read is made again.
    """

    def __init__(self, inner: Transcriber, folder: Path) -> None:
        self._inner = inner
        self._folder = folder

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    def transcribe(
        self, path: Path, *, lang: Lang | None, hotwords: tuple[str, ...], on_progress: Callable[[float], None]
    ) -> Iterator[Block | Dropped]:
        with path.open("rb") as stream:
            sound = hashlib.file_digest(stream, "sha256").hexdigest()
        told = "\x1f".join((sound, self.fingerprint, lang or "", *hotwords))
        kept = self._folder / f"{hashlib.sha256(told.encode()).hexdigest()}.json"
        transcript = _read(kept)
        if transcript is None:
            transcript = list(self._inner.transcribe(path, lang=lang, hotwords=hotwords, on_progress=on_progress))
            _write(kept, transcript)
        on_progress(1.0)
        yield from transcript


def _read(path: Path) -> list[Block | Dropped] | None:
    try:
        return _TRANSCRIPT.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _write(path: Path, transcript: list[Block | Dropped]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(_TRANSCRIPT.dump_json(transcript))
    Path(file.name).replace(path)
