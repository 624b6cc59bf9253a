"""What a recording shows."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np

from ingest.alignment.scenes import capture


def test_a_video_of_key_frames_alone_is_looked_at_twice_a_second(tmp_path: Path) -> None:
    path = tmp_path / "video.mkv"
    with av.open(str(path), "w") as container:
        picture = container.add_stream("mjpeg", rate=30, width=128, height=72, pix_fmt="yuvj420p")
        container.add_stream("pcm_s16le", rate=16_000)
        for number in range(90):
            frame = np.full((72, 128, 3), number * 37 % 255, np.uint8)
            container.mux(picture.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(picture.encode())
    scenes = capture(path)
    assert scenes is not None
    assert len(scenes.starts) == 6
