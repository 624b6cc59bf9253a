"""gettext catalogues: what was translated, entry by entry; what was not is counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ingest.markup.frontmatter import calendar_date, language
from ingest.parsed import Block, Parsed
from kb.errors import UnreadableSource
from kb.types import Dropped, Flag, Mark, Role

if TYPE_CHECKING:
    from polib import POEntry, POFile

_LINE_SEPARATORS = re.compile(r"[\v\f\x1c-\x1e\x85\u2028\u2029]")  # polib breaks lines at these; editors do not


def read(text: str, where: str) -> Parsed:
    """A catalogue as one block an entry: the translation, marked with the lines of the entry.

    The heading path is the document that the entry was extracted from, where the catalogue names it.

    Raises:
        UnreadableSource: if `text` is no catalogue, or nothing in it is translated.
    """
    catalogue = _parse(text, where)
    lines = text.split("\n")
    kept = [entry for entry in catalogue if _state(entry) == "translated"]
    lost = Counter(_state(entry) for entry in catalogue if _state(entry) != "translated")
    if not kept:
        raise UnreadableSource(
            f"none of its {len(catalogue)} entries is translated",
            where=where,
            remedy="Translate some, or list it in .kbignore to pass it over",
        )
    dropped = tuple(
        Dropped(what=f"{count} entries" if count > 1 else "1 entry", where=where, reason=f"{state} in the catalogue")
        for state, count in sorted(lost.items())
    )
    return Parsed(
        blocks=tuple(_block(entry, lines) for entry in kept),
        title=_title(kept),
        lang=language(catalogue.metadata.get("Language", "")),
        date=calendar_date(catalogue.metadata.get("PO-Revision-Date", "")),
        dropped=dropped,
    )


def _parse(text: str, where: str) -> POFile:
    import polib

    try:
        # The line feed keeps a short text from being taken for a file name.
        return polib.pofile(_LINE_SEPARATORS.sub(" ", text) + "\n")
    except (OSError, ValueError) as error:
        line = re.search(r"line (\d+)", str(error))
        raise UnreadableSource(
            "it is not a gettext catalogue",
            where=f"{where}, line {line[1]}" if line else where,
            remedy="Check it with msgfmt",
        ) from error


def _state(entry: POEntry) -> str:
    if entry.obsolete:
        return "obsolete"
    if entry.fuzzy:
        return "fuzzy"
    return "translated" if _translation(entry).strip() else "untranslated"


def _translation(entry: POEntry) -> str:
    """The translation; plural forms one a line."""
    return entry.msgstr or "\n".join(entry.msgstr_plural[number] for number in sorted(entry.msgstr_plural))


def _block(entry: POEntry, lines: Sequence[str]) -> Block:
    start = max(entry.linenum or 1, 1)
    end = start
    while end < len(lines) and lines[end].strip():
        end += 1
    path = (entry.occurrences[0][0].lstrip("./"),) if entry.occurrences else ()
    mark = Mark(heading_path=path, line_start=start, line_end=end)
    flags = frozenset({Flag.TRANSLATION})
    return Block(
        _translation(entry), mark, Role.BODY, flags, original="\n".join(filter(None, (entry.msgid, entry.msgid_plural)))
    )


def _title(entries: Sequence[POEntry]) -> str | None:
    """The translation of a document's first line, if all entries come from one document."""
    places = [(place, int(line)) for entry in entries for place, line in entry.occurrences if line.isdecimal()]
    if len({place for place, _ in places}) != 1:
        return None
    first = next((entry for entry in entries if (places[0][0], "1") in entry.occurrences), None)
    return _translation(first) if first else None
