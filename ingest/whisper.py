"""Speech to text with faster-whisper: packaged weights, a folder, or a model of a hub."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ingest.media import RATE, Samples, duration_ms, samples
from ingest.parsed import Block
from ingest.speech import Word, to_blocks
from ingest.windows import Region, Window, packed, speech_in
from kb.errors import MissingDependency
from kb.settings import Settings
from kb.text import HAN
from kb.types import Dropped, Lang, Time
from kb.weights import whisper_folder

if TYPE_CHECKING:
    from faster_whisper import WhisperModel
    from faster_whisper.transcribe import Segment

_STRETCH = 300 * RATE  # searched for speech at once; bounds memory for recordings of any length
_ADRIFT = 600  # milliseconds by which a first word stands too far from its second
_TELLING = 3 * RATE  # shorter speech does not tell its language
_SURE = 0.5  # probability below which a language is not known
_TAIL = 0.7  # seconds at the end of a window that are not heard once more
# A list of terms alone teaches Whisper to write without punctuation; a sentence behind it restores the manner, and
# Simplified script.
_OPENING = {"zh": "以下是普通话的句子。", "en": "The following is a talk, in English."}
_GATES = "gates/1"  # part of the fingerprint: change it with anything that changes the text


class WhisperTranscriber:
    """A `Transcriber`. The model is built at the first recording and serves all that follow."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._built: WhisperModel | None = None

    @cached_property
    def fingerprint(self) -> str:
        speech = self._settings.speech
        name = whisper_folder(self._settings.cache).name if speech.model == "packaged" else speech.model
        return f"faster-whisper/{version('faster-whisper')} {name} {speech.compute_type} {speech.beam_size} {_GATES}"

    def transcribe(
        self, path: Path, *, lang: Lang | None, hotwords: tuple[str, ...], on_progress: Callable[[float], None]
    ) -> Iterator[Block | Dropped]:
        """See `Transcriber`. Sound without speech costs no call of the model.

        Raises:
            MissingDependency: if the model cannot be loaded.
            UnreadableSource: if the recording cannot be decoded.
        """
        duration = duration_ms(path)
        words: list[Word] = []
        for item in self._windows(path, lang):
            if isinstance(item, Dropped):
                yield item
                continue
            for heard in self._hear(item, hotwords):
                if isinstance(heard, Dropped):
                    yield heard
                else:
                    words.append(heard)
            if duration:
                on_progress(min(1.0, item.regions[-1].end / RATE * 1000 / duration))
        yield from to_blocks(words)
        on_progress(1.0)

    def _model(self) -> WhisperModel:
        with self._lock:
            if self._built is None:
                self._built = self._build()
            return self._built

    def _build(self) -> WhisperModel:
        from faster_whisper import WhisperModel

        speech = self._settings.speech
        packaged = speech.model == "packaged"
        try:
            return WhisperModel(
                str(whisper_folder(self._settings.cache)) if packaged else speech.model,
                device=speech.device,
                compute_type=speech.compute_type,
                cpu_threads=self._settings.threads or os.cpu_count() or 1,
                local_files_only=packaged,
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise MissingDependency(
                f"the speech model {speech.model!r} cannot be loaded: {error}",
                remedy="Set KB_SPEECH_MODEL to `packaged` or to a folder with a faster-whisper model",
            ) from error

    # --- from sound to windows ---------------------------------------------------------------------------------

    def _windows(self, path: Path, lang: Lang | None) -> Iterator[Window | Dropped]:
        """Stretch by stretch; speech at the end of a stretch waits for the next one."""
        offset, held = 0, np.zeros(0, dtype=np.float32)
        pieces: list[Samples] = []
        for piece in samples(path):
            if isinstance(piece, Dropped):
                yield piece
                continue
            pieces.append(piece)
            if sum(map(len, pieces)) + len(held) < _STRETCH:
                continue
            sound = np.concatenate([held, *pieces])
            regions = speech_in(sound)
            rest = regions.pop().start if regions and regions[-1].end > len(sound) - RATE else len(sound)
            yield from packed(sound, self._in_languages(sound, regions, lang), offset)
            offset, held, pieces = offset + rest, sound[rest:], []
        sound = np.concatenate([held, *pieces])
        yield from packed(sound, self._in_languages(sound, speech_in(sound), lang), offset)

    def _in_languages(self, sound: Samples, regions: list[Region], lang: Lang | None) -> list[Region]:
        """Regions with their languages, each by itself: one language for all loses what is said in the other
        (SYSTRAN/faster-whisper issue 918). Too short a region takes that of its neighbour."""
        if not regions:
            return []
        if lang:
            return [replace(region, language=lang) for region in regions]
        heard = [region for region in regions if len(region) >= _TELLING] or [max(regions, key=len)]
        spoken = {region: self._language(sound[region.start : region.end]) for region in heard}
        language, sure = spoken[heard[0]]
        result = []
        for region in regions:
            language, sure = spoken.get(region, (language, sure))
            result.append(replace(region, language=language, sure=sure))
        return result

    def _language(self, sound: Samples) -> tuple[str, bool]:
        """The language of some sound, and whether it is known. An unclear one is heard as Chinese or English."""
        model = self._model()
        if "zh" not in model.supported_languages:
            return "en", True
        language, probability, ranked = model.detect_language(audio=sound)
        if probability >= _SURE:
            return str(language), True
        ours: dict[str, float] = {name: share for name, share in ranked if name in ("zh", "en")}
        return max(ours, key=lambda name: ours[name]), False

    # --- from windows to words ---------------------------------------------------------------------------------

    def _hear(self, window: Window, hotwords: tuple[str, ...]) -> Iterator[Word | Dropped]:
        import ctranslate2

        language = window.regions[0].language
        expected = [word for word in hotwords if language == "zh" or not HAN.search(word)]
        ctranslate2.set_random_seed(0)  # fallback temperatures sample: the same sound shall give the same text
        segments, _ = self._model().transcribe(
            window.sound,
            language=language,
            beam_size=self._settings.speech.beam_size,
            temperature=[0.0, 0.2, 0.6],
            condition_on_previous_text=False,
            initial_prompt=_OPENING.get(language),
            hotwords=", ".join(expected) or None,
            word_timestamps=True,
        )
        length = len(window.sound) / RATE
        for segment in segments:
            yield from _words(segment, window)
            # What is left is the margin of the voice detector. Whisper would hear it alone, and invent (issue 843).
            if length - segment.end < _TAIL:
                return


# --- gates on what was heard --------------------------------------------------------------------------------------


def _words(segment: Segment, window: Window) -> Iterator[Word | Dropped]:
    if reason := _reason_to_doubt(segment):
        first, last = window.place(float(segment.start), float(segment.end))
        yield Dropped(
            what=segment.text.strip(), where=str(Time(start_ms=first, end_ms=max(first, last))), reason=reason
        )
        return
    unsure = not window.regions[0].sure or segment.avg_logprob < -1.0
    words: list[Word] = []
    for word in segment.words or ():
        text = word.word.replace("\ufffd", "")
        if text.strip():
            start, end = window.place(float(word.start), float(word.end))
            words.append(Word(text, start, end, opens=not words, unsure=unsure))
    if len(words) > 1 and words[1].start - words[0].end > _ADRIFT:
        # Alignment puts the first word after a silence before it (SYSTRAN/faster-whisper issue 125).
        length = min(words[0].end - words[0].start, _ADRIFT // 2)
        words[0] = replace(words[0], start=max(words[0].start, words[1].start - length), end=words[1].start)
    yield from words


def _reason_to_doubt(segment: Segment) -> str | None:
    """Whisper's own signs of invention: it heard no speech and is not confident; or nobody speaks so fast."""
    if not segment.words:
        return "words without a time"
    if segment.text.strip() in _OPENING.values():
        return "an echo of the sentence that sets the manner"
    if segment.no_speech_prob > 0.6 and segment.avg_logprob < -0.5:
        return "invented over silence"
    length = segment.words[-1].end - segment.words[0].start
    if len(segment.words) >= 4 and len(segment.words) > 15 * length:
        return f"{len(segment.words)} words in {length:.1f} s: nobody speaks so fast"
    return None
