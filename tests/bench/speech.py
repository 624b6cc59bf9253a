"""`python -m tests.bench.speech`: speech recognition beside faster-whisper called plainly, on the same weights.

Errors on the clips of the shared corpus; terms in spoken technical sentences (`tests.bench.spoken`), before and after
correction; time for a minute and, with `--long`, for ten. Plain and ours alternate in one run, so that the ratio means
something on a busy machine.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rapidfuzz.distance import Levenshtein

from ingest.load import load
from ingest.parsed import Reading
from ingest.recordings.clean import as_written
from ingest.recordings.correct import correct
from ingest.recordings.isolated import IsolatedTranscriber
from ingest.recordings.media import samples
from ingest.recordings.whisper import WhisperTranscriber
from kb.glossary import Term, load_glossary
from kb.settings import Settings
from kb.types import Document, Lang, Talk
from kb.weights import whisper_folder
from tests.bench.spoken import SENTENCES
from tests.ingest.recordings import write_recording

if TYPE_CHECKING:
    from faster_whisper import WhisperModel

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"
SPOKEN = ROOT / "build" / "speech"
TALKS = ROOT / "examples" / "talks"

Row = tuple[str, str, str]


def units(text: str, lang: str) -> list[str]:
    """What errors are counted in: words of English, characters of Chinese."""
    folded = unicodedata.normalize("NFKC", as_written(text)).casefold()
    return re.findall(r"[\w']+", folded) if lang == "en" else [c for c in folded if c.isalnum()]


def error(reference: str, heard: str, lang: str) -> float:
    expected = units(reference, lang)
    return Levenshtein.distance(expected, units(heard, lang)) / len(expected)


def terms(texts: Iterable[str]) -> Counter[Term]:
    clauses = (clause for text in texts for clause in re.split(r"(?<=[,.，。;])", text))
    return Counter(term for clause in clauses for term in load_glossary().find(clause))


def recovered(reference: Iterable[str], heard: Iterable[str]) -> float:
    expected, found = terms(reference), terms(heard)
    return sum(min(count, found[term]) for term, count in expected.items()) / sum(expected.values())


def heard(path: Path, lang: Lang, transcriber: WhisperTranscriber | IsolatedTranscriber) -> Document:
    talk = Talk(id="bench", title="Bench", lang=lang)
    return load(path, Reading(Settings(), talk=talk, transcriber=transcriber))


def texts(document: Document) -> list[str]:
    return [segment.text for segment in document.segments]


def plainly(model: WhisperModel, path: Path, lang: str) -> str:
    return "".join(segment.text for segment in model.transcribe(str(path), language=lang)[0])


def clips(model: WhisperModel, ours: WhisperTranscriber) -> Iterator[Row]:
    for line in (CORPUS / "manifest.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        if entry.get("kind") != "speech":
            continue
        path, lang, reference = CORPUS / entry["path"], entry["language"], entry["reference_text"]
        plain = error(reference, plainly(model, path, lang), lang)
        own = error(reference, " ".join(texts(correct(heard(path, lang, ours)))), lang)
        yield f"{'word' if lang == 'en' else 'character'} error on the {lang} clip", f"{own:.3f}", f"plain: {plain:.3f}"


def spoken(model: WhisperModel, ours: WhisperTranscriber) -> Iterator[Row]:
    for name, sentences in SENTENCES.items():
        path, lang = SPOKEN / f"{name}.ogg", "zh" if name.startswith("zh") else "en"
        if not path.exists():
            continue
        document = heard(path, lang, ours)  # type: ignore[arg-type]
        raw, fixed = texts(document), texts(correct(document))
        plain = as_written(plainly(model, path, lang))
        yield (
            f"terms recovered, {name}: heard, corrected",
            f"{recovered(sentences, raw):.2f}, {recovered(sentences, fixed):.2f}",
            f"≥ 0.90; plain: {recovered(sentences, [plain]):.2f}",
        )
        joined = " ".join(sentences)
        errors = [error(joined, " ".join(text), lang) for text in (raw, fixed)]
        yield (
            f"error, {name}: heard, corrected",
            ", ".join(f"{each:.3f}" for each in errors),
            f"plain: {error(joined, plain, lang):.3f}",
        )


def ratios(pairs: int, plain: Callable[[], object], ours: Callable[[], object]) -> tuple[float, float]:
    """Seconds of ours to seconds of plain: by the wall, and of the processor (of this process alone)."""
    walls, cpus = [], []
    for _ in range(pairs):
        spent = [_spent(plain), _spent(ours)]
        walls.append(spent[1][0] / spent[0][0])
        cpus.append(spent[1][1] / spent[0][1])
    return statistics.median(walls), statistics.median(cpus)


def _spent(work: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def long_recording(minutes: int) -> Path:
    """The spoken files one behind the other, with pauses, over and over."""
    parts = [
        np.concatenate([piece for piece in samples(path) if isinstance(piece, np.ndarray)])
        for path in (*sorted(SPOKEN.glob("en-*.ogg")), TALKS / "chunked-prefill" / "speech.ogg")
    ]
    pause = np.zeros(3 * 16_000, np.float32)
    whole = np.concatenate([each for part in parts for each in (part, pause)])
    repeated = np.tile(whole, -(-minutes * 60 * 16_000 // len(whole)))[: minutes * 60 * 16_000]
    path = SPOKEN / f"long-{minutes}.wav"
    return write_recording(path, sound=(np.clip(repeated, -1, 1) * 32767).astype(np.int16))


def speed(model: WhisperModel, ours: WhisperTranscriber, *, long: bool) -> Iterator[Row]:
    for name, lang in (("chunked-prefill", "en"), ("kv-cache-arithmetic", "zh")):
        path = TALKS / name / "speech.ogg"
        wall, cpu = ratios(3, lambda: plainly(model, path, lang), lambda: heard(path, lang, ours))  # type: ignore[arg-type] # noqa: B023
        yield f"time of ours / plain, {lang}, a short talk: wall, CPU", f"{wall:.2f}, {cpu:.2f}", "≤ 1.05"
    if long:
        path = long_recording(12)
        isolated = IsolatedTranscriber(ours, Settings())
        wall, _ = ratios(1, lambda: plainly(model, path, "en"), lambda: heard(path, "en", isolated))
        yield "plain / ours, wall, 12 minutes, its process included", f"{1 / wall:.2f}", "≥ 1.5"


def main() -> None:
    if not CORPUS.is_dir():
        raise SystemExit("The shared corpus does not lie beside this checkout; there is nothing to measure on.")
    from faster_whisper import WhisperModel

    model = WhisperModel(str(whisper_folder(Settings().cache)), device="cpu", compute_type="int8", cpu_threads=2)
    ours = WhisperTranscriber(Settings())
    rows: list[Row] = []
    parts = (clips(model, ours), spoken(model, ours), speed(model, ours, long="--long" in sys.argv))
    for row in (row for part in parts for row in part):
        rows.append(row)
        sys.stderr.write(": ".join(row[:2]) + f" ({row[2]})\n")
    sys.stdout.write("| what | measured | target |\n|---|--:|--:|\n")
    sys.stdout.writelines(f"| {what} | {value} | {target} |\n" for what, value, target in rows)


if __name__ == "__main__":
    main()
