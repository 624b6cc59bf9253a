"""Speech to text with faster-whisper: packaged weights, a folder, or a model of a hub."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from ingest.parsed import Piece, Recording
from ingest.recordings.doubt import OPENING, words_of
from ingest.recordings.media import RATE, Samples, duration_ms
from ingest.recordings.speech import Word, to_blocks
from ingest.recordings.stretches import stretches
from ingest.recordings.windows import Window
from kb.errors import MissingDependency
from kb.settings import Settings
from kb.text import HAN
from kb.types import Dropped
from kb.weights import whisper_folder

if TYPE_CHECKING:
    from faster_whisper import WhisperModel
    from faster_whisper.transcribe import Segment

# Windows that each worker hears at once. On a CPU, batches cost more than single windows (docs/benchmarks.md).
_BATCH, _BATCH_ON_CPU = 4, 1
_SURE = 0.5  # probability below which a language is not known
_TAIL = 0.7  # seconds at the end of a window that are not heard once more
_LOOPING, _LOST = 2.4, -1.0  # compression ratio above, mean log probability below which a window is heard once more
_SILENT, _OVERLAP = 2.5, 0.3  # seconds without a word that are heard once more, and what is added at both ends
_RUN_ON, _MARK = 40, re.compile(r"[，。？！、；,.?!;]")  # hanzi that do without a mark, and marks
_GATES = "gates/4"  # part of the fingerprint: change it with anything that changes the text


@dataclass(frozen=True)
class _Heard:
    """A window with its segments; their times count from `offset` seconds before the window."""

    window: Window
    segments: tuple[Segment, ...]
    offset: float = 0.0

    @property
    def is_doubtful(self) -> bool:
        return any(each.compression_ratio > _LOOPING or each.avg_logprob < _LOST for each in self.segments)

    @property
    def is_unpunctuated(self) -> bool:
        """Chinese that runs on without a mark: expected names are a list without a sentence, and may teach that."""
        text = "".join(each.text for each in self.segments)
        hanzi = len(HAN.findall(text))
        return hanzi >= _RUN_ON and len(_MARK.findall(text)) * _RUN_ON < hanzi

    def items(self) -> Iterator[Word | Dropped]:
        for segment in self.segments:
            yield from words_of(segment, self.window, self.offset)

    def left_out(self) -> Iterator[Window]:
        """Speech without a word: Whisper may stop early, or leap over a sentence, when it hears a window at once."""
        end = len(self.window.sound) / RATE
        words = [word for segment in self.segments for word in segment.words or ()]
        spans = [(float(word.start) - self.offset, float(word.end) - self.offset) for word in words]
        for (_, before), (after, _) in pairwise([(0.0, 0.0), *spans, (end, end)]):
            start = max(0.0, before - _OVERLAP)
            if words and after - before > _SILENT:
                yield self.window.part(start, min(end, after + _OVERLAP))


class WhisperTranscriber:
    """A `Transcriber`. The model is built at the first recording and serves all that follow.

    Args:
        workers: batches that are heard side by side, with as many threads in all. One is best for short recordings;
            a worker for each core is best for long ones, where batches never run out.
    """

    def __init__(self, settings: Settings, *, workers: int = 1) -> None:
        self._settings = settings
        self._workers = workers
        self._lock = threading.Lock()
        self._built: WhisperModel | None = None

    @cached_property
    def fingerprint(self) -> str:
        speech = self._settings.speech
        name = whisper_folder(self._settings.cache).name if speech.model == "packaged" else speech.model
        return f"faster-whisper/{version('faster-whisper')} {name} {speech.compute_type} {speech.beam_size} {_GATES}"

    def transcribe(self, recording: Recording, on_progress: Callable[[float], None]) -> Iterator[Piece]:
        """See `Transcriber`. Sound without speech costs no call of the model.

        Raises:
            MissingDependency: if the model cannot be loaded.
            UnreadableSource: if the recording cannot be decoded.
        """
        duration = duration_ms(recording.path)

        def reached(sample: int) -> None:
            if duration:
                on_progress(min(1.0, sample * 1000 / RATE / duration))

        for stretch in stretches(recording, self._language):
            heard: list[_Heard] = []
            for each in self._hear(stretch.windows, recording.hotwords):
                heard.append(each)
                reached(each.window.regions[-1].end)
            rests = [rest for each in heard for rest in each.left_out()]
            heard += self._hear(rests, recording.hotwords)
            words, dropped = _in_order(heard)
            yield Piece(stretch.end * 1000 // RATE, (*stretch.dropped, *dropped, *to_blocks(words)))
            reached(stretch.end)

    def _model(self) -> WhisperModel:
        with self._lock:
            if self._built is None:
                self._built = self._build()
            return self._built

    def _build(self) -> WhisperModel:
        from faster_whisper import WhisperModel

        speech = self._settings.speech
        packaged = speech.model == "packaged"
        threads = self._settings.threads or os.cpu_count() or 1
        try:
            return WhisperModel(
                str(whisper_folder(self._settings.cache)) if packaged else speech.model,
                device=speech.device,
                compute_type=speech.compute_type,
                cpu_threads=max(1, threads // self._workers),
                num_workers=self._workers,
                local_files_only=packaged,
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise MissingDependency(
                f"the speech model {speech.model!r} cannot be loaded: {error}",
                remedy="Set KB_SPEECH_MODEL to `packaged` or to a folder with a faster-whisper model",
            ) from error

    def _language(self, sound: Samples) -> tuple[str, bool]:
        """The language of some sound, and whether it is known. An unclear one is heard as Chinese or English."""
        from ingest.recordings import trimmed

        model = self._model()
        if "zh" not in model.supported_languages:
            return "en", True
        ranked = trimmed.languages(model, sound)
        language, probability = ranked[0]
        if probability >= _SURE:
            return language, True
        return next(name for name, _ in ranked if name in ("zh", "en")), False

    # --- from windows to segments ------------------------------------------------------------------------------

    def _hear(self, windows: Sequence[Window], hotwords: tuple[str, ...]) -> Iterator[_Heard]:
        """The windows in their order, batches of one language side by side."""
        if not windows:
            return
        self._model()  # built here, and so once
        pool = ThreadPoolExecutor(self._workers)
        try:
            work = (pool.submit(self._batch, batch, hotwords) for batch in self._batches(windows))
            for heard in (each for future in list(work) for each in future.result()):
                is_unsure = heard.is_doubtful or heard.is_unpunctuated
                yield self._again(heard.window, () if heard.is_unpunctuated else hotwords) if is_unsure else heard
        finally:
            pool.shutdown(cancel_futures=True)  # whoever stops waits for the batch under way, not for all that follow

    def _batches(self, windows: Sequence[Window]) -> Iterator[list[Window]]:
        """Runs of windows of one language, as equal as they can be, so many that no worker waits for another."""
        at_once = _BATCH_ON_CPU if self._settings.speech.device == "cpu" else _BATCH
        for _, run in groupby(windows, key=lambda window: window.regions[0].language):
            waiting = list(run)
            rounds = -(-len(waiting) // (at_once * self._workers))
            count = min(rounds * self._workers, len(waiting))
            edges = [len(waiting) * number // count for number in range(count + 1)]
            yield from (waiting[start:end] for start, end in pairwise(edges))

    def _batch(self, windows: Sequence[Window], hotwords: tuple[str, ...]) -> list[_Heard]:
        from ingest.recordings import trimmed

        options = self._options(windows[0].regions[0].language, hotwords)
        heard = trimmed.TrimmedPipeline(self._model()).hear([window.sound for window in windows], **options)
        return [
            _Heard(window, tuple(segments), start) for window, (start, segments) in zip(windows, heard, strict=True)
        ]

    def _again(self, window: Window, hotwords: tuple[str, ...]) -> _Heard:
        """A window alone, and where that fails, too, with other choices of words than the likeliest ones."""
        import ctranslate2

        ctranslate2.set_random_seed(0)  # the same sound shall give the same text
        language = window.regions[0].language
        segments, _ = self._model().transcribe(
            window.sound,
            temperature=[0.0, 0.2, 0.6],
            condition_on_previous_text=False,
            **self._options(language, hotwords),
        )
        kept: list[Segment] = []
        for segment in segments:
            kept.append(segment)
            # What is left is the margin of the voice detector. Whisper would hear it alone, and invent (issue 843).
            if len(window.sound) / RATE - segment.end < _TAIL:
                break
        return _Heard(window, tuple(kept))

    def _options(self, language: str, hotwords: tuple[str, ...]) -> dict[str, object]:
        expected = [word for word in hotwords if language == "zh" or not HAN.search(word)]
        return {
            "language": language,
            "beam_size": self._settings.speech.beam_size,
            "initial_prompt": OPENING.get(language),
            "hotwords": ", ".join(expected) or None,
            "word_timestamps": True,
        }


def _in_order(heard: Sequence[_Heard]) -> tuple[list[Word], list[Dropped]]:
    """The words of windows, those of a window that was heard later at their place."""
    words: list[Word] = []
    dropped: list[Dropped] = []
    for each in heard:
        items = list(each.items())
        dropped += [item for item in items if isinstance(item, Dropped)]
        found = [item for item in items if isinstance(item, Word)]
        if found:
            at = next((index for index, word in enumerate(words) if word.start >= found[0].start), len(words))
            words[at:at] = found
    return words, dropped
