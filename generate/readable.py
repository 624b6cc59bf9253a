"""How a quote reads in a line of an answer. Its citation keeps it as it stands."""

from __future__ import annotations

import re

from generate.passages import Passage

_BAR = re.compile(r"(?<!\\)\|")
_WRAPPED = re.compile(r"([，。！？；：、])[ \t]*\n\s*")
"""A line that ends after a Chinese stop goes on without a blank."""


def readable(passage: Passage) -> str:
    """The quote in one line; a table's row with the name of each column."""
    cells, names = cells_of(passage.quote), cells_of(passage.header)
    if passage.form != "row" or len(cells) != len(names):
        return " ".join(_WRAPPED.sub(r"\1", passage.quote.strip("|")).split())
    return " · ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=True) if cell)


def cells_of(row: str) -> list[str]:
    """The cells of a row of a Markdown table; an escaped bar does not part them."""
    return [" ".join(cell.split()) for cell in _BAR.split(row.strip().strip("|"))]
