from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from index.around import around
from index.quote import sentence_spans
from kb.types import Around, Chunk, Mark, Role, Span
from tests.index.corpus import chunk, source

NOTE = source("note.md")
TABLE = "| Flag | Default |\n| :--- | ---: |\n| `--a` | 1 |\n| `--b` | 2 |"


def table(text: str, after: str = "") -> Chunk:
    """A chunk of one table and one sentence."""
    place = Mark(line_start=1, line_end=9)
    spans = (
        Span(start=0, end=len(text), order=0, offset=0, locator=place, role=Role.TABLE),
        Span(start=len(text) + 2, end=len(text) + 2 + len(after), order=1, offset=0, locator=place),
    )
    return chunk(NOTE, f"{text}\n\n{after}").model_copy(update={"spans": spans})


def row(of: Chunk, text: str) -> tuple[int, int]:
    start = of.text.index(text)
    return start, start + len(text)


def test_a_row_comes_with_its_header() -> None:
    of = table(TABLE, "Set them in order.")
    found = around(of, *row(of, "| `--b` | 2 |"), 1)
    assert found == Around(before="| `--a` | 1 |", after="Set them in order.", header="| Flag | Default |")


def test_the_header_itself_and_prose_have_none() -> None:
    of = table(TABLE, "Set them in order.")
    assert around(of, *row(of, "| Flag | Default |"), 1).header == ""
    assert around(of, *row(of, "Set them in order."), 1).header == ""


def test_the_header_that_the_chunker_repeats_counts() -> None:
    """A table that goes on has its header again, outside every span: the source has it once."""
    of = table(TABLE)
    start = of.text.index("| `--a`")
    cut = of.model_copy(update={"spans": (of.spans[0].model_copy(update={"start": start}),)})
    assert around(cut, *row(cut, "| `--b` | 2 |"), 1).header == "| Flag | Default |"


def test_what_is_missing_comes_from_the_chunks_beside_it() -> None:
    before, here, after = (chunk(NOTE, text, at) for at, text in enumerate(("One. Two.", "Three. Four.", "Five. Six.")))
    found = around(here, *row(here, "Three."), 2, previous=before, following=after)
    assert found == Around(before="One. Two.", after="Four.\nFive.")


def test_at_the_ends_of_a_source_there_is_nothing() -> None:
    only = chunk(NOTE, "Only this.")
    assert around(only, 0, len(only.text), 3) == Around()


@given(
    st.lists(st.sampled_from(["Blocks are shared.", "块是共享的。", "It is 16 tokens.", "| a | b |"]), min_size=1),
    st.integers(1, 10),
)
def test_what_stands_around_is_verbatim(parts: list[str], count: int) -> None:
    of = chunk(NOTE, " ".join(parts))
    for start, end in sentence_spans(of):
        found = around(of, start, end, count)
        assert found.before in of.text[:start]
        assert found.after in of.text[end:]
