"""reStructuredText notes: docutils finds the sections, the text stays as the lines were written.

Nothing that a file asks for is executed: no raw output is made, nothing is printed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ingest.markup.frontmatter import calendar_date, language
from ingest.markup.outline import Heading, Outline, paragraphs
from ingest.markup.unseen import Unseen, counted
from ingest.parsed import Block, Parsed
from kb.types import Dropped, Role

if TYPE_CHECKING:
    from docutils import nodes

_LONG = 12  # lines; a shorter directive is cited as a whole
_RULE = re.compile(r"([!-/:-@\[-`{-~])\1*\s*$")
_TABLE_RULE = re.compile(r"[ \t]*={2,}(?: +={2,})+[ \t]*$")
_ROLES = (
    (re.compile(r"\.\. (?:code|code-block|sourcecode|parsed-literal|literalinclude|prompt)::"), Role.CODE),
    (re.compile(r"\.\. math::"), Role.MATH),
    (re.compile(r"(?m)\.\. (?:table|list-table|csv-table)::|\+[-=+]{3,}[ \t]*$|={2,}(?: +={2,})+[ \t]*$"), Role.TABLE),
)
_DIRECTIVE = re.compile(r"\.\. (?:\|[^|\n]+\| )?[\w:+.-]+::")
_TARGET = re.compile(r"\.\. _[^\n]*:[ \t]*$")
_SETTING = re.compile(
    r"\.\. (?:highlight|default-role|default-domain|role|contents|sectnum|currentmodule|module|meta)::"
)
_EXPLICIT = re.compile(r"\.\. (?:\[|_|\|)")  # footnotes, targets, substitutions
_FIELD_LINES = 20  # fields of the whole note stand at its top
_FIELD = re.compile(r"(?m)^:(\w+):[ \t]+(.+)$")


class Title(NamedTuple):
    """A section title on the lines `start` to `end`, counted from 0, its rules included."""

    start: int
    end: int
    heading: Heading


def read(text: str, where: str = "") -> Parsed:
    """A reStructuredText note as blocks. Every line that is not blank is in a block or told as dropped."""
    lines = text.split("\n")
    return read_lines(lines, range(1, len(lines) + 1), where)


def read_lines(lines: Sequence[str], numbers: Sequence[int], where: str, *, dropped: Sequence[Dropped] = ()) -> Parsed:
    """As `read`; `numbers` says which line of the file each of `lines` came from, or was included by."""
    walk = _Walk(lines, numbers)
    titles = list(_titles(lines))
    walk.bodies(0, titles[0].start if titles else len(lines), 0)
    for title, following in pairwise([*titles, None]):
        assert title is not None
        walk.outline.enter(title.heading)
        walk.put(title.start, title.end, Role.TITLE)
        walk.bodies(title.end, following.start if following else len(lines), 0)
    fields = {name.lower(): value for name, value in _FIELD.findall("\n".join(lines[:_FIELD_LINES]))}
    return Parsed(
        blocks=tuple(walk.blocks),
        title=titles[0].heading.text if titles else None,
        lang=language(fields.get("language", "")),
        date=calendar_date(fields.get("date", "")),
        version=fields.get("version"),
        dropped=(*dropped, *counted(walk.unseen, where)),
    )


class _Walk:
    """The blocks between titles, in order."""

    def __init__(self, lines: Sequence[str], numbers: Sequence[int]) -> None:
        self.lines = lines
        self.numbers = numbers
        self.outline = Outline()
        self.blocks: list[Block] = []
        self.unseen: defaultdict[Unseen, list[tuple[int, int]]] = defaultdict(list)

    def bodies(self, start: int, end: int, indent: int) -> None:
        """Paragraphs; one that is indented further belongs to the directive, list item or definition above it."""
        merged: list[list[tuple[int, int]]] = []
        for first, last in ((start + a, start + b) for a, b in paragraphs(self.lines[start:end])):
            if merged and (self._indent(first) > indent or self._is_open_table(merged[-1][0][0], merged[-1][-1][1])):
                merged[-1].append((first, last))
            else:
                merged.append([(first, last)])
        for group in merged:
            self._group(group)

    def _group(self, group: Sequence[tuple[int, int]]) -> None:
        (start, first_end), end = group[0], group[-1][1]
        text = "\n".join(self.lines[start:end]).lstrip()
        role = next((role for pattern, role in _ROLES if pattern.match(text)), Role.BODY)
        is_directive = bool(_DIRECTIVE.match(text))
        if kind := _unseen(text):
            self.unseen[kind].append((self.numbers[start], self.numbers[end - 1]))
        elif len(group) > 1 and not is_directive and self.lines[first_end - 1].rstrip().endswith("::"):
            self.put(start, first_end, Role.BODY)
            self.put(group[1][0], end, Role.CODE)
        elif len(group) > 1 and is_directive and role is Role.BODY and end - start > _LONG:
            self.put(start, first_end, Role.BODY)
            self.bodies(group[1][0], end, min(self._indent(first) for first, _ in group[1:]))
        else:
            self.put(start, end, role)

    def put(self, start: int, end: int, role: Role) -> None:
        mark = self.outline.mark(self.numbers[start], self.numbers[end - 1])
        self.blocks.append(Block("\n".join(self.lines[start:end]), mark, role))

    def _indent(self, line: int) -> int:
        return len(self.lines[line]) - len(self.lines[line].lstrip())

    def _is_open_table(self, start: int, end: int) -> bool:
        """Whether a simple table, which may have blank lines, has not come to its last rule yet."""
        rules = [line for line in self.lines[start:end] if _TABLE_RULE.match(line)]
        return bool(_TABLE_RULE.match(self.lines[start])) and (
            len(rules) < 2 or not _TABLE_RULE.match(self.lines[end - 1])
        )


def _unseen(text: str) -> Unseen | None:
    """Why no reader of the page sees any of this; None where it has something to see."""
    if _TARGET.match(text):
        return Unseen("link target", "a name for links, which the page does not show")
    if _SETTING.match(text):
        return Unseen("directive", "an instruction to the builder, not part of the text")
    is_comment = re.match(r"\.\.(?:\s|$)", text) and not _DIRECTIVE.match(text) and not _EXPLICIT.match(text)
    return Unseen("comment", "a comment, which the page does not show") if is_comment else None


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
