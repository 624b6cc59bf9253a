"""What stands around a quote: the sentences before and after it, and the header of the table that it is a row of."""

from __future__ import annotations

import re

from index.quote import sentence_spans
from kb.types import Around, Chunk, Role

_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)*")  # the line below a header: `|---|:-:|`


def around(
    chunk: Chunk, start: int, end: int, count: int, *, previous: Chunk | None = None, following: Chunk | None = None
) -> Around:
    """`count` sentences before `chunk.text[start:end]` and after it, word for word, and its table's header where that
    is not among them.

    Where the chunk ends too early, they go on in `previous` and `following`, its neighbours in the source.
    """
    spans = sentence_spans(chunk)
    earlier = [span for span in spans if span[1] <= start][-count:]
    later = [span for span in spans if span[0] >= end][:count]
    before = chunk.text[earlier[0][0] : start].strip() if earlier else ""
    after = chunk.text[end : later[-1][1]].strip() if later else ""
    if previous and (missing := count - len(earlier)):
        before = "\n".join(filter(None, (_last(previous, missing), before)))
    if following and (missing := count - len(later)):
        after = "\n".join(filter(None, (after, _first(following, missing))))
    above = _header(chunk, start)
    return Around(before=before, after=after, header="" if above in before else above)


def _header(chunk: Chunk, start: int) -> str:
    """The header of the table that the row at `start` belongs to; nothing where it is no row, or is the header."""
    if not any(span.role is Role.TABLE and span.start <= start < span.end for span in chunk.spans):
        return ""
    lines = chunk.text[:start].splitlines()
    for at in range(len(lines) - 1, 0, -1):
        if not lines[at].strip():
            return ""
        if _RULE.fullmatch(lines[at]) and "-" in lines[at]:
            return lines[at - 1].strip()
    return ""


def _last(chunk: Chunk, count: int) -> str:
    spans = sentence_spans(chunk)[-count:]
    return chunk.text[spans[0][0] : spans[-1][1]] if spans else ""


def _first(chunk: Chunk, count: int) -> str:
    spans = sentence_spans(chunk)[:count]
    return chunk.text[spans[0][0] : spans[-1][1]] if spans else ""
