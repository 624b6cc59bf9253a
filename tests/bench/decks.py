"""Decks: how much of what can be seen in those of the shared corpus comes out, and how long reading takes.

    python -m tests.bench.decks [DECK…]

Recall is against what python-pptx, PDFium and OCR see (tests/ingest/recall.py); the renderings of PPTX are
LibreOffice's. Times are CPU seconds of a process of its own, without text recognition, imports included.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.speed import SHARED
from tests.ingest.deck_writer import both, say, write_deck
from tests.ingest.recall import recall, union
from tests.ingest.test_recall import made_slides

PAGES = 30
_READ = (
    "import sys, time; from pathlib import Path; from ingest.load import load; from ingest.parsed import Reading; "
    "from kb.settings import IngestSettings, Settings; "
    "load(Path(sys.argv[1]), Reading(Settings(threads=1, ingest=IngestSettings(ocr=False))))"
)


def seconds(deck: Path) -> float:
    """CPU time of reading the deck without text recognition."""
    process = subprocess.Popen([sys.executable, "-c", _READ, str(deck)])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"reading {deck} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    decks = [Path(name) for name in sys.argv[1:]] or sorted((SHARED / "corpus" / "media" / "decks").iterdir())
    sys.stdout.write("| deck | CPU without OCR | recall | of which |\n|---|--:|--:|---|\n")
    for deck in decks:
        found = recall(deck)
        parts = ", ".join(f"{name} {one.share:.3f}" for name, one in found.items())
        sys.stdout.write(f"| {deck.name} | {seconds(deck):.2f} s | {union(found).share:.3f} | {parts} |\n")
        sys.stderr.writelines(f"{deck.name}: missing {missing}\n" for one in found.values() for missing in one.missing)
    with TemporaryDirectory() as folder:
        slides = [both(say(f"Slide {n}", top=0.2), made_slides()[n % len(made_slides())]) for n in range(PAGES)]
        made = write_deck(Path(folder) / "made.pptx", *slides)
        sys.stdout.write(f"| {PAGES} made slides, target < 5 s | {seconds(made):.2f} s | | |\n")


if __name__ == "__main__":
    main()
