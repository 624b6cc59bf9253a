"""Formulas whose parts the text layer keeps apart: put together from the left, fractions as `(a)/(b)`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from ingest.pages.layout import clusters
from ingest.pages.lines import Line, around
from kb.text import HAN
from kb.types import Role

_SYMBOL = re.compile("[\U0001d400-\U0001d7ff]")  # letters of the fonts for formulas
_TOKEN = re.compile("[A-Za-z]+|[\U0001d400-\U0001d7ff]")
_SHARE = 1 / 3  # of the words and symbols
_LONGEST = 100  # characters; longer lines are sentences with symbols in them
_NEAR = 1.0  # heights of the text: parts of one formula lie no further from each other
_OFF = 0.35  # heights of the text: what is further from the formula's own line is above or below it
_SIGNS = str.maketrans("σς", "∑∏")  # PowerPoint's PDF names its large signs so; Greek letters in formulas are others


def is_formula(text: str) -> bool:
    """Symbols make up a good part of it, and it is no sentence."""
    symbols, tokens = len(_SYMBOL.findall(text)), len(_TOKEN.findall(text))
    return 0 < symbols >= _SHARE * tokens and len(text) <= _LONGEST and not HAN.search(text)


def signs(formula: str) -> str:
    """The formula with the signs that are seen."""
    return formula.translate(_SIGNS)


def with_formulas(groups: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The groups, parts of formulas that stand next to each other put into one line each."""
    parts = [line for group in groups if _joins(group) for line in group]
    found = [_with_inline(group) for group in groups if not _joins(group)]
    lines = {line.box: line for line in parts}
    size = min((line.size for line in parts), default=0.0)
    for boxes in clusters(list(lines), lambda one, other: one.lies_near(other, _NEAR * size)):
        members = [lines[box] for box in boxes]
        formula = any(line.role is Role.MATH for line in members)
        found += [[_composed(members)]] if formula else [[line] for line in members]
    return found


def _joins(group: Sequence[Line]) -> bool:
    return all(line.role is Role.MATH or not any(c.isalnum() for c in line.text) for line in group)


def _with_inline(group: Sequence[Line]) -> list[Line]:
    """A symbol in the middle of a sentence belongs to the sentence."""
    text = [line.box for line in group if line.role is Role.BODY]
    inline = [line.role is Role.MATH and any(line.box.shares_line_with(box) for box in text) for line in group]
    return [replace(line, role=Role.BODY) if inside else line for line, inside in zip(group, inline, strict=True)]


def _composed(parts: Sequence[Line]) -> Line:
    """What stands above and below each other between two parts of the formula's own line is a fraction."""
    box = around(parts)
    middle, slack = (box.top + box.bottom) / 2, _OFF * max(line.size for line in parts)
    texts: list[str] = []
    for fraction, group in groupby(sorted(parts, key=_left), lambda line: abs(_centre(line) - middle) > slack):
        members = list(group)
        above = " ".join(line.text for line in members if _centre(line) < middle)
        below = " ".join(line.text for line in members if _centre(line) >= middle)
        texts.append(f"({above})/({below})" if fraction and above and below else " ".join(m.text for m in members))
    return Line(" ".join(texts), box, max(line.size for line in parts), Role.MATH)


def _left(line: Line) -> float:
    return line.box.left


def _centre(line: Line) -> float:
    return (line.box.top + line.box.bottom) / 2
