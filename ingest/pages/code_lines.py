"""Lines of code, told from other text and given back their indents, which pages keep as positions only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from operator import add
from statistics import median

from ingest.pages.lines import Line

_CODE = re.compile(
    r"^\s*(?:def|class|import|from \S+ import|return|if .*:|elif|else:|for .* in |while|with .*:|try:|except|print\(|"
    r"assert |async |await |yield |raise |export |template|#include|#pragma|using |void |int |float |auto |const |let |"
    r"pip install|docker |curl |vllm |python3? |CUDA_|\$ |>>> ?|@\w|//|#\s?[a-z])"
    r"|[\w)\]]\s?(?:=|\+=|==|:=|->)\s?[\w\"'(\[{-]|\w\(.*[\w\"')\]],?\)?:?$|[;{\\]$|^[\])}]+,?$|\w+_\w+.*[(=,]"
)
_NO_CODE = re.compile(  # sentences and formulas
    r"[.!?。！？；：]\s*$|[\u4e00-\u9fff]{6}|[∑∏∫√∞∅∈≤≥−×·∼α-ωΑ-Ω\U0001d400-\U0001d7ff]|^\w=\w+$"
)
_LEAST_LINES = 2
_SHARE = 0.6  # of the lines
_LONG_LINE = 8  # characters; shorter lines tell nothing of the width of a character
_PARAGRAPH = 1.6  # times the usual distance of lines: a blank line


def is_code(lines: Sequence[Line]) -> bool:
    """Most of the lines look like a program or a command."""
    texts = [line.text for line in rows(lines)]
    hits = sum(bool(_CODE.search(text)) and not _NO_CODE.search(text) for text in texts)
    return len(texts) >= _LEAST_LINES and hits >= _SHARE * len(texts)


def rows(lines: Sequence[Line]) -> list[Line]:
    """Lines from the top, those that stand beside each other joined."""
    found: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.box.top + line.box.bottom):
        if found and line.box.shares_line_with(found[-1][-1].box):
            found[-1].append(line)
        else:
            found.append([line])
    return [reduce(add, sorted(row, key=lambda line: line.box.left)) for row in found]


def indented(lines: Sequence[Line]) -> str:
    """The lines as text, with as many blanks before each as it stands to the right of the leftmost."""
    lines = rows(lines)
    long = [line for line in lines if len(line.text) >= _LONG_LINE] or lines
    width = median(line.box.width / len(line.text) for line in long) or 1.0
    left = min(line.box.left for line in lines)
    steps = [after.box.top - before.box.top for before, after in pairwise(lines)]
    step = median(steps) if steps else 0.0
    text = ""
    for number, line in enumerate(lines):
        indent = 2 * round((line.box.left - left) / width / 2)  # an odd one is a measuring error
        gap = "\n" if number and step and steps[number - 1] > _PARAGRAPH * step else ""
        text += gap + " " * indent + line.text + "\n"
    return text.rstrip("\n")
