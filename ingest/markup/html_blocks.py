"""Elements of a web page as blocks of text; links, pictures, code and formulas are written as in Markdown."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ingest.markup.html_unseen import PICTURE, UNSHOWN, is_formula, loss_of, names
from ingest.markup.outline import Heading, Outline
from ingest.markup.unseen import Unseen
from ingest.parsed import Block
from kb.text import canonical, slug
from kb.types import Dropped, Role

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_BLOCKS = names(
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hgroup hr li main nav ol p pre section summary table ul"
)
_WHITE = re.compile(r"\s+")
_LINK = re.compile(r"(?:https?:|mailto:|[^#:?]+(?:[?#]|$))", re.IGNORECASE)  # with a scheme, only these
_LONG = 12  # items; a shorter list is cited as a whole
_CELL_WORDS = 60  # a table of larger cells lays out a page


class Walk:
    """Blocks in the order of the page. Text collects until an element begins or ends that stands on its own."""

    def __init__(self, *, page_level: bool) -> None:
        self.blocks: list[Block] = []
        self.title: str | None = None
        self._page_level = page_level  # whether menus and footers of the page are inside
        self._outline = Outline()
        self._lost: Counter[Unseen] = Counter()
        self._text: list[str] = []
        self._line = 1
        self._since = 0  # the line where the collected text begins; 0 while there is none
        self._last = 0  # and the one where it ends

    def dropped(self, where: str) -> tuple[Dropped, ...]:
        return tuple(
            Dropped(what=what if count == 1 else f"{count} × {what}", where=where, reason=reason)
            for (what, reason), count in self._lost.items()
        )

    def block(self, element: HtmlElement) -> None:
        """An element that stands on its own, with all that is in it."""
        self.flush()
        self._reach(element)
        if element.tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self._heading(element)
        elif element.tag == "pre":
            self._inline(element, verbatim=True)
            self.flush(Role.CODE)
        elif element.tag == "table" and (rows := self._rows(element)):
            self._put("\n".join(rows), Role.TABLE)
        elif element.tag in ("ul", "ol") and self._is_short(element):
            self._list(element)
        else:
            if element.tag == "li":
                self._write("- ")
            self._inline(element)
            self.flush()

    def flush(self, role: Role = Role.BODY) -> None:
        """The collected text as a block."""
        text = "".join(self._text)
        self._text = []
        if role is not Role.CODE:
            text = "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))
        text = text.strip("\n")
        if text.strip() not in ("", "-"):
            self._put(text, role)
        self._since = 0

    def _put(self, text: str, role: Role) -> None:
        first = self._since or self._line
        self.blocks.append(Block(canonical(text), self._outline.mark(first, max(self._last, first)), role))
        self._since = 0

    def _heading(self, element: HtmlElement) -> None:
        self._inline(element)
        text = canonical(" ".join("".join(self._text).split()))
        self._text, self._since = [], 0
        if not text:
            return
        named = (*element.iter(), *element.iterancestors("section"))
        anchor = next((name for one in named if (name := one.get("id") or one.get("name"))), slug(text))
        level = int(element.tag[1])
        self.title = self.title or (text if level == 1 else None)
        self._outline.enter(Heading(text, level, anchor))
        self._put("#" * level + f" {text}", Role.TITLE)

    def _is_short(self, element: HtmlElement) -> bool:
        simple = not any(one.tag in ("pre", "table", "h1", "h2", "h3", "h4", "h5", "h6") for one in element.iter())
        return simple and len(element.findall(".//li")) <= _LONG

    def _list(self, element: HtmlElement) -> None:
        """A list as one block, an item a line, indented as deep as it stands."""
        for item in element.iter("li"):
            depth = sum(1 for above in item.iterancestors("ul", "ol") if above in element.iter()) - 1
            self._write("\n" + "  " * max(depth, 0) + "- ")
            self._inline(item, skip=("ul", "ol"), flat=True)
        text = "\n".join(line.rstrip() for line in "".join(self._text).split("\n") if line.strip(" -"))
        self._text = []
        if text:
            self._put(text, Role.BODY)

    def _rows(self, table: HtmlElement) -> list[str]:
        """A table's rows as in Markdown, the first one as its header; none where it lays out a page."""
        if table.find(".//table") is not None or table.find(".//pre") is not None:
            return []
        rows = [[self._cell(cell) for cell in row.iterchildren("td", "th")] for row in table.iter("tr")]
        width = max(map(len, rows), default=0)
        if width < 2 or any(len(cell.split()) > _CELL_WORDS for row in rows for cell in row):
            return []
        lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
        caption = table.find("caption")
        title = [self._cell(caption)] if caption is not None else []
        return [*title, lines[0], "|" + "---|" * width, *lines[1:]]

    def _cell(self, cell: HtmlElement) -> str:
        kept, since, self._text = self._text, self._since, []
        self._inline(cell, flat=True)
        text, self._text, self._since = " ".join("".join(self._text).split()), kept, since or self._line
        return text.replace("|", "\\|")

    # --- inside a block -------------------------------------------------------------------------------------------

    def _inline(
        self, element: HtmlElement, *, verbatim: bool = False, flat: bool = False, skip: tuple[str, ...] = ()
    ) -> None:
        """The text of an element and what is in it; `flat` keeps it one block whatever is inside."""
        self._reach(element)
        self._read(element.text or "", verbatim=verbatim)
        for child in element.iterchildren():
            if child.tag in skip or self._is_lost(child):
                pass
            elif child.tag in _BLOCKS and not flat and not verbatim:
                self.block(child)
            else:
                self._child(child, verbatim=verbatim, flat=flat, skip=skip)
            self._read(child.tail or "", verbatim=verbatim)

    def _child(self, child: HtmlElement, *, verbatim: bool, flat: bool, skip: tuple[str, ...]) -> None:
        if child.tag == "br":
            self._write(" " if flat and not verbatim else "\n")
        elif child.tag == "img":
            self._picture(child)
        elif child.tag == "math" or is_formula(child):
            noted = next((note.text for note in child.iter("annotation") if note.text), None)
            tex = noted or child.get("alttext") or child.text_content()
            self._write(f"${tex.strip()}$")
        elif child.tag == "code" and not verbatim:
            self._write(f"`{' '.join(child.text_content().split())}`")
        elif child.tag == "a" and not verbatim:
            self._link(child, flat=flat, skip=skip)
        else:
            self._text.append(" " if child.tag in _BLOCKS and not verbatim else "")
            self._inline(child, verbatim=verbatim, flat=flat, skip=skip)

    def _link(self, element: HtmlElement, *, flat: bool, skip: tuple[str, ...]) -> None:
        target = (element.get("href") or "").strip()
        at = len(self._text)
        self._inline(element, flat=flat, skip=skip)
        said = "".join(self._text[at:]).strip() if len(self._text) >= at else ""
        if said and _LINK.match(target) and said != target and not re.search(r"[\s()<>]", target):
            self._text[at:] = [f"[{said}]({target})"]

    def _picture(self, element: HtmlElement) -> None:
        alt, target = " ".join((element.get("alt") or "").split()), element.get("src") or ""
        if not alt:
            self._lost[PICTURE] += 1
            return
        kept = _LINK.match(target) and not re.search(r"[\s()<>]", target)
        self._write(f"![{alt}]({target if kept else ''})")

    def _is_lost(self, element: HtmlElement) -> bool:
        """Whether the element is left out; what it was is counted."""
        loss = loss_of(element, page_level=self._page_level)
        if loss and (loss is not UNSHOWN or element.text_content().strip()):
            self._lost[loss] += 1
        return loss is not None

    def _read(self, text: str, *, verbatim: bool) -> None:
        """Text of the page, which also says on which line the walk is."""
        if text.strip():
            self._since = self._since or self._line + text.count("\n", 0, len(text) - len(text.lstrip()))
            self._last = self._line + text.count("\n", 0, len(text.rstrip()))
        self._line += text.count("\n")
        self._text.append(text if verbatim else _WHITE.sub(" ", text))

    def _write(self, text: str) -> None:
        """Text that stands for an element."""
        self._since = self._since or self._line
        self._last = max(self._last, self._line)
        self._text.append(text)

    def _reach(self, element: HtmlElement) -> None:
        self._line = max(self._line, element.sourceline or 1)
