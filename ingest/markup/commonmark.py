"""Markdown's block structure as MkDocs, GitHub and Docusaurus read it, and the headings of a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ingest.markup.outline import Heading, unique
from kb.text import slug

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode

TAB = "tab"
ADMONITION = "admonition"
_INDENTED = re.compile(r'(?:!!!|\?\?\?\+?) ?(?P<kind>\w[^"]*)|===[!+]* ["\'](?P<tab>.*)["\'] *$')
_INDENT = 4  # columns, Python-Markdown's tab length
_EXPLICIT_ID = re.compile(r"\s*\{(?::|/\*)?\s*(?:[^}]*\s)?#([\w:.-]+)[^}]*\}\s*$")


def parse(lines: Sequence[str], *, mdx: bool = False) -> tuple[SyntaxTreeNode, dict[int, Heading]]:
    """The tree of blocks, and the headings by their first line, counted from 0.

    Headings inside lists and quotes are among them, as they use up anchors of the page.
    """
    from markdown_it.tree import SyntaxTreeNode

    env: dict[str, Any] = {}
    tokens = parser(mdx=mdx).parse("\n".join(lines), env)
    return SyntaxTreeNode(tokens), _headings(tokens, env)


@cache
def parser(*, mdx: bool = False) -> MarkdownIt:
    """CommonMark with tables, footnotes, `$$` formulas, admonitions (`!!!`, `???`, `:::`, `///`) and tabs (`===`).

    Only blocks are parsed: inline markup matters for headings alone. MDX has no indented code.
    """
    from markdown_it import MarkdownIt
    from mdit_py_plugins.container import container_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    made = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    made.use(footnote_plugin).use(dollarmath_plugin)
    for marker in ":/":
        made.use(container_plugin, f"container{marker}", marker, validate=lambda params, _: bool(params.strip()))
    alternatives = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    made.block.ruler.before("fence", "indented", _indented, alternatives)  # type: ignore[arg-type]
    made.core.ruler.enableOnly(["normalize", "block"])
    return made.disable("code") if mdx else made


def _indented(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001  markdown-it's signature
    """Admonitions and tabs as Python-Markdown has them: a line that opens, and all indented lines below it."""
    found = _INDENTED.match(state.src, state.bMarks[start] + state.tShift[start], state.eMarks[start])
    if not found or state.sCount[start] - state.blkIndent >= _INDENT:
        return False
    if silent:
        return True
    indent = state.sCount[start] + _INDENT
    after = start + 1
    while after < end and (state.isEmpty(after) or state.sCount[after] >= indent):
        after += 1
    name = ADMONITION if found["tab"] is None else TAB
    opening = state.push(f"{name}_open", "div", 1)
    opening.block, opening.map, opening.info = True, [start, after], found["tab"] or ""
    before = state.parentType, state.lineMax, state.blkIndent
    state.parentType, state.lineMax, state.blkIndent = name, after, indent
    state.md.block.tokenize(state, start + 1, after)
    state.parentType, state.lineMax, state.blkIndent = before
    state.push(f"{name}_close", "div", -1)
    state.line = after
    return True


def _headings(tokens: Sequence[Token], env: dict[str, Any]) -> dict[int, Heading]:
    found = [
        (token.map[0], int(token.tag[1:]), tokens[position + 1].content)
        for position, token in enumerate(tokens)
        if token.type == "heading_open" and token.map
    ]
    explicit = [_EXPLICIT_ID.search(content) for _, _, content in found]
    taken = {match[1] for match in explicit if match}
    headings: dict[int, Heading] = {}
    for (line, level, content), match in zip(found, explicit, strict=True):
        text = _plain(content[: match.start()] if match else content, env)
        headings[line] = Heading(text, level, match[1] if match else unique(slug(text), taken))
    return headings


def _plain(content: str, env: dict[str, Any]) -> str:
    """Heading text as a reader sees it: no markup, no HTML, no pictures unless there is nothing else."""
    tokens: list[Token] = []
    parser().inline.parse(content, parser(), env, tokens)
    return " ".join("".join(_texts(tokens)).split()) or content.strip()


def _texts(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("text", "code_inline", "math_inline", "text_special"):
            yield token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
