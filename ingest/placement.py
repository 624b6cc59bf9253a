"""Where shapes stand on a slide, groups in groups resolved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.layout import Box, reading_order

if TYPE_CHECKING:
    from lxml.etree import _Element
    from pptx.shapes.base import BaseShape

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"

Axis = tuple[float, float]  # factor and offset


@dataclass(frozen=True)
class Placed:
    """A shape that is no group, with its box on the slide in EMU."""

    shape: BaseShape
    box: Box


def in_reading_order(shapes: Iterable[BaseShape]) -> list[Placed]:
    placed = list(_placed(shapes))
    return [placed[i] for i in reading_order([each.box for each in placed])]


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
    except (KeyError, AttributeError):  # the layout it would inherit from is missing
        return Box(0, 0, 0, 0)


def _group_axes(group: _Element, box: Box) -> tuple[Axis, Axis]:
    offset, extent = (group.find(f"{_P}grpSpPr/{_A}xfrm/{_A}{name}") for name in ("chOff", "chExt"))
    if offset is None or extent is None:
        return (1, 0), (1, 0)

    def axis(start: float, end: float, inner_start: str, inner_length: str) -> Axis:
        factor = (end - start) / (float(extent.get(inner_length, 0)) or end - start or 1)
        return factor, start - factor * float(offset.get(inner_start, 0))

    return axis(box.left, box.right, "x", "cx"), axis(box.top, box.bottom, "y", "cy")
