"""Pictures on PDF pages: where they stand, how they look, and what the text layer says in their place.

A picture is an image, or a drawing whose letters are outlines. Parts that touch are one picture, because programs that
write PDF cut images into strips. Boxes are those of the page as it is shown, in points, y downwards.
"""

from __future__ import annotations

from ctypes import byref, c_int
from typing import TYPE_CHECKING, NamedTuple

from ingest.pages.layout import Box, around, clusters
from ingest.pages.ocr import SIDE

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfObject, PdfPage, PdfTextPage

_LEAST_SHARE = 0.01  # of the page's area; smaller images are logos and bullets
_NEAR = 0.12  # of the page's height: letters that are outlines of one drawing lie no further from each other
_OUTLINES = 12  # on a page: fewer shapes that could be letters are arrows and frames
_LABEL = 3  # of them in one place: fewer are no word
_LETTER_SEGMENTS = 6  # fewer draw a line or a rectangle
_LETTER_HEIGHT = 0.06  # of the page's height, at most
_MOST_PARTS = 500  # a drawing of more is looked at as a whole
_OVERLAP = 0.5  # of the smaller of two pictures: they are looked at as one
_DEEPEST = 8  # forms inside forms
_SHARPEST = 4.0  # pixels a point
_FINE = 16  # steps a point, because PDFium's device coordinates are whole numbers


class Picture(NamedTuple):
    """Where a picture stands, and the share of the page's area that it takes."""

    box: Box
    share: float


def find_pictures(page: PdfPage) -> list[Picture]:
    """Those that are large enough to say something, from the top."""
    width, height = page.get_size()
    whole, area = Box(0, 0, width, height), max(1.0, width * height)
    images, outlines = _parts(page, height)
    strips = clusters(images, lambda one, other: one.abuts(other, 0.005 * height))
    found = [around(group) & whole for group in strips]
    found = [box for box in found if box.width * box.height >= _LEAST_SHARE * area]
    if len(outlines) >= _OUTLINES:
        words = clusters(outlines, lambda one, other: one.lies_near(other, _NEAR * height))
        found += [around(group) & whole for group in words if len(group) >= _LABEL]
    seen = sorted((around(group) for group in clusters(found, _overlap)), key=lambda box: (box.top, box.left))
    return [Picture(box, min(1.0, box.width * box.height / area)) for box in seen]


def _overlap(one: Box, other: Box) -> bool:
    return one.covers(other, _OVERLAP) or other.covers(one, _OVERLAP)


def draw(page: PdfPage, box: Box) -> Image:
    """That part of the page, its longer side `SIDE` pixels long where it is not too small for it.

    Raises:
        pypdfium2.PdfiumError: if it cannot be drawn.
    """
    width, height = page.get_size()
    scale = min(SIDE / max(box.width, box.height), _SHARPEST)
    bitmap = page.render(scale=scale, crop=(box.left, height - box.bottom, width - box.right, box.top))
    picture: Image = bitmap.to_pil().copy()  # the bitmap's memory goes with it
    bitmap.close()
    return picture


def has_hidden_text(page: PdfPage) -> bool:
    """The text cannot be seen: someone laid it under a scan, and says there what the picture shows."""
    from pypdfium2 import raw

    texts = list(page.get_objects(filter=(raw.FPDF_PAGEOBJ_TEXT,), max_depth=_DEEPEST))
    hidden = raw.FPDF_TEXTRENDERMODE_INVISIBLE
    return bool(texts) and all(raw.FPDFTextObj_GetTextRenderMode(text) == hidden for text in texts)


def text_boxes(page: PdfPage, text_page: PdfTextPage) -> list[Box]:
    """Where the text layer has text."""
    return [_shown(page, text_page.get_rect(i)) for i in range(text_page.count_rects())]


def _parts(page: PdfPage, height: float) -> tuple[list[Box], list[Box]]:
    """Images, and paths that could be letters."""
    from pypdfium2 import raw

    images: list[Box] = []
    outlines: list[Box] = []
    for part in page.get_objects(filter=(raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_PATH), max_depth=_DEEPEST):
        if part.type == raw.FPDF_PAGEOBJ_IMAGE:
            images.append(_shown(page, _bounds(part)))
        elif raw.FPDFPath_CountSegments(part) >= _LETTER_SEGMENTS:
            box = _shown(page, _bounds(part))
            if box.height <= _LETTER_HEIGHT * height:
                outlines.append(box)
    return tuple([around(boxes)] if len(boxes) > _MOST_PARTS else boxes for boxes in (images, outlines))  # type: ignore[return-value]


def _bounds(part: PdfObject) -> tuple[float, float, float, float]:
    """Left, bottom, right and top on the page; PDFium gives them in the form that the part belongs to."""
    corners: tuple[float, float, float, float] = part.get_bounds()
    form = part.container
    while form is not None:
        matrix = form.get_matrix()
        points = [matrix.on_point(x, y) for x in corners[0::2] for y in corners[1::2]]
        xs, ys = zip(*points, strict=True)
        corners = (min(xs), min(ys), max(xs), max(ys))
        form = form.container
    return corners


def _shown(page: PdfPage, corners: tuple[float, float, float, float]) -> Box:
    """The box on the page as it is shown: turned and cut as the page says."""
    from pypdfium2 import raw

    width, height = (round(side * _FINE) for side in page.get_size())
    points = []
    for x, y in (corners[:2], corners[2:]):
        across, down = c_int(), c_int()
        raw.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, byref(across), byref(down))
        points.append((across.value / _FINE, down.value / _FINE))
    (x1, y1), (x2, y2) = points
    return Box(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
