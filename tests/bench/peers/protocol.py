"""What a peer's script reads and writes. Standard library only: it is imported in the peers' own environments."""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

SUFFIXES = (".md", ".txt", ".srt", ".po", ".pdf", ".pptx")
TOP = 20
QUERY_PREFIX, PASSAGE_PREFIX = "query: ", "passage: "


class Found(NamedTuple):
    """A retrieved text and the path of its file."""

    file: str
    text: str


Search = Callable[[str], Iterable[Found]]
Ingest = Callable[[list[Path], str], Search]


def files(corpus: Path) -> list[Path]:
    return sorted(path for path in corpus.rglob("*") if path.suffix in SUFFIXES)


def measure(ingest: Ingest) -> None:
    """Run one peer: `SCRIPT CORPUS MODEL OUT CASES…`. `ingest` takes files and the model's folder."""
    parser = argparse.ArgumentParser()
    for name in ("corpus", "model", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("cases", type=Path, nargs="+")
    given = parser.parse_args()
    lines = [line for path in given.cases for line in path.read_text("utf-8").splitlines() if line.strip()]
    questions = {case["id"]: case["question"] for case in map(json.loads, lines)}
    started = time.perf_counter()
    search = ingest(files(given.corpus), str(given.model))
    ingest_s = time.perf_counter() - started
    list(search("warm up"))
    answers = []
    for identity, question in questions.items():
        started = time.perf_counter()
        found = list(search(question))
        ms = (time.perf_counter() - started) * 1000
        answers.append({"id": identity, "ms": ms, "hits": [hit._asdict() for hit in found]})
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    given.out.write_text(json.dumps({"ingest_s": ingest_s, "peak_mb": peak_mb, "answers": answers}), "utf-8")
