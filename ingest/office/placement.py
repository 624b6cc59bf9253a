"""Where shapes stand on a slide, groups in groups resolved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ingest.pages.layout import Box, around, reading_order

if TYPE_CHECKING:
    from lxml.etree import _Element
    from pptx.shapes.base import BaseShape

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"

_TALLER = 1.5  # than its heading: the text below it
_TOUCHING = 0.2  # of a heading's height: as far may the text reach into it
_NOWHERE = Box(0, 0, 0, 0)
Axis = tuple[float, float]  # factor and offset


@dataclass(frozen=True)
class Placed:
    """A shape that is no group, with its box on the slide in EMU."""

    shape: BaseShape
    box: Box
    on_slide: Box = _NOWHERE  # in shares of the slide's width and height, nothing beyond its edges

    @property
    def share(self) -> float:
        """Of the slide's area."""
        return self.on_slide.width * self.on_slide.height


def in_reading_order(shapes: Iterable[BaseShape], width: int, height: int) -> list[Placed]:
    """The shapes from the top, from the left; a heading and the text below it stay together where several stand
    side by side, as in a comparison."""
    placed = [replace(each, on_slide=_shares(each.box, width, height)) for each in _placed(shapes)]
    groups = _with_headings([each.box for each in placed])
    order = reading_order([around([placed[i].box for i in group]) for group in groups])
    return [placed[i] for number in order for i in groups[number]]


def _shares(box: Box, width: int, height: int) -> Box:
    x, y = 1 / max(1, width), 1 / max(1, height)
    return Box(box.left * x, box.top * y, box.right * x, box.bottom * y) & Box(0, 0, 1, 1)


def _with_headings(boxes: list[Box]) -> list[list[int]]:
    """Indices of boxes: those of a heading and the taller box right below it together, if there is more than one."""
    below: dict[int, int] = {}
    for i, heading in enumerate(boxes):
        for j, body in enumerate(boxes):
            near = 0 <= body.top - heading.bottom + _TOUCHING * heading.height <= heading.height
            aligned = abs(heading.left - body.left) < 0.1 * body.width and heading.width < 1.3 * body.width
            if near and aligned and body.height >= _TALLER * heading.height > 0 and j not in below.values():
                below[i] = j
                break
    side_by_side = {i for i in below for k in below if i != k and boxes[i].shares_line_with(boxes[k])}
    chosen = {i: j for i, j in below.items() if i in side_by_side and j not in side_by_side}
    return [[i, chosen[i]] if i in chosen else [i] for i in range(len(boxes)) if i not in chosen.values()]


def _placed(shapes: Iterable[BaseShape], x: Axis = (1, 0), y: Axis = (1, 0)) -> Iterator[Placed]:
    """Leaves of the tree, `x` and `y` mapping the group's own coordinates onto the slide."""
    for shape in shapes:
        box = _box(shape)
        box = Box(box.left * x[0] + x[1], box.top * y[0] + y[1], box.right * x[0] + x[1], box.bottom * y[0] + y[1])
        inner = getattr(shape, "shapes", None)
        if inner is None:
            yield Placed(shape, box)
        else:
            yield from _placed(inner, *_group_axes(shape.element, box))


def _box(shape: BaseShape) -> Box:
    """Where the shape says it stands; the top left corner where neither it nor its layout says anything."""
    try:
        left, top = shape.left or 0, shape.top or 0
        return Box(left, top, left + (shape.width or 0), top + (shape.height or 0))
    except Exception:  # noqa: BLE001 - python-pptx raises anything where the layout that it would inherit from is broken
        return Box(0, 0, 0, 0)


def _group_axes(group: _Element, box: Box) -> tuple[Axis, Axis]:
    offset, extent = (group.find(f"{_P}grpSpPr/{_A}xfrm/{_A}{name}") for name in ("chOff", "chExt"))
    if offset is None or extent is None:
        return (1, 0), (1, 0)

    def axis(start: float, end: float, inner_start: str, inner_length: str) -> Axis:
        factor = (end - start) / (float(extent.get(inner_length, 0)) or end - start or 1)
        return factor, start - factor * float(offset.get(inner_start, 0))

    return axis(box.left, box.right, "x", "cx"), axis(box.top, box.bottom, "y", "cy")
