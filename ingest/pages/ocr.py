"""Text in pictures, through RapidOCR with the PP-OCR weights that its wheel carries."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ingest.pages.layout import Box
from ingest.pages.lines import Line
from kb.settings import Settings
from kb.text import canonical
from kb.types import Dropped

if TYPE_CHECKING:
    from PIL.Image import Image
    from rapidocr import RapidOCR

SIDE = 1280  # pixels of the longer side; on dense slides, 1600 cost half as much again and read no better
_SURE = 0.85  # on slides in Chinese and English, lines below it were misread numbers, logos and stray marks
_LIGHT = 160  # of 255; the visible part of a picture that is lighter was made for a dark slide
AIR = 0.18  # of a line's height, above and below it: the recogniser puts it there, so that lines overlap
_PLACES = 20  # named in a message
_LOCK = threading.Lock()
_HOW = "Install it with `pip install 'vllm-notes-kb[ocr]'` and add the deck again"


@dataclass(frozen=True)
class Seen:
    """What is written in a picture, in pixels; how many lines are too unsure to show; why it could not be read."""

    lines: tuple[Line, ...] = ()
    unsure: int = 0
    reason: str = ""


class Recogniser:
    """Reads the pictures of one deck; a picture that was read before, such as a background, costs nothing."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._seen: dict[bytes, Seen] = {}

    @property
    def off(self) -> str:
        """Why no picture is looked at; empty where they are."""
        if not self._settings.ingest.ocr:
            return "text recognition is switched off (KB_INGEST_OCR)"
        return "" if is_installed() else f"rapidocr, which reads text in pictures, is not installed. {_HOW}"

    def read(self, picture: Image) -> Seen:
        """What is written in it, line by line, without what the recogniser was unsure of."""
        if self.off:
            return Seen(reason=self.off)
        pixels = _opaque(picture)
        pixels.thumbnail((SIDE, SIDE))
        key = hashlib.sha256(repr(pixels.size).encode() + pixels.tobytes()).digest()
        if key not in self._seen:
            self._seen[key] = _recognise(pixels, self._settings.threads)
        return self._seen[key]


def is_installed() -> bool:
    return find_spec("rapidocr") is not None


def _opaque(picture: Image) -> Image:
    """The picture on white, or on black where what can be seen of it is light."""
    from PIL import Image, ImageStat

    if not picture.has_transparency_data:
        return picture.convert("RGB")
    drawn = picture.convert("RGBA")
    alpha = drawn.getchannel("A")
    light = ImageStat.Stat(drawn.convert("L"), mask=alpha.point(lambda value: 255 * (value > 127))).mean[0] > _LIGHT
    ground = Image.new("RGBA", drawn.size, "black" if light else "white")
    return Image.alpha_composite(ground, drawn).convert("RGB")


def unsure_lines(count: int, where: str) -> list[Dropped]:
    """What to say of lines that were recognised with too little confidence."""
    reason = f"{count} were recognised with too little confidence"
    return [Dropped(what="lines in pictures", where=where, reason=reason)] if count else []


def passed_over(recogniser: Recogniser, places: Sequence[str]) -> list[Dropped]:
    """What to say of pictures that nothing could look at, for the whole deck."""
    if not recogniser.off or not places:
        return []
    where = ", ".join(places[:_PLACES]) + (f" and {len(places) - _PLACES} more" if len(places) > _PLACES else "")
    return [Dropped(what="pictures", where=where, reason=f"their text was not read: {recogniser.off}")]


def _recognise(picture: Image, threads: int) -> Seen:
    import numpy as np

    with _LOCK:
        result = _engine(threads)(np.asarray(picture)[:, :, ::-1])
    if result.boxes is None:
        return Seen(reason="no text was recognised in it")
    lines, unsure = [], 0
    for corners, text, score in zip(result.boxes, result.txts, result.scores, strict=True):
        if not text.strip():
            continue
        if score < _SURE:
            unsure += 1
            continue
        left, top, right, bottom = (float(value) for value in (*corners.min(axis=0), *corners.max(axis=0)))
        lines.append(
            Line(canonical(text).strip(), Box(left, top, right, bottom), bottom - top, confidence=float(score))
        )
    return Seen(tuple(lines), unsure, "" if lines else "nothing in it was recognised with confidence")


@lru_cache(maxsize=1)
def _engine(threads: int) -> RapidOCR:
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "error",
            "EngineConfig.onnxruntime.intra_op_num_threads": threads or -1,
            # By default flat pictures are blown up until they are 736 pixels high, at four times the cost.
            "Det.limit_type": "max",
            "Det.limit_side_len": SIDE,
            # By default one line of code in thirty is taken to stand on its head.
            "Cls.cls_thresh": 0.99,
        }
    )
