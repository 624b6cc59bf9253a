"""The memory of a process and its descendants, watched from outside."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from types import TracebackType

_INTERVAL = 0.25  # seconds between two looks
_PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


def resident(pid: int) -> float:
    """MiB that a process and its descendants hold; pages that processes share are counted once (Linux, PSS)."""
    return sum(_share(each) for each in _family(pid))


class Watch:
    """Looks at a process until it is left; `peak` is the most that was seen, in MiB."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.peak = 0.0

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._left.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._left.wait(_INTERVAL):
            self.peak = max(self.peak, resident(self._pid))


def _family(pid: int) -> list[int]:
    try:
        found = [child for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]
    except OSError:  # it has ended
        return [pid]
    return [pid, *(each for child in found for each in _family(int(child)))]


def _share(pid: int) -> float:
    try:
        found = _PSS.search(Path(f"/proc/{pid}/smaps_rollup").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0
