"""reStructuredText notes: docutils finds the sections, the text stays as the lines were written.

Nothing that a file asks for is executed: no file is included, no raw output is made, nothing is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ingest.markdown import Heading, Outline, paragraphs
from ingest.parsed import Block, Parsed
from kb.types import Role

if TYPE_CHECKING:
    from docutils import nodes

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1*\s*$")
_ROLES = (
    (re.compile(r"\.\. (?:code|code-block|sourcecode|highlight|parsed-literal|literalinclude|prompt)::"), Role.CODE),
    (re.compile(r"\.\. math::"), Role.MATH),
    (re.compile(r"(?m)\.\. (?:table|list-table|csv-table)::|\+[-=+]{3,}[ \t]*$|={2,}(?: +={2,})+[ \t]*$"), Role.TABLE),
)


class Title(NamedTuple):
    """A section title on the lines `start` to `end`, counted from 0, its rules included."""

    start: int
    end: int
    heading: Heading


def read(text: str) -> Parsed:
    """A reStructuredText note as blocks whose lines cover every line that is not blank."""
    lines = text.split("\n")
    outline = Outline()
    titles = list(_titles(lines))
    blocks = list(_bodies(lines, 0, titles[0].start if titles else len(lines), outline))
    for title, following in pairwise([*titles, None]):
        assert title is not None
        outline.enter(title.heading)
        verbatim = "\n".join(lines[title.start : title.end])
        blocks.append(Block(verbatim, outline.mark(title.start + 1, title.end), Role.TITLE))
        blocks += _bodies(lines, title.end, following.start if following else len(lines), outline)
    return Parsed(blocks=tuple(blocks), title=titles[0].heading.text if titles else None)


def _titles(lines: Sequence[str]) -> Iterator[Title]:
    import io

    from docutils import nodes
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.utils import new_document

    settings = get_default_settings(Parser)
    settings.file_insertion_enabled = False
    settings.raw_enabled = False
    settings.syntax_highlight = "none"
    settings.report_level = settings.halt_level = 5  # above every message there is
    settings.warning_stream = io.StringIO()
    document = new_document("", settings)
    # docutils breaks lines at every Unicode line separator; ours are line feeds only.
    Parser().parse("\n".join(re.sub(r"[\v\f\x1c-\x1e\x85\u2028\u2029]", " ", line) for line in lines), document)
    reached = 0
    for section in document.findall(nodes.section):
        title = section.next_node(nodes.title)
        if section.line is None or title is None:
            continue
        rule = section.line - 1  # docutils names the line of the rule below the title
        start = rule - 2 if _is_overlined(lines, rule) else rule - 1
        if start >= reached:
            reached = rule + 1
            anchor = section["ids"][0] if section["ids"] else ""
            yield Title(start, reached, Heading(" ".join(title.astext().split()), _depth(section), anchor))


def _is_overlined(lines: Sequence[str], rule: int) -> bool:
    return rule >= 2 and bool(_RULE.match(lines[rule])) and lines[rule - 2].rstrip() == lines[rule].rstrip()


def _depth(section: nodes.section) -> int:
    depth, ancestor = 1, section.parent
    while ancestor.tagname == "section":
        depth, ancestor = depth + 1, ancestor.parent
    return depth


def _bodies(lines: Sequence[str], start: int, end: int, outline: Outline) -> Iterator[Block]:
    """Paragraphs; an indented one belongs to the directive, list item or definition above it."""
    merged: list[tuple[int, int]] = []
    for first, last in paragraphs(lines[start:end]):
        if merged and lines[start + first][0].isspace():
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    for first, last in merged:
        verbatim = "\n".join(lines[start + first : start + last])
        role = next((role for pattern, role in _ROLES if pattern.match(verbatim)), Role.BODY)
        yield Block(verbatim, outline.mark(start + first + 1, start + last), role)
