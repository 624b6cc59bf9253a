"""How much a scene of the video looks like a slide. The comparison is numpy alone, on small grey pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.alignment.scenes import HEIGHT, WIDTH, Scenes

Matrix = NDArray[np.float64]
Box = tuple[float, float, float, float]  # left, top, right, bottom, as shares of the frame

_GRID = 32, 18  # cells that two pictures are compared in
_SIZES = (1.0, 0.9, 0.8, 0.75, 0.7, 0.6)  # of the slide in the frame, beside or behind a speaker
_PLACES = (0.0, 0.5, 1.0)
_STEPS = (0.04, 0.03, 0.02, 0.02, 0.01, 0.01)  # by which the best box is then moved
_TRIED = 60  # scenes, about, that boxes are tried on
_SEEN = 0.75  # correlation at which a slide is recognised
_FEW = 0.1  # share of the time in which slides must be recognised before the video has a say
_NATS, _MOST = 10.0, 6.0  # for each unit of correlation; and what a scene says at most


def by_picture(scenes: Scenes, slides: Sequence[Path | None], spans: Sequence[tuple[int, int]]) -> Matrix:
    """Log-odds that the slide is what the video shows during each span of milliseconds.

    Shape `(spans, slides)`; all 0 where the video shows no slides, or there are no pictures of them. A slide without a
    picture may be any scene that is none of the others.
    """
    drawn = {at: picture for at, path in enumerate(slides) if path and (picture := _grey(path)) is not None}
    votes = np.zeros((len(spans), len(slides)))
    if len(drawn) < 2:
        return votes
    likeness = _likeness(scenes, np.stack(list(drawn.values())))
    shares = _shares(scenes, spans)
    if shares.sum(axis=0) @ (likeness.max(axis=1) > _SEEN) < _FEW * len(spans):
        return votes
    best = likeness.max(axis=1, keepdims=True)
    scored = np.repeat(np.where(best > _SEEN, -_MOST / 3, 0.0), len(slides), axis=1)
    scored[:, list(drawn)] = np.clip(_NATS * (likeness - (_SEEN - 0.15)), -_MOST / 3, _MOST)
    scored[:, list(drawn)] -= np.clip(_NATS * (best - likeness), 0, _MOST) / 2  # the best looks best
    seen: Matrix = shares @ scored
    return seen


def _grey(path: Path) -> Matrix | None:
    """Shape `(HEIGHT, WIDTH)`, with the slide's own width and height squeezed into it."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("L").resize((WIDTH, HEIGHT), Image.Resampling.BOX), dtype=np.float64)
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError):
        return None


def _likeness(scenes: Scenes, drawn: Matrix) -> Matrix:
    """Correlation of each scene with each slide, `(scenes, slides)`, in the box of the frame where they fit best.

    What all slides have in common, such as the colours of their template, is taken away before.
    """
    slides = _cells(_sums(drawn), (0.0, 0.0, 1.0, 1.0))
    common = slides.mean(axis=0)
    slides = _unit(slides - common)
    frames = _sums(scenes.pictures.astype(np.float64))
    some = frames[:: len(frames) // _TRIED + 1]

    def likeness(frames: Matrix, box: Box) -> Matrix:
        return _unit(_cells(frames, box) - common) @ slides.T

    def fit(box: Box) -> float:
        return float(np.sort(likeness(some, box).max(axis=1))[len(some) // 3 :].mean())

    best = max(_boxes(), key=fit)
    for step in _STEPS:
        best = max(_moved(best, step), key=fit)
    return likeness(frames, best)


def _moved(box: Box, step: float) -> Iterator[Box]:
    """The box, and the same with each of its sides a little further in or out, inside the frame."""
    yield box
    for side in range(4):
        for change in (-step, step):
            moved = [*box]
            moved[side] = min(1.0, max(0.0, box[side] + change))
            if moved[2] - moved[0] > 0.3 and moved[3] - moved[1] > 0.3:
                yield moved[0], moved[1], moved[2], moved[3]


def _boxes() -> Iterator[Box]:
    """Where a slide may stand in the frame: as wide as the frame, or as 4:3 in 16:9; anywhere, if smaller."""
    for narrow in (1.0, 0.75):
        for size in _SIZES:
            width, height = size * narrow, size
            for left in _PLACES if width < 1 else (0.0,):
                for top in _PLACES if height < 1 else (0.0,):
                    x, y = left * (1 - width), top * (1 - height)
                    yield x, y, x + width, y + height


def _sums(pictures: Matrix) -> Matrix:
    """Of all that lies above and to the left of each corner of a pixel, so that any rectangle is summed at once (Crow,
    "Summed-area tables for texture mapping", 1984)."""
    sums: Matrix = np.pad(pictures.cumsum(axis=1).cumsum(axis=2), ((0, 0), (1, 0), (1, 0)))
    return sums


def _cells(sums: Matrix, box: Box) -> Matrix:
    """Mean grey of each cell of a box, `(pictures, cells)`; a cell may begin inside a pixel."""
    height, width = sums.shape[1] - 1, sums.shape[2] - 1
    at_rows = _between(sums, np.linspace(box[1], box[3], _GRID[1] + 1) * height, axis=1)
    corner = _between(at_rows, np.linspace(box[0], box[2], _GRID[0] + 1) * width, axis=2)
    totals = corner[:, 1:, 1:] - corner[:, :-1, 1:] - corner[:, 1:, :-1] + corner[:, :-1, :-1]
    area = (box[3] - box[1]) * height / _GRID[1] * (box[2] - box[0]) * width / _GRID[0]
    means: Matrix = totals.reshape(len(sums), -1) / area
    return means


def _between(sums: Matrix, places: NDArray[np.float64], axis: int) -> Matrix:
    low = np.minimum(places.astype(np.intp), sums.shape[axis] - 2)
    share = (places - low).reshape([-1 if at == axis else 1 for at in range(3)])
    values: Matrix = sums.take(low, axis) * (1 - share) + sums.take(low + 1, axis) * share
    return values


def _unit(rows: Matrix) -> Matrix:
    centred = rows - rows.mean(axis=1, keepdims=True)
    unit: Matrix = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-9)
    return unit


def _shares(scenes: Scenes, spans: Sequence[tuple[int, int]]) -> Matrix:
    """How much of each span each scene takes, `(spans, scenes)`, rows of sum 1."""
    begins = scenes.starts.astype(np.float64)
    ends = np.append(begins[1:], np.inf)
    begins[0] = 0.0
    at = np.array(spans, dtype=np.float64)
    at[:, 1] = np.maximum(at[:, 1], at[:, 0] + 1)
    overlap = np.minimum(at[:, 1:], ends[None, :]) - np.maximum(at[:, :1], begins[None, :])
    overlap = np.maximum(overlap, 0.0)
    shares: Matrix = overlap / np.maximum(overlap.sum(axis=1, keepdims=True), 1e-9)
    return shares
