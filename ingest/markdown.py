"""Markdown notes: every top-level block verbatim, with its headings, exact lines and the anchor of the built page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest import frontmatter
from ingest.parsed import Block, Parsed
from kb.text import slug
from kb.types import Dropped, Mark, Role

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LONG_LIST = 12  # lines; a shorter list is cited as a whole
_ROLES = {
    "heading_open": Role.TITLE,
    "table_open": Role.TABLE,
    "fence": Role.CODE,
    "code_block": Role.CODE,
    "math_block": Role.MATH,
    "math_block_label": Role.MATH,
}
_BANNER = re.compile(r"licen[cs]e|copyright|SPDX-", re.IGNORECASE)
_EXPLICIT_ID = re.compile(r"\s*\{(?::|/\*)?\s*(?:[^}]*\s)?#([\w:.-]+)[^}]*\}\s*$")
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
        self.open = (*(outer for outer in self.open if outer.level < heading.level), heading)

    def mark(self, first: int, last: int) -> Mark:
        """The place of the lines `first` to `last`, counted from 1."""
        path = tuple(heading.text for heading in self.open)
        return Mark(
            heading_path=path, line_start=first, line_end=last, anchor=self.open[-1].anchor if self.open else ""
        )


class Stretch(NamedTuple):
    """Lines `start` to `end` (counted from 0, `end` excluded) that make one block."""

    start: int
    end: int
    role: Role
    heading: Heading | None = None


def read(text: str, where: str) -> Parsed:
    """A Markdown note as blocks whose lines cover every line that is neither blank, a rule, nor front matter."""
    lines = text.split("\n")
    front = frontmatter.read(lines, where)
    body = [""] * front.lines + lines[front.lines :]
    outline = Outline()
    first_title: str | None = None
    blocks: list[Block] = []
    dropped = list(front.dropped)
    for first, last in front.prose:
        blocks.append(Block("\n".join(lines[first - 1 : last]), outline.mark(first, last), Role.BODY))
    for stretch in _stretches(body):
        if stretch.heading:
            outline.enter(stretch.heading)
            if stretch.heading.level == 1 and first_title is None:
                first_title = stretch.heading.text
        start, end = _trim(body, stretch.start, stretch.end)
        verbatim = "\n".join(body[start:end])
        if _is_banner(verbatim):
            place = f"{where}, line {start + 1}"
            dropped.append(Dropped(what="HTML comment", where=place, reason="a licence banner, not part of the text"))
        else:
            blocks.append(Block(verbatim, outline.mark(start + 1, end), stretch.role))
    return Parsed(
        blocks=tuple(blocks),
        title=front.title or first_title,
        lang=front.lang,
        date=front.date,
        version=front.version,
        url=front.url,
        licence=front.licence,
        dropped=tuple(dropped),
    )


@cache
def _parser() -> MarkdownIt:
    """CommonMark's block structure with tables, footnotes, `$$` formulas and the admonitions of MkDocs and Docusaurus.

    Only blocks are parsed: inline markup matters for headings alone.
    """
    from markdown_it import MarkdownIt
    from mdit_py_plugins.admon import admon_plugin
    from mdit_py_plugins.colon_fence import colon_fence_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for plugin in (footnote_plugin, dollarmath_plugin, admon_plugin, colon_fence_plugin):
        parser.use(plugin)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _stretches(lines: Sequence[str]) -> Iterator[Stretch]:
    """All blocks in order; lines that the parser consumes without a token (link definitions) come as bodies."""
    env: dict[str, Any] = {}
    tokens = _parser().parse("\n".join(lines), env)
    headings = _headings(tokens, env)
    reached = 0
    for position, token in enumerate(tokens):
        if token.level or token.nesting < 0 or token.map is None:
            continue
        start, end = token.map
        yield from _uncovered(lines, reached, start)
        reached = max(reached, end)
        if token.type == "hr":
            continue
        if token.type in ("bullet_list_open", "ordered_list_open") and _height(lines, start, end) > _LONG_LIST:
            yield from (Stretch(first, last, Role.BODY) for first, last in _items(tokens, position, end))
        else:
            yield Stretch(start, end, _ROLES.get(token.type, Role.BODY), headings.get(position))
    yield from _uncovered(lines, reached, len(lines))


def _is_banner(block: str) -> bool:
    """Whether a block is one HTML comment that states a licence."""
    comment = block.strip()
    return comment.startswith("<!--") and comment.find("-->") == len(comment) - 3 and bool(_BANNER.search(comment))


def _height(lines: Sequence[str], start: int, end: int) -> int:
    start, end = _trim(lines, start, end)
    return end - start


def _items(tokens: Sequence[Token], position: int, end: int) -> Iterator[tuple[int, int]]:
    """Stretches of the items of the list that opens at `position`, each up to the next one."""
    starts: list[int] = []
    for token in tokens[position + 1 :]:
        if token.level == 0:
            break
        if token.type == "list_item_open" and token.level == 1 and token.map:
            starts.append(token.map[0])
    yield from zip(starts, [*starts[1:], end], strict=True)


def _uncovered(lines: Sequence[str], start: int, end: int) -> Iterator[Stretch]:
    for first, last in paragraphs(lines[start:end]):
        yield Stretch(start + first, start + last, Role.BODY)


def paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Runs of lines between blank lines, as start and end counted from 0."""
    start: int | None = None
    for number, line in enumerate([*lines, ""]):
        if line.strip():
            start = number if start is None else start
        elif start is not None:
            yield start, number
            start = None


def _trim(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    while start < end - 1 and not lines[start].strip():
        start += 1
    return start, end


# --- headings ---------------------------------------------------------------------------------------------------


def _headings(tokens: Sequence[Token], env: dict[str, Any]) -> dict[int, Heading]:
    """Headings by token position. Those inside lists and quotes take part too, as they use up anchors of the page."""
    found = [
        (position, int(token.tag[1:]), tokens[position + 1].content)
        for position, token in enumerate(tokens)
        if token.type == "heading_open"
    ]
    explicit = [_EXPLICIT_ID.search(content) for _, _, content in found]
    taken = {match[1] for match in explicit if match}
    headings: dict[int, Heading] = {}
    for (position, level, content), match in zip(found, explicit, strict=True):
        text = _plain(content[: match.start()] if match else content, env)
        headings[position] = Heading(text, level, match[1] if match else unique(slug(text), taken))
    return headings


def _plain(content: str, env: dict[str, Any]) -> str:
    """Heading text as a reader sees it: no markup, no HTML, no pictures unless there is nothing else."""
    tokens: list[Token] = []
    _parser().inline.parse(content, _parser(), env, tokens)
    return " ".join("".join(_texts(tokens)).split()) or content.strip()


def _texts(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("text", "code_inline", "math_inline", "text_special"):
            yield token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield " "


def unique(anchor: str, taken: set[str]) -> str:
    """The id that Python-Markdown's `toc` gives a repeated heading: `setup`, `setup_1`, `setup_2`."""
    while anchor in taken or not anchor:
        counted = _COUNTED.fullmatch(anchor)
        anchor = f"{counted[1]}_{int(counted[2]) + 1}" if counted else f"{anchor}_1"
    taken.add(anchor)
    return anchor
