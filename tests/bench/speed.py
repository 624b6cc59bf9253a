"""`make bench`: speed, memory and recall on the shared corpus, as one Markdown table.

Everything runs in one go on one machine, so that ratios mean something; absolute times depend on the machine.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.bench.answers import own_times
from tests.bench.memory import Watch

if TYPE_CHECKING:
    from index.embed import Embedder

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
HOME = ROOT / "build" / "bench"
LIBRARY = HOME / "library"
KB = Path(sys.executable).with_name("kb")
CHUNKS = 2000


class Run(NamedTuple):
    """One finished process: seconds of wall and CPU time, and MiB at its peak, its children included."""

    wall: float
    cpu: float
    peak: float


def run(*arguments: str, home: Path = LIBRARY) -> Run:
    started = time.perf_counter()
    process = subprocess.Popen([str(KB), "--home", str(home), *arguments], stdout=subprocess.DEVNULL)
    with Watch(process.pid) as watch:
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"kb {' '.join(arguments)} ended with {process.returncode}")
    return Run(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, watch.peak)


def median(measure: Callable[[], float], times: int) -> float:
    return statistics.median(measure() for _ in range(times))


def questions() -> list[str]:
    lines = (SHARED / "eval" / "dev.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]


class Remembering:
    """An embedder whose queries are known: what remains is the search itself."""

    def __init__(self, embedder: Embedder, texts: Sequence[str]) -> None:
        self.fingerprint = embedder.fingerprint
        self.known = {text: embedder.embed_query(text) for text in texts}

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.known[text]


class Searching(NamedTuple):
    """Chunks in the library, and milliseconds: percentiles 50 and 95 of a search, and medians of its parts."""

    chunks: int
    median: float
    p95: float
    bare: float
    embedding: float


def in_process() -> Searching:
    from api.models import open_models, open_store
    from index.catalog import Catalog
    from index.library import Library
    from index.search import Searcher
    from kb.settings import Settings
    from kb.types import Query

    settings = Settings(home=LIBRARY)
    models = open_models(settings)
    # Each text is asked once of each: embedders remember the questions of a process.
    warm, asked, embedded = ([f"{text} {number}" for text in questions()] for number in range(3))

    def timed(work: Callable[[str], object], texts: Sequence[str]) -> list[float]:
        samples = []
        for text in texts:
            started = time.perf_counter()
            work(text)
            samples.append((time.perf_counter() - started) * 1000)
        return sorted(samples)

    with Library(LIBRARY, open_store(settings), Catalog.in_folder(LIBRARY), models.recipe) as library:
        chunks = sum(entry.chunks for entry in library.catalog.entries())
        whole = Searcher(library, models.embedders)
        timed(lambda text: whole.search(Query(text=text)), warm)
        samples = timed(lambda text: whole.search(Query(text=text)), asked)
        known = {name: Remembering(embedder, asked) for name, embedder in models.embedders.items()}
        bare = Searcher(library, known)  # type: ignore[arg-type]
        without = timed(lambda text: bare.search(Query(text=text)), asked)
        embedding = timed(lambda text: [one.embed_query(text) for one in models.embedders.values()], embedded)
    p95 = samples[len(samples) * 95 // 100]
    return Searching(chunks, statistics.median(samples), p95, statistics.median(without), statistics.median(embedding))


def filled_up() -> None:
    """Bring the library to `CHUNKS` with copies of its notes; known texts cost no model call."""
    for number in range(1, 4):
        copy = HOME / "copies" / f"copy-{number}"
        for name in ("vllm_docs_0.33.0", "ai_fundermentals"):
            shutil.copytree(SHARED / "corpus" / name, copy / name, dirs_exist_ok=True)
    run("add", str(HOME / "copies"))


def recall() -> str:
    out = HOME / "eval.json"
    cases = str(SHARED / "eval" / "dev.jsonl")
    run("eval", "--cases", cases, "--corpus", str(SHARED / "corpus"), "--json", str(out), "--no-answers")
    cell = json.loads(out.read_text("utf-8"))["groups"]["all"]["recall@10"]
    return f"{cell['value']:.3f} ({cell['low']:.2f}–{cell['high']:.2f}, n {cell['n']})"


def main() -> None:
    if not SHARED.is_dir():
        raise SystemExit("The shared corpus does not lie beside this checkout; there is nothing to measure on.")
    shutil.rmtree(HOME, ignore_errors=True)
    rows: list[tuple[str, str, str]] = []

    def row(what: str, value: str, target: str) -> None:
        rows.append((what, value, target))
        sys.stderr.write(f"{what}: {value}\n")

    row("`kb --help`, CPU", f"{median(lambda: run('--help').cpu, 7):.2f} s", "< 0.3 s")
    first = run("add", str(SHARED / "corpus"))
    row("corpus from nothing, wall", f"{first.wall:.0f} s", "")
    row("corpus from nothing, CPU", f"{first.cpu:.0f} s", "")
    row("corpus from nothing, peak memory", f"{first.peak:.0f} MiB", "< 2,560 MiB")
    start = median(lambda: run("ls").wall, 5)
    again = median(lambda: run("add", str(SHARED / "corpus")).wall, 3)
    row("second run beyond start-up (`kb ls`)", f"{again - start:.2f} s", "≤ 2 s")
    row("second run / first run", f"1 : {first.wall / again:.0f}", "")
    asks = [run("search", "prefix caching") for _ in range(5)]
    row("`kb search`, whole process, wall", f"{statistics.median(ask.wall for ask in asks):.2f} s", "< 1.2 s")
    row("`kb search`, whole process, CPU", f"{statistics.median(ask.cpu for ask in asks):.2f} s", "")
    row("`kb search`, whole process, memory", f"{statistics.median(ask.peak for ask in asks):.0f} MiB", "")
    row("recall@10 on the development questions", recall(), "≥ 0.90")
    filled_up()
    took = in_process()
    row(f"search in a running process, {took.chunks:,} chunks, p50", f"{took.median:.1f} ms", "< 20 ms")
    row("… p95", f"{took.p95:.1f} ms", "half of the best peer's")
    row("… without embedding, p50", f"{took.bare:.1f} ms", "< 10 ms")
    row("… embedding : searching", f"{took.embedding / took.bare:.1f} : 1", "")
    quoted, written = own_times(LIBRARY, questions())
    row("answer, our own CPU without search, median and p95", f"{quoted.median:.0f} and {quoted.p95:.0f} ms", "")
    row("… with a model that takes no time", f"{written.median:.0f} and {written.p95:.0f} ms", "p95 ≤ 30 ms")
    sys.stdout.write("| what | measured | target |\n|---|--:|--:|\n")
    sys.stdout.writelines(f"| {what} | {value} | {target} |\n" for what, value, target in rows)


if __name__ == "__main__":
    main()
