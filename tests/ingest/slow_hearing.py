"""A process that hears like a real one, without a model: `python -m tests.ingest.slow_hearing`.

It says a sentence for every second of the recording, and dies where the recording's name tells it to.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator

from ingest.parsed import Block, Piece, Recording
from ingest.recordings.isolated import serve
from ingest.recordings.media import duration_ms
from kb.errors import MissingDependency
from kb.types import Role, Time


class Hearing:
    fingerprint = "slow/1"

    def transcribe(self, recording: Recording, on_progress: Callable[[float], None]) -> Iterator[Piece]:
        print("a library prints")  # noqa: T201 - what is no event must not reach the parent
        if recording.path.stem == "missing":
            raise MissingDependency("no weights", where="here", remedy="Install them")
        last = (duration_ms(recording.path) or 0) // 1000
        dies = re.fullmatch(r"dies-at-(\d+)", recording.path.stem)
        for second in range(recording.start_ms // 1000, last):
            if dies and second == int(dies[1]) and recording.start_ms == 0:
                os.kill(os.getpid(), 9)
            on_progress(second / last)
            said = Time(start_ms=second * 1000, end_ms=second * 1000 + 900)
            yield Piece(second * 1000 + 1000, (Block(f"Second {second} of {os.getpid()}.", said, Role.SPEECH),))
        if recording.path.stem == "waits":
            threading.Event().wait()


if __name__ == "__main__":
    serve(lambda settings: Hearing())
