"""Segments cut into pieces that fit: at lines, then sentences, then words, and never inside a character that a reader
sees as one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from kb.text import sentences
from kb.types import Role, Segment

CLOSING = frozenset("。，、；：！？…）】〕」』》〉｝”’.,;:!?)]}")  # may not begin a piece
_FENCE = re.compile(
    r"(?P<indent>[ \t]*(?:>[ \t]?)*)(?P<item>(?:[-*+]|\d+[.)])[ \t]+)?(?P<mark>`{3,}|~{3,}|\$\$)(?P<info>.*)"
)
_DELIMITER_ROW = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)*$")
_SOFT = re.compile(r"\s+|[，、；：|]+\s*")  # where a sentence that is too long may be cut


@dataclass(frozen=True)
class Piece:
    """`segment.text[start:end]`, at most a whole segment.

    `opening` and `closing` are what a chunk adds where it begins or ends here: the opening line of a fence that is cut,
    the header of a table, the closing line of a fence. A `glued` piece says nothing without the next one.
    """

    segment: Segment
    start: int
    end: int
    tokens: int
    opening: str = ""
    closing: str = ""
    glued: bool = False

    @property
    def text(self) -> str:
        return self.segment.text[self.start : self.end]


def cut(segment: Segment, limit: int, count: Callable[[str], int], *, fences: bool) -> list[Piece]:
    """The pieces of a segment in order: the whole where it has at most `limit` tokens, else parts of half of that.

    Args:
        segment: a segment with a text.
        limit: tokens that a piece may have.
        count: tokens of a text, without prefix and special tokens.
        fences: whether the text is Markdown, in which fences are closed and opened again.
    """
    text = segment.text
    is_bare = segment.role is Role.CODE and not _FENCE.match(text)  # code of a notebook, or indented
    frames = _frames(text) if fences and not is_bare else {}
    tokens = count(text)
    if tokens <= limit:
        start = len(text) - len(text.lstrip("\n"))
        return [Piece(segment, start, len(text.rstrip()), tokens, closing=_close(frames.get(len(text) + 1)))]
    header = _header(text, limit, count) if segment.role is Role.TABLE else ""
    by_line = bool(frames) or segment.role in (Role.TABLE, Role.CODE, Role.MATH)
    parts = list(_parts(text, len(header), max(limit // 2, 1), count, by_line=by_line))
    states = [_states(text, start, end, frames) for start, end in parts]
    pieces = []
    for (start, end), (before, after), following in zip(parts, states, [*states[1:], None], strict=True):
        pieces.append(
            Piece(
                segment,
                start,
                end,
                count(text[start:end]),
                opening=_open(before, limit, count) or (f"{header}\n" if header and start else ""),
                closing=_close(after),
                glued=bool(
                    (header and not start) or (after and not before) or (following and not following[1] and after)
                ),
            )
        )
    return pieces


def halve(piece: Piece, count: Callable[[str], int]) -> list[Piece]:
    """Shorter pieces for one that turned out too big; none for a single character."""
    if piece.end - piece.start < 2:
        return []
    text, middle = piece.segment.text, _middle(piece.segment.text, piece.start, piece.end)
    parts = (_strip(text, piece.start, middle), _strip(text, middle, piece.end))
    return [replace(piece, start=a, end=b, tokens=count(text[a:b]), glued=False) for a, b in parts if a < b]


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    stretch = text[start:end]
    return start + len(stretch) - len(stretch.lstrip()), start + len(stretch.rstrip())


def _parts(
    text: str, header: int, limit: int, count: Callable[[str], int], *, by_line: bool
) -> Iterator[tuple[int, int]]:
    """Lines or sentences behind the header, cut further where they are too long."""
    if header:
        yield 0, header
    for start, end in _lines(text) if by_line else sentences(text):
        if end <= header:
            continue
        if count(text[start:end]) <= limit:
            yield start, end
            continue
        for left, right in sentences(text[start:end]):
            yield from _words(text, start + left, start + right, limit, count)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    for found in re.finditer(r"[^\n]+", text):
        if end := len(found[0].rstrip()):
            yield found.start(), found.start() + end


def _words(text: str, start: int, end: int, limit: int, count: Callable[[str], int]) -> Iterator[tuple[int, int]]:
    """Halves of halves, each cut near its middle at the best place there is."""
    if count(text[start:end]) <= limit or end - start < 2:
        yield start, end
        return
    middle = _middle(text, start, end)
    for left, right in ((start, middle), (middle, end)):
        left, right = _strip(text, left, right)
        if left < right:
            yield from _words(text, left, right, limit, count)


def _middle(text: str, start: int, end: int) -> int:
    """Where to cut `text[start:end]` in two: behind a blank or a comma near its middle, else at a whole character."""
    middle, third = (start + end) // 2, (end - start) // 3
    soft = sorted(
        (found.end() for found in _SOFT.finditer(text, start + third, end - third)), key=lambda at: abs(at - middle)
    )
    whole = [at for step in range(middle - start) for at in (middle - step, middle + step)]
    for at in (*soft, *whole):
        if start < at < end and text[at] not in CLOSING and is_boundary(text, at):
            return at
    return next((at for at in whole if start < at < end and is_boundary(text, at)), middle)


def is_boundary(text: str, at: int) -> bool:
    """Whether a character as readers see it may end before `at`: not before marks, joiners, skin tones, second halves
    of flags or Hangul vowels and finals (a conservative reading of Unicode's UAX 29)."""
    before, after = text[at - 1], text[at]
    if unicodedata.category(after) in ("Mn", "Me", "Mc") or "\u200d" in (before, after) or _in(after, 0x1F3FB, 0x1F3FF):
        return False
    if _in(after, 0x1160, 0x11FF) or _in(before, 0x1100, 0x115F) or (before, after) == ("\r", "\n"):
        return False
    if _in(before, 0x1F1E6, 0x1F1FF) and _in(after, 0x1F1E6, 0x1F1FF):
        flags = re.search("[\U0001f1e6-\U0001f1ff]*$", text[:at])
        return flags is not None and len(flags[0]) % 2 == 0
    return not _in(after, 0xE0020, 0xE007F)


def _in(character: str, low: int, high: int) -> bool:
    return low <= ord(character) <= high


# --- fences and table headers -----------------------------------------------------------------------------------


def _frames(text: str) -> dict[int, str]:
    """The opening line of the fence that is open where a line begins, by the line's offset.

    The text's end counts as the beginning of a last line; `$$` lines count as fences of formulas.
    """
    inside: str | None = None
    frames: dict[int, str] = {}
    at = 0
    for line in text.split("\n"):
        inside = _after(line, inside)
        at += len(line) + 1
        if inside:
            frames[at] = inside
    return frames


def _states(text: str, start: int, end: int, frames: Mapping[int, str]) -> tuple[str | None, str | None]:
    """The fences that are open where a part begins and where it ends."""
    line = text.rfind("\n", 0, start) + 1
    following = text.find("\n", end)
    following = len(text) if following < 0 else following
    within = text[end:following].strip()
    return frames.get(line), frames.get(text.rfind("\n", 0, end) + 1 if within else following + 1)


def _after(line: str, inside: str | None) -> str | None:
    """The fence that is open behind a line, as its opening line with a list marker blanked."""
    found = _FENCE.match(line)
    if not found:
        return None if inside and inside.lstrip(" \t>").startswith("$$") and line.rstrip().endswith("$$") else inside
    mark, info = found["mark"], found["info"].strip()
    if inside:
        opened = inside.lstrip(" \t>")
        width = len(opened) - len(opened.lstrip(opened[0]))
        closes = mark[0] == opened[0] and len(mark) >= width and not info
        return None if closes else inside
    if (mark[0] == "`" and "`" in info) or (mark == "$$" and "$$" in info):
        return None
    blanked = " " * len(found["item"] or "")
    return f"{found['indent']}{blanked}{mark}{'' if mark == '$$' else found['info']}".rstrip()


def _open(fence: str | None, limit: int, count: Callable[[str], int]) -> str:
    if not fence:
        return ""
    return f"{fence if count(fence) <= limit // 4 else _bare(fence)}\n"


def _close(fence: str | None) -> str:
    return f"\n{_bare(fence)}" if fence else ""


def _bare(fence: str) -> str:
    found = _FENCE.match(fence)
    assert found is not None
    return found["indent"] + found["mark"]


def _header(text: str, limit: int, count: Callable[[str], int]) -> str:
    """The rows of a table that each part repeats: up to its delimiter row, else its first row."""
    lines = text.split("\n")
    ends = next((number for number, line in enumerate(lines[:4]) if number and _DELIMITER_ROW.match(line)), 0)
    header = "\n".join(lines[: ends + 1])
    return header if count(header) <= limit // 3 else ""
