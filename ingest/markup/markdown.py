"""Markdown notes: every block verbatim, with its headings, exact lines and the anchor of the built page."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ingest.markup import frontmatter
from ingest.markup.commonmark import ADMONITION, TAB, parse
from ingest.markup.outline import INNERMOST, Heading, Outline, paragraphs
from ingest.markup.unseen import Unseen, counted, unseen
from ingest.parsed import Block, Parsed
from kb.types import Dropped, Role

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_LONG = 12  # lines; a shorter list, quote or admonition is cited as a whole
_ROLES = {
    "heading": Role.TITLE,
    "table": Role.TABLE,
    "fence": Role.CODE,
    "code_block": Role.CODE,
    "math_block": Role.MATH,
    "math_block_label": Role.MATH,
}
_LISTS = ("bullet_list", "ordered_list")
_CONTAINERS = (*_LISTS, "list_item", "blockquote", "footnote_reference", ADMONITION, "container:", "container/")
_MATH = re.compile(r"\\\[.*\\\]|\\begin\{(\w+\*?)\}.*\\end\{\1\}", re.DOTALL)
_HTML_TABLE = re.compile(r"<table[\s>]", re.IGNORECASE)
_CLOSING = re.compile(r"[ \t>]*(?::{3,}|/{3,})[ \t]*$")


def read(text: str, where: str, *, mdx: bool = False) -> Parsed:
    """A Markdown note as blocks. Every line is in a block or told as dropped, unless it is blank, a rule, or front
    matter that says something of the whole note."""
    lines = text.split("\n")
    return read_lines(lines, range(1, len(lines) + 1), where, mdx=mdx)


def read_lines(
    lines: Sequence[str],
    numbers: Sequence[int],
    where: str,
    *,
    mdx: bool = False,
    outline: Outline | None = None,
    dropped: Sequence[Dropped] = (),
) -> Parsed:
    """As `read`.

    Args:
        numbers: which line of the file each of `lines` came from, or was included by.
        outline: the headings above, for a part of a note; what the part adds stays in it.
        dropped: what was left out before.
    """
    front = frontmatter.read(lines, where)
    walk = _Walk([""] * front.lines + list(lines[front.lines :]), numbers, outline or Outline(), mdx=mdx)
    for first, last in front.prose:
        mark = walk.outline.mark(numbers[first - 1], numbers[last - 1])
        walk.blocks.append(Block("\n".join(lines[first - 1 : last]), mark, Role.BODY))
    walk.document()
    return Parsed(
        blocks=tuple(walk.blocks),
        title=front.title or walk.title,
        lang=front.lang,
        date=front.date,
        version=front.version,
        url=front.url,
        licence=front.licence,
        dropped=(*front.dropped, *dropped, *counted(walk.unseen, where)),
    )


class _Walk:
    """The blocks of a note in order; what is too long to be cited as a whole is entered."""

    def __init__(self, lines: Sequence[str], numbers: Sequence[int], outline: Outline, *, mdx: bool) -> None:
        self.lines = lines
        self.numbers = numbers
        self.mdx = mdx
        self.outline = outline
        self.title: str | None = None
        self.blocks: list[Block] = []
        self.unseen: defaultdict[Unseen, list[tuple[int, int]]] = defaultdict(list)
        self._headings: dict[int, Heading] = {}

    def document(self) -> None:
        tree, self._headings = parse(self.lines, mdx=self.mdx)
        self._all(tree.children, 0, len(self.lines))

    def _all(self, nodes: Sequence[SyntaxTreeNode], start: int, end: int, *, inside: bool = False) -> None:
        """The lines from `start` to `end`: of the nodes, and those that the parser has no node for, such as the
        definitions of links. Inside a container, the line that opens it goes with the text that follows."""
        leads = inside and bool(nodes) and _is_text(nodes[0]) and not self._is_divided(nodes[0])
        reached = start
        for node in nodes:
            if node.map is None:
                continue
            first, last = node.map
            if leads:
                first, leads = start, False
            self._between(reached, first)
            last = self._with_closing(node, last)
            if node.type != "hr":
                self._one(node, max(first, reached), last)
            reached = max(reached, last)
        self._between(reached, end)

    def _one(self, node: SyntaxTreeNode, start: int, end: int) -> None:
        if not self._is_divided(node):
            self._put(start, end, _ROLES.get(node.type, Role.BODY), self._headings.get(start))
        elif node.type in _LISTS:
            starts = [item.map[0] for item in node.children if item.map]
            for item, first, last in zip(node.children, starts, [*starts[1:], end], strict=True):
                self._one(item, first, last)
        else:
            outside = self.outline.open
            if node.type == TAB:
                self.outline.enter(Heading(node.info, INNERMOST, self.outline.anchor))
            self._all(node.children, start, end, inside=True)
            self.outline.open = outside

    def _is_divided(self, node: SyntaxTreeNode) -> bool:
        if node.type == TAB:
            return True
        if node.type not in _CONTAINERS or node.map is None or not node.children:
            return False
        start, end = self._trimmed(*node.map)
        return end - start > _LONG

    def _with_closing(self, node: SyntaxTreeNode, end: int) -> int:
        """The end with the line that closes a `:::` or `///` block, which the parser leaves out."""
        closed = node.type.startswith("container") and end < len(self.lines) and _CLOSING.match(self.lines[end])
        return end + 1 if closed else end

    def _between(self, start: int, end: int) -> None:
        for first, last in paragraphs(self.lines[start:end]):
            self._put(start + first, start + last, Role.BODY)

    def _put(self, start: int, end: int, role: Role, heading: Heading | None = None) -> None:
        if heading and role is Role.TITLE:
            self.outline.enter(heading)
            if heading.level == 1 and self.title is None:
                self.title = heading.text
        start, end = self._trimmed(start, end)
        verbatim = "\n".join(self.lines[start:end])
        first, last = self.numbers[start], self.numbers[end - 1]
        kind = unseen(verbatim, mdx=self.mdx) if role is Role.BODY else None
        if kind:
            self.unseen[kind].append((first, last))
        else:
            self.blocks.append(Block(verbatim, self.outline.mark(first, last), _role(verbatim, role)))

    def _trimmed(self, start: int, end: int) -> tuple[int, int]:
        while end > start + 1 and not self.lines[end - 1].strip():
            end -= 1
        while start < end - 1 and not self.lines[start].strip():
            start += 1
        return start, end


def _is_text(node: SyntaxTreeNode) -> bool:
    return node.type in ("paragraph", *_LISTS)


def _role(verbatim: str, role: Role) -> Role:
    if role is Role.BODY and _MATH.fullmatch(verbatim.strip()):
        return Role.MATH
    return Role.TABLE if role is Role.BODY and _HTML_TABLE.match(verbatim.lstrip()) else role
