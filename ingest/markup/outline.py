"""The headings above a line of a note, with the anchors that its built page gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kb.types import Mark

INNERMOST = 7  # the level of what encloses headings and is none, such as a tab
_COUNTED = re.compile(r"(.*)_(\d+)$")


class Heading(NamedTuple):
    text: str
    level: int
    anchor: str


@dataclass
class Outline:
    """The headings that enclose the current line, innermost last."""

    open: tuple[Heading, ...] = ()

    def enter(self, heading: Heading) -> None:
        above = (outer for outer in self.open if outer.level < heading.level or outer.level == INNERMOST)
        self.open = (*above, heading)

    def mark(self, first: int, last: int) -> Mark:
        """The place of the lines `first` to `last`, counted from 1."""
        path = tuple(heading.text for heading in self.open)
        return Mark(heading_path=path, line_start=first, line_end=last, anchor=self.anchor)

    @property
    def anchor(self) -> str:
        return self.open[-1].anchor if self.open else ""


def unique(anchor: str, taken: set[str]) -> str:
    """The id that Python-Markdown's `toc` gives a repeated heading: `setup`, `setup_1`, `setup_2`."""
    while anchor in taken or not anchor:
        counted = _COUNTED.fullmatch(anchor)
        anchor = f"{counted[1]}_{int(counted[2]) + 1}" if counted else f"{anchor}_1"
    taken.add(anchor)
    return anchor


def paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Runs of lines between blank lines, as start and end counted from 0."""
    start: int | None = None
    for number, line in enumerate([*lines, ""]):
        if line.strip():
            start = number if start is None else start
        elif start is not None:
            yield start, number
            start = None
