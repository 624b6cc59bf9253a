"""How far the work on one file has come, and how long it will take."""

from __future__ import annotations

import time

from api.base import OnProgress
from kb.types import Progress

_TELLING = 2.0  # seconds of work that tell its pace


class Pace:
    """Reports the progress of one file; time is measured in each stage from its first report."""

    def __init__(self, path: str, done: int, total: int, on_progress: OnProgress) -> None:
        self._path = path
        self._done = done
        self._total = total
        self._on_progress = on_progress
        self._stage = ""
        self._begun = (0.0, 0.0)  # the stage's first share, and when it was told

    def __call__(self, stage: str, share: float, *, of: float = 1.0) -> None:
        """`share` of the file is done; the stage ends at the share `of`."""
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._begun = stage, (share, now)
        first, begun = self._begun
        left = None
        if now - begun >= _TELLING and share > first:
            left = round((now - begun) / (share - first) * max(0.0, of - share))
        self._on_progress(
            Progress(done=self._done, total=self._total, path=self._path, stage=stage, share=share, left_s=left)
        )
