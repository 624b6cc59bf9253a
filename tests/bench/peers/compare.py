"""`make bench-peers`: one table of this product and its peers on the shared corpus and questions.

Peers get the same weights with the same prefixes, in environments of their own under `build/peers`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from eval.cases import Case, load_cases
from eval.judge import folded
from eval.metrics import estimate, percentile, ranking
from kb.settings import Settings
from kb.weights import embedder_folder

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


def measured(peer: str, packages: tuple[str, ...], model: Path) -> dict[str, object]:
    out = ROOT / "build" / "peers" / f"{peer}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    offline = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "HAYSTACK_TELEMETRY_ENABLED": "False"}
    command = [
        str(interpreter(peer, packages)),
        "-m",
        f"tests.bench.peers.{peer}",
        str(SHARED / "corpus"),
        str(model),
        str(out),
    ]
    subprocess.run(
        [*command, *(str(SHARED / "eval" / name) for name in CASES)], check=True, cwd=ROOT, env=os.environ | offline
    )
    result: dict[str, object] = json.loads(out.read_text("utf-8"))
    return result


def held(case: Case, hits: Sequence[dict[str, str]]) -> list[frozenset[int]]:
    return [
        frozenset(
            number
            for number, gold in enumerate(case.quotes)
            if hit["file"].endswith("/" + gold.file) and folded(gold.quote) in folded(hit["text"])
        )
        for hit in hits
    ]


def row(peer: str, result: dict[str, object], cases: dict[str, Case]) -> str:
    """One line of the table."""
    answers = {answer["id"]: answer for answer in result["answers"]}  # type: ignore[attr-defined]
    cells = []
    for prefix, metrics in (("dev", ("recall@1", "recall@10", "ndcg@10")), ("nat", ("recall@1", "recall@10"))):
        chosen = [case for case in cases.values() if case.answerable and case.id.startswith(prefix)]
        scores = [ranking(held(case, answers[case.id]["hits"]), gold=len(case.gold)) for case in chosen]
        cross = [score["recall@10"] for case, score in zip(chosen, scores, strict=True) if case.cross_lingual]
        cells += [f"{estimate([score[metric] for score in scores]).value:.2f}" for metric in metrics]
        cells.append(f"{estimate(cross).value:.2f}")
    times = [answer["ms"] for answer in answers.values()]
    cells += [f"{result['ingest_s']:.0f}", f"{percentile(times, 50):.0f}", f"{percentile(times, 95):.0f}"]
    return f"| {peer} | {' | '.join(cells)} | {result['peak_mb']:.0f} |"


def main() -> None:
    """Print the table; peers named on the command line only, or all."""
    cases = {case.id: case for case in load_cases([SHARED / "eval" / name for name in CASES])}
    model = embedder_folder(Settings().cache)
    columns = ["r@1", "r@10", "nDCG@10", "cross r@10", "natural r@1", "natural r@10", "natural cross r@10"]
    columns += ["ingest s", "query p50 ms", "query p95 ms", "peak MiB"]
    lines = [f"| system | {' | '.join(columns)} |", "|---|" + "--:|" * len(columns)]
    for peer in sys.argv[1:] or PEERS:
        lines.append(row(peer, measured(peer, PEERS[peer], model), cases))
        sys.stderr.write(f"{lines[-1]}\n")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
