"""What a recording shows: one small grey picture for each stretch in which the picture stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ingest.parsed import SCENES
from ingest.recordings.container import opened

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

WIDTH, HEIGHT = 128, 72  # of a picture
_SPARSE = 15.0  # seconds between key frames, beyond which the frames between them are decoded, too
_STEP = 2.0  # seconds between frames that are looked at, then
_NEXT = 0.5  # seconds between key frames that are looked at: some cameras and editors make every frame one
_CHANGED, _SOME = 10, 0.004  # grey levels by which this share of a picture must differ: a line of text does

Pictures = NDArray[np.uint8]


@dataclass(frozen=True)
class Scenes:
    """`starts[n]`, in milliseconds, is where `pictures[n]`, shape `(HEIGHT, WIDTH)`, comes to be seen."""

    starts: NDArray[np.int64]
    pictures: Pictures

    def save(self, folder: Path) -> None:
        np.savez_compressed(folder / SCENES, starts=self.starts, pictures=self.pictures)

    @classmethod
    def load(cls, path: Path) -> Scenes:
        """
        Raises:
            OSError, ValueError, KeyError: if the file is gone or damaged.
        """
        with np.load(path, allow_pickle=False) as stored:
            return cls(stored["starts"], stored["pictures"])


def capture(path: Path) -> Scenes | None:
    """The scenes of a video; None for a recording without a picture, or with one that cannot be decoded.

    Key frames are enough where they are frequent: encoders set one where the picture changes. Else all are decoded.
    """
    frames = list(_frames(path, key_frames=True))
    if len(frames) == 1 or (frames and frames[-1][0] - frames[0][0] > _SPARSE * 1000 * len(frames)):
        frames = list(_frames(path, key_frames=False))
    starts: list[int] = []
    pictures: list[Pictures] = []
    for start, picture in frames:
        if not pictures or (np.abs(picture.astype(np.int16) - pictures[-1]) > _CHANGED).mean() > _SOME:
            starts.append(start)
            pictures.append(picture)
    return Scenes(np.array(starts, dtype=np.int64), np.stack(pictures)) if pictures else None


def _frames(path: Path, *, key_frames: bool) -> Iterator[tuple[int, Pictures]]:
    """Milliseconds and pictures."""
    from av.error import FFmpegError

    step = _NEXT if key_frames else _STEP
    with opened(path) as container:
        stream = _moving(container)
        if stream is None:
            return
        stream.codec_context.skip_frame = "NONKEY" if key_frames else "NONREF"
        origin = (container.start_time or 0) / 1e6
        last = -step
        for packet in container.demux(stream):
            try:
                frames = packet.decode()
            except FFmpegError:
                continue  # a broken stretch of picture; the sound tells of what is broken there
            for frame in frames:
                time = float(frame.time or 0.0) - origin
                if time >= last + step:
                    last = time
                    grey = frame.reformat(width=WIDTH, height=HEIGHT, format="gray", interpolation="AREA")
                    yield max(0, round(last * 1000)), np.asarray(grey.to_ndarray(), dtype=np.uint8)


def _moving(container: InputContainer) -> VideoStream | None:
    """The video track; a cover picture of an audio file is none."""
    from av.stream import Disposition

    return next((s for s in container.streams.video if not s.disposition & Disposition.attached_pic), None)
