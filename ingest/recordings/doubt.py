"""What Whisper says of some sound, word by word, less what it shows signs of having invented."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ingest.recordings.speech import Word
from ingest.recordings.windows import Window
from kb.types import Dropped, Time

if TYPE_CHECKING:
    from faster_whisper.transcribe import Segment

_ADRIFT = 600  # milliseconds by which a first word stands too far from its second
# A list of terms alone teaches Whisper to write without punctuation; a sentence behind it restores the manner, and
# Simplified script.
OPENING = {"zh": "以下是普通话的句子。", "en": "The following is a talk, in English."}


def words_of(segment: Segment, window: Window, offset: float = 0.0) -> Iterator[Word | Dropped]:
    """The words of a segment, placed in the recording; the times of the segment count from `offset` seconds before the
    window. One that is to be doubted is dropped whole, with the reason."""
    if reason := _reason_to_doubt(segment):
        first, last = window.place(float(segment.start) - offset, float(segment.end) - offset)
        yield Dropped(
            what=segment.text.strip(), where=str(Time(start_ms=first, end_ms=max(first, last))), reason=reason
        )
        return
    unsure = not window.regions[0].sure or segment.avg_logprob < -1.0
    words: list[Word] = []
    for word in segment.words or ():
        text = word.word.replace("\ufffd", "")
        if text.strip():
            start, end = window.place(float(word.start) - offset, float(word.end) - offset)
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
    if segment.text.strip() in OPENING.values():
        return "an echo of the sentence that sets the manner"
    if segment.no_speech_prob > 0.6 and segment.avg_logprob < -0.5:
        return "invented over silence"
    length = segment.words[-1].end - segment.words[0].start
    if len(segment.words) >= 4 and len(segment.words) > 15 * length:
        return f"{len(segment.words)} words in {length:.1f} s: nobody speaks so fast"
    return None
