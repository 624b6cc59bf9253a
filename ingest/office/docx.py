"""Word documents: headings, texts, lists and tables through unstructured, and through the XML what it misses.

A document has no pages until it is printed, so places are headings and lines: those of the text as it is read, a line
for each paragraph and for each row of a table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from ingest.links import link_text
from ingest.markup.outline import Heading, Outline
from ingest.office.archive import DOCUMENT, is_encrypted, open_picture
from ingest.office.docx_xml import Replaced, plain_document
from ingest.office.package import sound_copy
from ingest.office.partition import Part, document_parts
from ingest.pages.ocr import Recogniser, passed_over, unsure_lines
from ingest.pages.picture_text import written
from ingest.parsed import Block, Parsed, Reading
from kb.errors import UnreadableSource
from kb.text import canonical
from kb.types import Dropped, Flag, Role

_ZIP = b"PK\x03\x04"
_HEADING = re.compile(r"(?:Heading|标题) ?(\d)$", re.IGNORECASE)
_LEAST_SIDE = 40  # pixels; a smaller picture is a bullet or a rule


def read(path: Path, reading: Reading) -> Parsed:
    """Every heading, paragraph, list, table, box, formula, code listing and footnote, in the order of the document.

    Raises:
        UnreadableSource: if the file is empty, encrypted, broken or no Word document.
        LimitExceeded: if it is a zip bomb.
        MissingDependency: if the installed unstructured cannot work offline.
    """
    with path.open("rb") as stream:
        header = stream.read(len(_ZIP))
    if header != _ZIP:
        raise _no_document(path)
    file = BytesIO()
    dropped = list(sound_copy(path, file, main=DOCUMENT))
    plain, replaced = plain_document(file, path)
    blocks = _Blocks(path, Recogniser(reading.settings), replaced)
    parts = document_parts(plain)
    for number, part in enumerate(parts, start=1):
        blocks.add(part)
        reading.on_progress(number / len(parts))
    if not blocks.found:
        raise UnreadableSource("it holds no text", where=str(path), remedy="Check that it opens and has content")
    dropped += [*blocks.dropped, *passed_over(blocks.recogniser, blocks.passed_over)]
    title = next((block.text for block in blocks.found if block.role is Role.TITLE), None)
    return Parsed(blocks=tuple(blocks.found), title=title, dropped=tuple(dropped))


def _no_document(path: Path) -> UnreadableSource:
    if path.stat().st_size == 0:
        return UnreadableSource("the file is empty", where=str(path), remedy="Copy or download it again")
    if is_encrypted(path):
        what, remedy = "the document asks for a password", "Save a copy without a password and add that"
    else:
        what, remedy = "this is no DOCX file", "Open it in Word or LibreOffice, save it as .docx and add that"
    return UnreadableSource(what, where=str(path), remedy=remedy)


@dataclass
class _Blocks:
    """The blocks of a document as they are read, with the headings above the current line."""

    path: Path
    recogniser: Recogniser
    replaced: dict[str, Replaced]
    found: list[Block] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    outline: Outline = field(default_factory=Outline)
    margins: set[str] = field(default_factory=set)  # headers and footers, said once
    in_list: bool = False
    line: int = 1

    def add(self, part: Part) -> None:
        if (special := self.replaced.get(part.text.strip())) is not None:
            self._special(special)
            self.in_list = False
            return
        heading = _HEADING.match(part.style)
        if heading or part.style == "Title":
            self.outline.enter(Heading(" ".join(part.text.split()), int(heading[1]) if heading else 0, ""))
        role = Role.TITLE if heading or part.style == "Title" else Role.TABLE if part.table else Role.BODY
        if part.margin and part.text in self.margins:
            return
        self.margins.update({part.text} if part.margin else ())
        if part.flat:
            reason = "its rows claim more cells than are laid out; its text is read as running text"
            self.dropped.append(Dropped(what="layout of a table", where=f"L{self.line}", reason=reason))
        self._block(part.text, role, goes_on=part.item and self.in_list)
        self.in_list = part.item
        self._block(link_text(part.links, part.text), Role.BODY, goes_on=part.item)

    def _special(self, special: Replaced) -> None:
        if special.unread:
            reason = "its values cannot be read"
            self.dropped.append(Dropped(what=special.unread, where=f"L{self.line}", reason=reason))
        elif special.picture:
            self._picture(special)
        else:
            self._block(special.text, special.role)

    def _picture(self, special: Replaced) -> None:
        self._block(special.text, Role.BODY)  # its alternative text
        place = f"L{self.line}"
        if self.recogniser.off:
            self.passed_over.append(place)
            return
        picture = open_picture(self.path, special.picture)
        if picture is None:
            if not special.text:
                self.dropped.append(Dropped(what="picture", where=place, reason="its file cannot be read"))
        elif min(picture.size) >= _LEAST_SIDE:
            seen = self.recogniser.read(picture)
            self.dropped += unsure_lines(seen.unsure, place)
            for text in written(seen.lines):
                self._block(text.text, text.role, confidence=text.confidence)

    def _block(self, text: str, role: Role, *, confidence: float | None = None, goes_on: bool = False) -> None:
        """
        Args:
            goes_on: it belongs to the last block, as the next item of a list does.
        """
        text = canonical(text).strip("\n").rstrip()
        if not text.strip():
            return
        if goes_on:
            block = self.found.pop()
            self.line -= block.text.count("\n") + 1
            text = f"{block.text}\n{text}"
        last = self.line + text.count("\n")
        flags = frozenset({Flag.OCR}) if confidence is not None else frozenset()
        self.found.append(Block(text, self.outline.mark(self.line, last), role, flags, confidence=confidence))
        self.line = last + 1
