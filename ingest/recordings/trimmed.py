"""Windows heard in the time that they take: Whisper's encoder need not hear 30 seconds each time.

Its cost grows faster than the length of what it hears (attention is quadratic): 20 seconds with the silence behind them
cost less than half of what 30 do (docs/benchmarks.md). The silence is needed: without any, Whisper does not notice the
end, and goes on in a loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from faster_whisper import BatchedInferencePipeline

from ingest.recordings.media import RATE, Samples

if TYPE_CHECKING:
    from faster_whisper import WhisperModel
    from faster_whisper.transcribe import Segment

_SILENCE = 4  # seconds, at least, behind what is heard; with 2, the beginning of a short window suffers
_MOST = 30  # seconds that Whisper can hear
_FRAMES = 100  # that a second of sound gives the encoder


class TrimmedPipeline(BatchedInferencePipeline):  # type: ignore[misc] # the library has no types
    """A pipeline whose windows are as long as the longest of them needs. For one call: it keeps where words ended."""

    _seconds = _MOST

    def hear(self, sounds: Sequence[Samples], **options: object) -> list[tuple[float, list[Segment]]]:
        """The segments of each sound, and the second from which their times count."""
        self._seconds = _seconds_for(max(map(len, sounds)))
        starts = [number * self._seconds for number in range(len(sounds))]
        segments, _ = self.transcribe(
            np.concatenate([_filled(sound, self._seconds) for sound in sounds]),
            clip_timestamps=[{"start": start, "end": start + self._seconds} for start in starts],
            batch_size=len(sounds),
            without_timestamps=False,
            **options,
        )
        found = list(segments)
        # A segment names its clip by the frame at which the clip begins.
        return [(float(start), [each for each in found if each.seek == start * _FRAMES]) for start in starts]

    def generate_segment_batched(self, features: Any, tokenizer: Any, options: Any) -> Any:  # noqa: ANN401 - as there
        """As the library does it, with features that end where the windows do."""
        return super().generate_segment_batched(features[..., : self._seconds * _FRAMES], tokenizer, options)


def languages(model: WhisperModel, sound: Samples) -> list[tuple[str, float]]:
    """The languages that some sound may be in with their probabilities, the likeliest first."""
    features = model.feature_extractor(_filled(sound, _seconds_for(len(sound))))[..., :-1]
    (ranked,) = model.model.detect_language(model.encode(features))
    return [(token.strip("<|>"), share) for token, share in ranked]


def _seconds_for(length: int) -> int:
    """Whole ones, so that a clip's beginning is an exact sample and frame."""
    return min(_MOST, math.ceil(length / RATE) + _SILENCE)


def _filled(sound: Samples, seconds: int) -> Samples:
    return np.pad(sound[: seconds * RATE], (0, max(0, seconds * RATE - len(sound))))
