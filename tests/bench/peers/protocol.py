"""What a peer's process says to the comparison. Standard library only: it is imported in the peers' own environments.

A process takes the corpus in, tells what that took, and then answers blocks of questions, one JSON line for each, until
its input ends. So the peers can take turns, and what disturbs the machine disturbs all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
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


class Ingested(NamedTuple):
    """Seconds that the corpus took, by the clock and by the processor."""

    wall: float
    cpu: float


class Answered(NamedTuple):
    """What was found for a question, and the milliseconds of the search, by the clock and by the processor."""

    hits: list[Found]
    wall: float
    cpu: float


Search = Callable[[str], Iterable[Found]]
Ingest = Callable[[list[Path], str], Search]


def files(corpus: Path) -> list[Path]:
    return sorted(path for path in corpus.rglob("*") if path.suffix in SUFFIXES)


def measure(ingest: Ingest) -> None:
    """Run one peer: `SCRIPT CORPUS MODEL`. `ingest` takes files and the model's folder."""
    parser = argparse.ArgumentParser()
    for name in ("corpus", "model"):
        parser.add_argument(name, type=Path)
    given = parser.parse_args()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as told:
        os.dup2(2, 1)  # what libraries print is no answer

        def tell(value: object) -> None:
            told.write(json.dumps(value) + "\n")
            told.flush()

        wall, cpu = time.perf_counter(), time.process_time()
        search = ingest(files(given.corpus), str(given.model))
        tell(Ingested(time.perf_counter() - wall, time.process_time() - cpu))
        for line in sys.stdin:
            tell([_answered(search, question) for question in json.loads(line)])


def _answered(search: Search, question: str) -> Answered:
    wall, cpu = time.perf_counter(), time.process_time()
    hits = list(search(question))
    return Answered(hits, (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000)
