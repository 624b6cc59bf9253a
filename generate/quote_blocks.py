"""Quotes of one place as blocks of Markdown: neighbours of one form share a block, each quote keeps its footnote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from generate import markdown
from generate.quotes import Quote
from kb.types import Mark, Role

_UNQUOTED = re.compile(r"^(?:[ \t]*>[ \t]?)+", re.MULTILINE)
_AFTER_STOP = re.compile(r"([，。！？；：、]) ")
_TABLE = re.compile(r"^(?:[ \t]*\|.*(?:\n|\Z)){2,}", re.MULTILINE)


class _Piece(NamedTuple):
    form: Literal["prose", "code", "table", "math"]
    text: str
    note: str = ""  # the footnote that stands behind it
    info: str = ""  # the language of code


def blocks(quotes: Sequence[tuple[Quote, str]]) -> Iterator[str]:
    """
    Args:
        quotes: each with the footnote that is to stand behind it, or none.
    """
    pieces = [piece for quote, note in quotes for piece in _noted(list(_pieces(quote)), note)]
    for (form, info), run in groupby(pieces, key=lambda piece: (piece.form, piece.info)):
        together = list(run)
        if form == "prose":
            yield markdown.block_quote("\n\n".join(piece.text + piece.note for piece in together))
            continue
        texts = [piece.text for piece in together]
        yield markdown.fence("\n".join(text.rstrip() for text in texts), info) if form == "code" else "\n\n".join(texts)
        if notes := [piece.note for piece in together if piece.note]:
            yield " ".join(notes)  # or the numbers of two footnotes would look like one


def running(text: str) -> str:
    """Captions as running text. Unpunctuated Chinese ones keep a blank between them: it shows where each ends."""
    return _AFTER_STOP.sub(r"\1", " ".join(text.split()))


def _noted(pieces: list[_Piece], note: str) -> list[_Piece]:
    return [*pieces[:-1], pieces[-1]._replace(note=note)] if pieces else []


def _pieces(quote: Quote) -> Iterator[_Piece]:
    text = quote.evidence.quote
    is_note = isinstance(quote.evidence.locator, Mark)
    match quote.role:
        case Role.CODE:
            code, info = markdown.unfence(text)
            yield _Piece("code", code, info=info)
        case Role.MATH if is_note:
            yield _Piece("math", markdown.math(text))
        case Role.SPEECH:
            yield _Piece("prose", markdown.escape(running(text)))
        case Role.TABLE if text.lstrip().startswith("|"):
            yield _Piece("table", markdown.disarm(text))
        case _ if is_note:
            yield _Piece("prose", markdown.disarm(_UNQUOTED.sub("", text)))
        case _:
            yield from _lines_and_tables(text)


def _lines_and_tables(text: str) -> Iterator[_Piece]:
    """Lines of a slide as they stand; the numbers of a chart, which stand below its title, as a table."""
    at = 0
    for found in [*_TABLE.finditer(text), None]:
        end = found.start() if found else len(text)
        if lines := [markdown.escape(line) for line in text[at:end].splitlines() if line.strip()]:
            yield _Piece("prose", "  \n".join(lines))
        if found:
            yield _Piece("table", markdown.disarm(found[0].strip()))
            at = found.end()
