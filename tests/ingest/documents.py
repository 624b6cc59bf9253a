"""Documents of every kind for the tests of chunking, and the invariants that hold for all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ingest.markup import markdown
from ingest.parsed import Block, Parsed
from kb.types import Chunk, Document, Kind, Mark, Page, Role, Segment, Source, Time

CLOSERS = "。，、；：！？…）】〕」』》〉｝”’"


def document(blocks: Sequence[Block], *, title: str = "A note", uri: str = "file:///note.md") -> Document:
    kinds = {Mark: Kind.NOTE, Page: Kind.DECK, Time: Kind.CAPTIONS}
    kind = kinds[type(blocks[0].locator)] if blocks else Kind.NOTE
    source = Source(id="source", kind=kind, uri=uri, sha256="0", title=title, lang="en")
    segments = tuple(
        Segment(
            source_id="source",
            order=order,
            text=b.text,
            locator=b.locator,
            role=b.role,
            flags=b.flags,
            original=b.original,
        )
        for order, b in enumerate(blocks)
    )
    return Document(source=source, segments=segments)


def note(text: str, **source: str) -> Document:
    return document(markdown.read(text, "note.md").blocks, **source)


def check(doc: Document, chunks: Sequence[Chunk], count_tokens: Callable[[str], int], max_tokens: int) -> None:
    """Everything that is promised of chunks, whatever the document."""
    covered = [[False] * len(segment.text) for segment in doc.segments]
    reached = (-1, 0)
    for chunk in chunks:
        assert count_tokens(chunk.full_text) == chunk.tokens <= max_tokens
        assert "\ufffd" not in chunk.text
        end = 0
        for span in chunk.spans:
            segment = doc.segments[span.order]
            piece = slice(span.offset, span.offset + span.end - span.start)
            assert chunk.text[span.start : span.end] == segment.text[piece] != ""
            assert span.start >= end
            assert (span.order, span.offset) >= reached
            end, reached = span.end, (span.order, piece.stop)
            assert not any(covered[span.order][piece])
            covered[span.order][piece] = [True] * (piece.stop - piece.start)
            check_locator(segment, piece, span.locator)
    for segment, marks in zip(doc.segments, covered, strict=True):
        assert all(mark or character.isspace() for mark, character in zip(marks, segment.text, strict=True))
    ids = [chunk.id for chunk in chunks]
    assert len(set(ids)) == len(ids)
    assert [chunk.order for chunk in chunks] == list(range(len(chunks)))
    assert [chunk.previous_id for chunk in chunks] == [None, *ids][: len(ids)]
    assert [chunk.next_id for chunk in chunks] == [*ids[1:], None][: len(ids)]


def check_locator(segment: Segment, piece: slice, locator: Mark | Page | Time) -> None:
    if not isinstance(segment.locator, Mark) or not isinstance(locator, Mark):
        assert locator == segment.locator
        return
    lines = segment.text.split("\n")[
        locator.line_start - segment.locator.line_start : locator.line_end - segment.locator.line_start + 1
    ]
    assert segment.text[piece] in "\n".join(lines)
    assert len(lines) == segment.text[piece].count("\n") + 1


def lines_told(parsed: Parsed) -> set[int]:
    """The lines that are in a block or that a `Dropped` names."""
    told: set[int] = set()
    for block in parsed.blocks:
        if isinstance(block.locator, Mark):
            told.update(range(block.locator.line_start, block.locator.line_end + 1))
    for dropped in parsed.dropped:
        numbers = re.search(r"lines? ([\d, -]+)$", dropped.where)
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", numbers[1] if numbers else ""):
            told.update(range(int(first), int(last or first) + 1))
    return told


def has_open_fence(text: str) -> bool:
    """Whether CommonMark reads `text` to its end as a fence that nobody closed."""
    tokens = MarkdownIt("commonmark").parse(text)
    lines = text.split("\n")
    for token in tokens:
        if token.type == "fence" and token.map:
            last = lines[token.map[1] - 1].strip(" >")
            if (
                not (last.startswith(token.markup) and set(last) == {token.markup[0]})
                or token.map[1] - token.map[0] < 2
            ):
                return True
    return False


# --- generated documents ----------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        "cache",
        "block",
        "`kv_cache`",
        "前缀缓存",
        "调度器",
        "分块预填充，",
        "吞吐量。",
        "latency.",
        "$n^2$",
        "GPU",
        "🧑🏽‍🚀",
        "e\u0301",
        "(see",
        "it)",
        "“引用”",
    ]
)
PROSE = st.lists(WORDS, min_size=1, max_size=60).map(" ".join)
RUNS = st.integers(1, 300).map(lambda n: "汉字没有停顿" * n)
CODE_LINES = st.lists(
    st.sampled_from(["x = 1", "# not a heading", "", "    return x", "~~~", "| a |", "})"]), max_size=40
)


@st.composite
def fences(draw: st.DrawFn) -> str:
    indent = " " * draw(st.integers(0, 3))
    mark = draw(st.sampled_from(["```", "````", "~~~~"]))
    body = [line for line in draw(CODE_LINES) if not line.startswith(mark[:3])]
    return "\n".join(indent + line for line in [mark + draw(st.sampled_from(["", "python", "mermaid"])), *body, mark])


@st.composite
def tables(draw: st.DrawFn) -> str:
    rows = draw(st.lists(st.tuples(PROSE, PROSE), min_size=1, max_size=20))
    return "\n".join(["| name | 说明 |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)])


LISTS = st.lists(PROSE, min_size=1, max_size=20).map(lambda items: "\n".join(f"- {item}" for item in items))
NESTED = fences().map(lambda fence: "1. item\n\n" + "\n".join(f"   {line}" for line in fence.split("\n")))
HEADINGS = st.tuples(st.integers(1, 4), st.sampled_from(["Setup", "前缀缓存", "Setup `x`"])).map(
    lambda h: "#" * h[0] + " " + h[1]
)
FORMULAS = st.just("$$\na = b\n\\times c\n$$")
NOTES = st.lists(
    st.one_of(PROSE, RUNS, fences(), tables(), LISTS, NESTED, HEADINGS, FORMULAS), min_size=1, max_size=14
).map(lambda blocks: note("\n\n".join(blocks)))


@st.composite
def speech(draw: st.DrawFn) -> Document:
    start = 0
    blocks = []
    for text in draw(st.lists(PROSE, min_size=1, max_size=40)):
        length, pause = draw(st.integers(100, 8000)), draw(st.sampled_from([0, 200, 3000]))
        blocks.append(Block(text, Time(start_ms=start, end_ms=start + length), Role.SPEECH))
        start += length + pause
    return document(blocks, uri="file:///talk.srt", title="一次分享")


@st.composite
def decks(draw: st.DrawFn) -> Document:
    roles = st.sampled_from([Role.BODY, Role.BODY, Role.TABLE, Role.CODE, Role.NOTES, Role.TITLE])
    blocks = []
    for number in range(1, draw(st.integers(1, 8)) + 1):
        texts = draw(st.lists(st.tuples(roles, st.one_of(PROSE, st.just(""))), max_size=6))
        blocks += [Block(text, Page(number=number), role) for role, text in texts]
    return document(blocks or [Block("x", Page(number=1), Role.BODY)], uri="file:///deck.pptx", title="一次分享")


DOCUMENTS = st.one_of(NOTES, speech(), decks())
