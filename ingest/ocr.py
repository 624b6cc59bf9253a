"""Text in pictures, through RapidOCR with the PP-OCR weights that its wheel carries."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ingest.layout import Box
from ingest.lines import Line, arranged
from kb.text import canonical

if TYPE_CHECKING:
    from PIL.Image import Image
    from rapidocr import RapidOCR

_SURE = 0.85  # on slides in Chinese and English, lines below it were logos and stray marks
_LOCK = threading.Lock()
_HOW = "Install it with `pip install 'vllm-notes-kb[ocr]'` and add the deck again"


@dataclass(frozen=True)
class Seen:
    """What is written in a picture; `reason` says why there are no lines."""

    lines: tuple[Line, ...] = ()
    reason: str = ""


def is_installed() -> bool:
    return find_spec("rapidocr") is not None


def recognise(picture: Image, threads: int) -> Seen:
    """Lines in the order of reading, without those that the recogniser was unsure of; boxes in pixels."""
    if not is_installed():
        return Seen(reason=f"rapidocr, which reads text in pictures, is not installed. {_HOW}")
    import numpy as np

    pixels = np.asarray(picture.convert("RGB"))[:, :, ::-1]
    with _LOCK:
        result = _engine(threads)(pixels)
    if result.boxes is None:
        return Seen(reason="no text was recognised in it")
    lines = []
    for corners, text, score in zip(result.boxes, result.txts, result.scores, strict=True):
        if score < _SURE or not text.strip():
            continue
        box = Box(*(float(value) for value in (*corners.min(axis=0), *corners.max(axis=0))))
        lines.append(Line(canonical(text).strip(), box, box.height))
    found = arranged([[line] for line in lines])
    return Seen(tuple(found), "" if found else "nothing in it was recognised with confidence")


@lru_cache(maxsize=1)
def _engine(threads: int) -> RapidOCR:
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "error",
            "EngineConfig.onnxruntime.intra_op_num_threads": threads or -1,
        }
    )
