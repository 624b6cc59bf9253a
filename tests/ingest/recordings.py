"""Small recordings made by code: a tone, in any container that is read, whole or with sound missing."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

CODECS = {".wav": "pcm_s16le", ".mp3": "libmp3lame", ".flac": "flac", ".webm": "libopus", ".ogg": "libopus"}


def tone(seconds: float, rate: int) -> NDArray[np.int16]:
    return (np.sin(np.arange(int(seconds * rate)) * 2 * np.pi * 440 / rate) * 8000).astype(np.int16)


def write_recording(
    path: Path,
    *,
    seconds: float = 4,
    sound: NDArray[np.int16] | None = None,
    gap: tuple[float, float] | None = None,
    video: bool = False,
    audio: bool = True,
    tracks: int = 1,
) -> Path:
    """Write a recording; `gap` leaves out the packets between two seconds, `video` adds a picture."""
    rate = 48_000 if path.suffix in (".webm", ".ogg", ".mp3") else 16_000
    with av.open(str(path), "w") as container:
        streams = [
            container.add_stream(CODECS.get(path.suffix, "aac"), rate=rate, layout="mono")
            for _ in range(tracks if audio else 0)
        ]
        if video:
            picture = container.add_stream("mpeg4", rate=10, width=32, height=32, pix_fmt="yuv420p")
            for _ in range(int(seconds * 10)):
                frame = av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8), format="rgb24")
                container.mux(picture.encode(frame))
            container.mux(picture.encode())
        for stream in streams:
            frame = av.AudioFrame.from_ndarray(
                (tone(seconds, rate) if sound is None else sound)[None], format="s16", layout="mono"
            )
            frame.rate, frame.pts = rate, 0
            resampler = av.AudioResampler(format=stream.format, layout="mono", rate=rate)
            packets = [packet for piece in resampler.resample(frame) for packet in stream.encode(piece)]
            for packet in [*packets, *stream.encode()]:
                second = float((packet.pts or 0) * packet.time_base)
                if gap is None or not gap[0] <= second < gap[1]:
                    container.mux(packet)
    return path
