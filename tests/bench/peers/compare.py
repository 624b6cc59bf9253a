"""`make bench-peers`: one table of this product and its peers on the shared corpus and questions.

Peers get the same weights with the same prefixes and as many threads, in environments of their own under `build/peers`.
They take the corpus in one after the other. Then all of them stay, and take turns at blocks of questions, three times
over; a question's time is the median of its three. A number behind the question keeps anyone from remembering it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from eval.cases import Case, load_cases
from eval.judge import folded
from eval.metrics import estimate, percentile, ranking
from kb.settings import Settings
from kb.weights import embedder_folder
from tests.bench.memory import Watch
from tests.bench.peers.protocol import Answered, Found, Ingested

ROOT = Path(__file__).resolve().parents[3]
SHARED = ROOT.parent / "shared"
CASES = ("dev.jsonl", "dev_natural.jsonl")
COMMON = ("torch==2.13.0", "sentence-transformers==6.2.0")
PEERS: dict[str, tuple[str, ...]] = {
    "ours": (),
    "llamaindex": (
        "llama-index-core==0.14.25",
        "llama-index-embeddings-huggingface==0.8.0",
        "llama-index-readers-file==0.7.0",
        "python-pptx",
    ),
    "llamaindex_hybrid": (
        "llama-index-core==0.14.25",
        "llama-index-embeddings-huggingface==0.8.0",
        "llama-index-readers-file==0.7.0",
        "llama-index-vector-stores-qdrant==0.10.4",
        "python-pptx",
    ),
    "haystack_hybrid": ("haystack-ai==3.4.1", "sentence-transformers-haystack", "pypdf", "python-pptx"),
    "txtai_hybrid": ("txtai==9.14.0", "pypdf", "python-pptx"),
}
WARM = [f"What does step {number} of the guide say about 缓存?" for number in range(12)]
BLOCK, PASSES = 8, 3
THREADS = str(os.cpu_count() or 1)
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_WAIT_POLICY": "passive",
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "KB_THREADS"), THREADS),
}
COLUMNS = ["r@1", "r@10", "nDCG@10", "cross r@10", "natural r@1", "natural r@10", "natural cross r@10"]
COLUMNS += ["ingest s", "ingest CPU s", "query p50 ms", "query p95 ms", "query CPU p50 ms", "peak MiB"]


def interpreter(peer: str, packages: tuple[str, ...]) -> Path:
    """The Python of a peer's own environment, made when it is missing."""
    if not packages:
        return Path(sys.executable)
    home = ROOT / "build" / "peers" / peer
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *COMMON, *packages], check=True)
        (home / "ready").touch()
    return python


class Peer:
    """One system in a process of its own, with the corpus taken in."""

    def __init__(self, name: str, model: Path) -> None:
        self.name = name
        command = [str(interpreter(name, PEERS[name])), "-m", f"tests.bench.peers.{name}"]
        self._process = subprocess.Popen(
            [*command, str(SHARED / "corpus"), str(model)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ | ENVIRONMENT,
        )  # fmt: skip
        self._watch = Watch(self._process.pid)
        with self._watch:
            self.ingested = Ingested(*self._heard())
        self.answers: dict[str, list[Answered]] = {}

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def ask(self, texts: dict[str, str]) -> None:
        """Questions by what they are called; what was found is kept under that name."""
        self._stdin.write(json.dumps(list(texts.values())) + "\n")
        self._stdin.flush()
        for name, (hits, wall, cpu) in zip(texts, self._heard(), strict=True):
            self.answers.setdefault(name, []).append(Answered([Found(*hit) for hit in hits], wall, cpu))

    @property
    def peak(self) -> float:
        """MiB at most while the corpus was taken in, children included."""
        return self._watch.peak

    @property
    def _stdin(self) -> IO[str]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _heard(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended with {self._process.wait()}")
        return json.loads(line)


def take_turns(peers: Sequence[Peer], cases: Sequence[Case]) -> None:
    for peer in peers:
        peer.ask({f"warm {number}": text for number, text in enumerate(WARM)})
    for turn in range(PASSES):
        for at in range(0, len(cases), BLOCK):
            block = cases[at : at + BLOCK]
            texts = {case.id: f"{case.question} {turn + 1}" if turn else case.question for case in block}
            shift = (at // BLOCK + turn) % len(peers)
            for peer in [*peers[shift:], *peers[:shift]]:
                peer.ask(texts)


def held(case: Case, hits: Sequence[Found]) -> list[frozenset[int]]:
    return [
        frozenset(
            number
            for number, gold in enumerate(case.quotes)
            if hit.file.endswith("/" + gold.file) and folded(gold.quote) in folded(hit.text)
        )
        for hit in hits
    ]


def row(peer: Peer, cases: Sequence[Case]) -> str:
    """One line of the table."""
    cells = []
    for prefix, metrics in (("dev", ("recall@1", "recall@10", "ndcg@10")), ("nat", ("recall@1", "recall@10"))):
        chosen = [case for case in cases if case.answerable and case.id.startswith(prefix)]
        scores = [ranking(held(case, peer.answers[case.id][0].hits), gold=len(case.gold)) for case in chosen]
        cross = [score["recall@10"] for case, score in zip(chosen, scores, strict=True) if case.cross_lingual]
        cells += [f"{estimate([score[metric] for score in scores]).value:.2f}" for metric in metrics]
        cells.append(f"{estimate(cross).value:.2f}")
    times = [statistics.median(answer.wall for answer in peer.answers[case.id]) for case in cases]
    busy = [statistics.median(answer.cpu for answer in peer.answers[case.id]) for case in cases]
    numbers = (*peer.ingested, percentile(times, 50), percentile(times, 95), percentile(busy, 50), peer.peak)
    return f"| {peer.name} | {' | '.join([*cells, *(f'{number:.0f}' for number in numbers)])} |"


def main() -> None:
    """Print the table; peers named on the command line only, or all."""
    cases = load_cases([SHARED / "eval" / name for name in CASES])
    model = embedder_folder(Settings().cache)
    with ExitStack() as running:
        peers = []
        for name in sys.argv[1:] or PEERS:
            peers.append(running.enter_context(Peer(name, model)))
            sys.stderr.write(f"{name}: ingested in {peers[-1].ingested.wall:.0f} s\n")
        take_turns(peers, cases)
        lines = [f"| system | {' | '.join(COLUMNS)} |", "|---|" + "--:|" * len(COLUMNS)]
        lines += [row(peer, cases) for peer in peers]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
