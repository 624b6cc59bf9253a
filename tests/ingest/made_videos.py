"""Videos of made talks: the slides as pictures, shown as long as they were shown, alone or beside a speaker."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from kb.types import Document, Page, Role
from tests.ingest.made_talks import MadeTalk

SIZE = 640, 360


def draw(deck: Document, folder: Path) -> dict[int, Path]:
    """The pages of a deck in one template, as WebP; hanzi become boxes, which look different enough."""
    paths = {}
    for number in range(1, deck.pages + 1):
        segments = [s for s in deck.segments if isinstance(s.locator, Page) and s.locator.number == number]
        image = Image.new("RGB", SIZE, "white")
        pen = ImageDraw.Draw(image)
        pen.rectangle((0, 0, SIZE[0], 12), fill="navy")
        y = 30
        for segment in segments:
            size = 30 if segment.role is Role.TITLE else 20
            for line in segment.text.splitlines():
                pen.text((30, y), line, fill="black", font=ImageFont.load_default(size))
                y += size + 14
        paths[number] = folder / f"{number:04}.webp"
        image.save(paths[number], "WEBP", quality=80)
    return paths


def write_video(path: Path, talk: MadeTalk, pages: dict[int, Path], *, beside: bool = False) -> Path:
    """A video at one frame a second with a silent sound track; `beside` shows the slide small, next to a speaker."""
    noise = random.Random(1)
    seconds = talk.transcript.segments[-1].locator.end_ms // 1000 + 2  # type: ignore[union-attr]
    slides = {
        number: np.asarray(Image.open(image).convert("RGB").resize((320, 180))) for number, image in pages.items()
    }
    with av.open(str(path), "w") as container:
        picture = container.add_stream("libx264", rate=1, width=320, height=180, pix_fmt="yuv420p")
        picture.gop_size = 1  # as at more frames a second, a change is seen in the second in which it happens
        sound = container.add_stream("aac", rate=16_000, layout="mono")
        for second in range(seconds):
            page = [talk.shown[0][1], *(number for start, number in talk.shown if start <= second * 1000)][-1]
            frame = _frame(slides[page] if page else None, noise, beside=beside)
            container.mux(picture.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(picture.encode())
        _silence(container, sound, seconds)
    return path


def _frame(slide: NDArray[np.uint8] | None, noise: random.Random, *, beside: bool) -> NDArray[np.uint8]:
    """A slide, or a speaker: a dark room with a bright, moving shape."""
    frame = np.full((180, 320, 3), 40, np.uint8)
    x = noise.randrange(250, 290) if beside else noise.randrange(80, 220)
    frame[60:170, x : x + 30] = (200, 160, 140)
    if slide is not None and beside:
        small = np.asarray(Image.fromarray(slide).resize((240, 135)))
        frame[22 : 22 + 135, 0:240] = small
    elif slide is not None:
        frame = slide
    return np.ascontiguousarray(frame)


def _silence(container: av.container.OutputContainer, sound: av.AudioStream, seconds: int) -> None:
    frame = av.AudioFrame.from_ndarray(np.zeros((1, seconds * 16_000), np.float32), format="fltp", layout="mono")
    frame.rate, frame.pts = 16_000, 0
    resampler = av.AudioResampler(format="fltp", layout="mono", rate=16_000)
    pieces: Sequence[av.AudioFrame] = resampler.resample(frame)
    packets = [packet for piece in pieces for packet in sound.encode(piece)]
    for packet in [*packets, *sound.encode()]:
        container.mux(packet)
