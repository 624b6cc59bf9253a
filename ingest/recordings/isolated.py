"""Long recordings are heard in a process of their own, so that what a model holds on to ends with the recording.

The child (`python -m ingest.recordings.isolated`) reads one job as a line of JSON and answers with lines of JSON:
shares of the recording, pieces, and an error if there is one. It ends when its input does, and so with its parent,
however that ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import FileIO

from pydantic import BaseModel

from ingest.parsed import Piece, Recording, Transcriber
from ingest.recordings.media import duration_ms
from kb import errors
from kb.errors import KBError, UnreadableSource
from kb.settings import Settings, SpeechSettings
from kb.text import printable

LONG_MS = 10 * 60_000  # a shorter recording is heard sooner than a process starts and loads a model


class _Job(BaseModel):
    cache: str
    threads: int
    speech: SpeechSettings
    recording: Recording


class _Event(BaseModel):
    share: float | None = None
    piece: Piece | None = None
    error: tuple[str, str, str, str] | None = None  # type, what, where, remedy


class IsolatedTranscriber:
    """A `Transcriber`: `inner` hears short recordings, a process for each hears long ones.

    Args:
        command: starts a process that `serve`s.
    """

    def __init__(
        self,
        inner: Transcriber,
        settings: Settings,
        *,
        command: Sequence[str] = (sys.executable, "-m", "ingest.recordings.isolated"),
    ) -> None:
        self._inner = inner
        self._settings = settings
        self._command = command

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    def transcribe(self, recording: Recording, on_progress: Callable[[float], None]) -> Iterator[Piece]:
        """See `Transcriber`.

        Raises:
            UnreadableSource: also if the process ends before the recording does.
        """
        length = duration_ms(recording.path)
        if length is not None and length < LONG_MS:
            yield from self._inner.transcribe(recording, on_progress)
            return
        settings = self._settings
        job = _Job(cache=str(settings.cache), threads=settings.threads, speech=settings.speech, recording=recording)
        # A session of its own: Ctrl-C is for the parent to handle.
        with subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        ) as process:
            try:
                yield from self._events(process, job, on_progress)
            finally:
                process.kill()

    def _events(
        self, process: subprocess.Popen[bytes], job: _Job, on_progress: Callable[[float], None]
    ) -> Iterator[Piece]:
        assert process.stdout is not None
        has_job = _gave(process, job)
        for line in process.stdout:
            event = _Event.model_validate_json(line)
            if event.share is not None:
                on_progress(event.share)
            if event.piece is not None:
                yield event.piece
            if event.error is not None:
                kind, what, where, remedy = event.error
                raise getattr(errors, kind, KBError)(what, where=where, remedy=remedy)
        if (code := process.wait()) or not has_job:
            raise UnreadableSource(
                f"the process that heard it ended with {code}",
                where=printable(str(job.recording.path)),
                remedy="What it had heard is kept; add the recording again to go on, with more memory free",
            )


def _gave(process: subprocess.Popen[bytes], job: _Job) -> bool:
    """Whether the child took the job: one that is dead by then cannot, and how it died is what there is to tell."""
    assert process.stdin is not None
    try:
        process.stdin.write(job.model_dump_json().encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        with suppress(BrokenPipeError):  # it tries once more to write what is left
            process.stdin.close()
        return False
    return True


def serve(transcriber_of: Callable[[Settings], Transcriber]) -> None:
    """The child: hear the recording of the job that comes from the standard input."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what libraries print is no event
    orders = os.fdopen(0, "rb", buffering=0, closefd=False)  # a buffered one has a lock, at which Python would not end
    job = _Job.model_validate_json(orders.readline())
    threading.Thread(target=_end_with, args=(orders,), daemon=True).start()

    def tell(event: _Event) -> None:
        out.write(event.model_dump_json(exclude_none=True).encode() + b"\n")

    settings = Settings.model_validate({"cache": job.cache, "threads": job.threads, "speech": job.speech})
    try:
        pieces = transcriber_of(settings).transcribe(job.recording, lambda share: tell(_Event(share=share)))
        for piece in pieces:
            tell(_Event(piece=piece))
    except KBError as error:
        tell(_Event(error=(type(error).__name__, error.what, error.where, error.remedy)))


def _end_with(stream: FileIO) -> None:
    stream.read()
    os._exit(1)


def main() -> None:
    """Serve with Whisper, a worker for each core."""
    from ingest.recordings.whisper import WhisperTranscriber

    serve(lambda settings: WhisperTranscriber(settings, workers=settings.threads or os.cpu_count() or 1))


if __name__ == "__main__":
    main()
