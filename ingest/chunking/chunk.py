"""Documents to chunks: structure first (a slide, a table, a fence, a list stays whole where it fits), budget second.

A chunk's text is made of spans that stand word for word in their segments; what is added around them (white space, the
header of a table that goes on, the fence of code that is cut) lies outside every span.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from itertools import groupby

from ingest.chunking.context import Titles
from ingest.chunking.packing import partition
from ingest.chunking.pieces import Piece, cut, halve
from kb.errors import LimitExceeded
from kb.text import detect_lang, stable_id
from kb.types import (
    Chunk,
    Correction,
    Document,
    Flag,
    Mark,
    Misheard,
    Page,
    Role,
    Segment,
    Source,
    Span,
    Time,
    merge_locators,
)

RECIPE = "structure/3"
_LEAST_ROOM = 8  # tokens of text, beside the embedder's prefix and special tokens
_CONTEXT_SHARE = 4  # at most a quarter of the budget is context

Group = tuple[Piece, ...]


def split(document: Document, *, count_tokens: Callable[[str], int], max_tokens: int) -> list[Chunk]:
    """All chunks of a document, in order, linked to their neighbours.

    Args:
        document: a parsed source; segments without text take part in no chunk.
        count_tokens: tokens that a text takes as a passage, prefix and special tokens included.
        max_tokens: what `count_tokens(chunk.full_text)` never exceeds.

    Raises:
        LimitExceeded: if the budget leaves no room for text.
    """
    splitter = _Splitter(document, count_tokens, max_tokens)
    return _linked(splitter.chunks(), document.source)


class _Splitter:
    """The budget, and how much of it a text takes."""

    def __init__(self, document: Document, count_tokens: Callable[[str], int], max_tokens: int) -> None:
        self.document = document
        self.count_tokens = count_tokens
        self.max_tokens = max_tokens
        self.empty = count_tokens("")
        self.count = cache(lambda text: max(count_tokens(text) - self.empty, 0) if text else 0)
        self.joint = max(self.count("a\n\na") - 2 * self.count("a"), 0)
        self.titles = Titles(document, self.count, (max_tokens - self.empty) // _CONTEXT_SHARE)
        if max_tokens - self.empty < _LEAST_ROOM:
            raise LimitExceeded(
                f"{max_tokens} tokens leave no room for text: the embedder's prefix takes {self.empty}",
                where=document.source.title,
                remedy="Raise KB_INGEST_CHUNK_TOKENS",
            )

    def chunks(self) -> Iterator[Chunk]:
        for group in partition(list(self._pieces()), room=self._room, count=self.count, joint=self.joint):
            yield from self._fit(group)

    def _pieces(self) -> Iterator[Piece]:
        fences = self.document.source.uri.lower().endswith((".md", ".markdown", ".mdx", ".ipynb"))
        titles = 0  # tokens of the headings that a segment has to share its chunk with
        for segment in self.document.segments:
            if not segment.text.strip():
                continue
            whole = Piece(segment, 0, len(segment.text), 0)
            room = max(self._room(whole) - titles, _LEAST_ROOM // 2)
            pieces = cut(segment, room, self.count, fences=fences and segment.role is not Role.TITLE)
            titles = titles + sum(piece.tokens for piece in pieces) if segment.role is Role.TITLE else 0
            titles = titles if titles < room // 2 else 0
            yield from pieces

    def _room(self, first: Piece) -> int:
        """Tokens for the text of a chunk that begins with `first`."""
        context = self.titles.above((first,))
        return self.max_tokens - self.empty - self.count(context) - self.joint

    def _fit(self, group: Group) -> Iterator[Chunk]:
        """A chunk of the group; more than one where the pieces together take more tokens than each on its own."""
        for context in dict.fromkeys((self.titles.above(group), "")):
            chunk = _chunk(group, context, self.document)
            tokens = self.count_tokens(chunk.full_text)
            if tokens <= self.max_tokens:
                yield chunk.model_copy(update={"tokens": tokens})
                return
            if len(group) > 1:
                break
        for smaller in self._shrink(group, self.max_tokens / (tokens + 1)):
            yield from self._fit(smaller)

    def _shrink(self, group: Group, share: float) -> list[Group]:
        """The group in smaller ones, of which none is estimated to take more than this share of the room."""
        if len(group) > 1:
            groups = partition(
                group, room=lambda piece: int(self._room(piece) * share), count=self.count, joint=self.joint
            )
            middle = len(group) // 2
            return groups if len(groups) > 1 else [group[:middle], group[middle:]]
        if halves := halve(group[0], self.count):
            return [(half,) for half in halves]
        if group[0].opening or group[0].closing:
            return [(replace(group[0], opening="", closing=""),)]
        raise LimitExceeded(f"one character takes more than {self.max_tokens} tokens", where=self.document.source.title)


# --- making a chunk ---------------------------------------------------------------------------------------------


def _chunk(group: Group, context: str, document: Document) -> Chunk:
    source = document.source
    text, spans = _assemble(group)
    lang = detect_lang(text)
    return Chunk(
        id="",
        source_id=source.id,
        order=0,
        text=text,
        context=context,
        spans=spans,
        role=_role(spans),
        lang=source.lang if lang == "und" else lang,
        tokens=0,
        recipe=RECIPE,
        original="\n".join(dict.fromkeys(piece.segment.original for piece in group if piece.segment.original)),
        misheard=tuple(_misheard(text, spans, document.corrections)),
    )


def _misheard(text: str, spans: Sequence[Span], corrections: Sequence[Correction]) -> Iterator[Misheard]:
    """What was corrected in the spans, in order; the edge of a chunk may lie inside it."""
    for span in spans:
        for each in corrections:
            start = max(span.start, span.start + each.start - span.offset)
            end = min(span.end, span.start + each.start + len(each.corrected) - span.offset)
            if each.order == span.order and start < end and text[start:end] != each.heard:
                yield Misheard(start=start, end=end, heard=each.heard)


def _assemble(group: Group) -> tuple[str, tuple[Span, ...]]:
    """The text and its spans; parts of one segment that follow each other make one span."""
    runs = [list(run) for _, run in groupby(group, key=lambda piece: piece.segment.order)]
    parts: list[str] = []
    spans: list[Span] = []
    length = 0
    for previous, run in zip([None, *runs], runs, strict=False):
        segment, start, end = run[0].segment, run[0].start, run[-1].end
        joint = _joint(previous[0].segment, segment) if previous else ""
        parts += [joint, run[0].opening, segment.text[start:end], run[-1].closing]
        begin = length + len(joint) + len(run[0].opening)
        spans.append(
            Span(
                start=begin,
                end=begin + end - start,
                order=segment.order,
                offset=start,
                locator=_narrow(segment, start, end),
                role=segment.role,
            )
        )
        length = spans[-1].end + len(run[-1].closing)
    return "".join(parts), tuple(spans)


def _joint(left: Segment, right: Segment) -> str:
    """What stands between two segments: in a note, a blank line where the note has one."""
    if isinstance(left.locator, Mark) and isinstance(right.locator, Mark):
        return "\n" if right.locator.line_start == left.locator.line_end + 1 else "\n\n"
    return "\n"


def _narrow(segment: Segment, start: int, end: int) -> Time | Page | Mark:
    """The locator of a part: its own lines of a note, where its lines are those of the file.

    A catalogue wraps its lines differently from its text, and what is included stands where it was asked for.
    """
    mark = segment.locator
    if not isinstance(mark, Mark) or Flag.TRANSLATION in segment.flags:
        return mark
    if segment.text.count("\n") != mark.line_end - mark.line_start:
        return mark
    first = mark.line_start + segment.text.count("\n", 0, start)
    return mark.model_copy(update={"line_start": first, "line_end": first + segment.text.count("\n", start, end)})


def _role(spans: Sequence[Span]) -> Role:
    """The role of most of the text; a title only where there is nothing else."""
    sizes: Counter[Role] = Counter()
    for span in spans:
        sizes[span.role] += span.end - span.start
    if len(sizes) > 1:
        del sizes[Role.TITLE]
    return sizes.most_common(1)[0][0]


def _linked(chunks: Iterator[Chunk], source: Source) -> list[Chunk]:
    """Chunks with their ids, orders and neighbours."""
    seen: Counter[tuple[str, str]] = Counter()
    named: list[Chunk] = []
    for order, chunk in enumerate(chunks):
        place = str(merge_locators(chunk.spans[0].locator, chunk.spans[-1].locator))
        digest = sha256(chunk.text.encode()).hexdigest()
        twins = seen[place, digest]
        seen[place, digest] += 1
        name = stable_id(source.id, place, digest, *([str(twins)] if twins else []))
        named.append(chunk.model_copy(update={"id": name, "order": order}))
    ids = [None, *(chunk.id for chunk in named), None]
    return [
        chunk.model_copy(update={"previous_id": before, "next_id": after})
        for chunk, before, after in zip(named, ids, ids[2:], strict=False)
    ]
