from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.chunking.chunk import split
from ingest.markup import notes
from ingest.parsed import Block, Reading
from ingest.recordings.correct import correct
from kb.errors import LimitExceeded
from kb.settings import Settings
from kb.types import Chunk, Document, Flag, Kind, Mark, Page, Role, Time, merge_locators
from tests.fakes import FakeEmbedder
from tests.ingest.documents import CLOSERS, DOCUMENTS, NOTES, check, document, has_open_fence, note

COUNT = FakeEmbedder().count_tokens
BUDGETS = st.sampled_from([32, 64, 128, 384])
# The property tests share two cores with everything else.
STEADY = settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def chunks_of(doc: Document, max_tokens: int = 128) -> list[Chunk]:
    return split(doc, count_tokens=COUNT, max_tokens=max_tokens)


@STEADY
@given(doc=DOCUMENTS, budget=BUDGETS)
def test_p24_chunks_rebuild_the_source_with_exact_places(doc: Document, budget: int) -> None:
    chunks = chunks_of(doc, budget)
    check(doc, chunks, COUNT, budget)
    assert chunks == chunks_of(doc, budget)
    assert not any(chunk.text[0] in CLOSERS for chunk in chunks)


@STEADY
@given(doc=NOTES, budget=BUDGETS)
def test_p22_no_chunk_has_half_a_fence(doc: Document, budget: int) -> None:
    for chunk in chunks_of(doc, budget):
        assert not has_open_fence(chunk.text), chunk.text


@STEADY
@given(doc=DOCUMENTS)
def test_titles_are_not_alone_where_they_fit_with_what_follows(doc: Document) -> None:
    alone = [chunk for chunk in chunks_of(doc, 384) if chunk.role is Role.TITLE]
    only_titles = all(segment.role is Role.TITLE for segment in doc.segments if segment.text.strip())
    assert only_titles or not alone or not isinstance(alone[0].spans[0].locator, Mark)


def test_p23_hanzi_without_stops_stay_within_the_budget() -> None:
    doc = note("汉字连续不断没有任何停顿" * 834)
    chunks = chunks_of(doc, 384)
    check(doc, chunks, COUNT, 384)
    assert 27 <= len(chunks) <= 60


def test_p23_no_chunk_starts_with_closing_punctuation() -> None:
    doc = note("“很长的引用（带括号）”。" * 500 + "\n\n" + "字" * 300 + "。" * 3 + "字" * 300 + "\n\n" + "字）" * 500)
    for budget in (32, 64, 128):
        assert not any(chunk.text[0] in CLOSERS for chunk in chunks_of(doc, budget))


def test_p24_characters_stay_whole() -> None:
    whole = ["🧑🏽‍🚀", "e\u0301", "🇨🇳", "각", "👍🏿"]
    doc = note("".join(whole) * 300)
    for chunk in chunks_of(doc, 64):
        for span in chunk.spans:
            piece = chunk.text[span.start : span.end]
            for character in whole:
                piece = piece.replace(character, "")
            assert piece == "", piece


def test_p25_a_budget_without_room_is_refused() -> None:
    with pytest.raises(LimitExceeded, match="KB_INGEST_CHUNK_TOKENS"):
        split(note("text"), count_tokens=lambda text: 60 + len(text), max_tokens=64)


def test_p25_pieces_that_take_more_together_than_alone_stay_within_the_budget() -> None:
    def count(text: str) -> int:
        return 2 + len(text) // 5

    doc = document(slide(1, *[(Role.BODY, "ab")] * 300), uri="file:///deck.pptx")
    chunks = split(doc, count_tokens=count, max_tokens=64)
    check(doc, chunks, count, 64)
    assert len(chunks) <= 6


def test_a_budget_that_a_context_would_fill_goes_to_the_text() -> None:
    doc = note("# " + "A very long title " * 30 + "\n\n## Second\n\n" + "word " * 100)
    chunks = chunks_of(doc, 64)
    check(doc, chunks, COUNT, 64)
    assert all(COUNT(chunk.context) <= 20 for chunk in chunks)


def test_an_empty_document_has_no_chunks() -> None:
    assert chunks_of(document([])) == []
    assert chunks_of(document([Block("", Page(number=1), Role.BODY, frozenset({Flag.NO_TEXT}))])) == []


# --- notes ------------------------------------------------------------------------------------------------------


def test_a_heading_goes_with_what_follows_and_stands_above_what_comes_later() -> None:
    doc = note(
        "# Guide\n\n## Install\n\n" + "\n\n".join(["A paragraph of text that says something." * 2] * 9), title="Guide"
    )
    chunks = chunks_of(doc)
    assert chunks[0].text.startswith("# Guide\n\n## Install\n\nA paragraph")
    assert {chunk.context for chunk in chunks[1:]} == {"Guide > Install"}
    assert chunks[0].role is Role.BODY


def test_small_sections_share_a_chunk_only_with_their_relatives() -> None:
    doc = note("# A\n\n## B\n\nshort\n\n## C\n\nshort\n\n# D\n\n" + "A sentence about D. " * 12)
    first, *rest = chunks_of(doc)
    assert first.text == "# A\n\n## B\n\nshort\n\n## C\n\nshort"
    assert first.context == "A note"
    assert rest[0].text.startswith("# D")


def test_lines_that_touch_in_the_note_touch_in_the_chunk() -> None:
    (chunk,) = chunks_of(note("Three things:\n- one\n- two\n\nEnd."))
    assert chunk.text == "Three things:\n- one\n- two\n\nEnd."


@pytest.mark.parametrize(
    "block", ["```python\n" + "x = 1  # note\n" * 10 + "```", "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 9]
)
def test_what_fits_stays_whole(block: str) -> None:
    doc = note("Some words before it. " * 7 + "\n\n" + block + "\n\n" + "Some words behind it. " * 7)
    assert any(block.strip() in chunk.text for chunk in chunks_of(doc))


def test_p22_a_table_that_is_cut_repeats_its_header_outside_every_span() -> None:
    doc = note("\n".join(["| model | size |", "|---|---|", *(f"| model {n} | {n} GB |" for n in range(80))]))
    chunks = chunks_of(doc)
    assert len(chunks) > 3
    assert all(chunk.text.startswith("| model | size |\n|---|---|\n| model") for chunk in chunks)
    assert [chunk.spans[0].start for chunk in chunks[1:]] == [len("| model | size |\n|---|---|\n")] * (len(chunks) - 1)
    check(doc, chunks, COUNT, 128)


@pytest.mark.parametrize("prefix", ["", "> "])
def test_p22_a_fence_that_is_cut_is_opened_and_closed_again(prefix: str) -> None:
    code = [f"value_{n} = {n}  # comment" for n in range(80)]
    doc = note("\n".join(prefix + line for line in ["~~~~python", "```", *code, "```", "~~~~"]))
    chunks = chunks_of(doc)
    assert len(chunks) > 3
    for chunk in chunks:
        assert chunk.text.startswith(f"{prefix}~~~~python\n")
        assert chunk.text.endswith(f"\n{prefix}~~~~")
    check(doc, chunks, COUNT, 128)


WHOLE = {
    "table": "\n".join(["| model | size |", "|---|---|", *(f"| m{n} | {n} GB |" for n in range(4))]),
    "formula": "$$\n" + " \\\\\n".join(f"x_{n} = a_{n} + b_{n}" for n in range(4)) + "\n$$",
    "diagram": "```mermaid\nflowchart LR\n" + "\n".join(f"  a{n} --> b{n}" for n in range(4)) + "\n```",
    "code": "```python\n# no heading\n" + "\n".join(f"x{n} = {n}" for n in range(4)) + "\n```",
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("before", range(0, 60, 7))
def test_p22_what_fits_is_never_cut(name: str, before: int) -> None:
    doc = note("# A\n\n" + "word " * before + f"\n\n{WHOLE[name]}\n\n" + "word " * 60)
    assert sum(WHOLE[name] in chunk.text for chunk in chunks_of(doc)) == 1


def test_p22_a_fence_that_the_note_never_closes_is_closed() -> None:
    assert chunks_of(note("```python\nx = 1"))[0].text == "```python\nx = 1\n```"


def test_p22_rules_of_plain_text_are_no_fences() -> None:
    blocks = [Block("Title\n~~~~~", Mark(line_start=1, line_end=2), Role.BODY)]
    assert chunks_of(document(blocks, uri="file:///note.txt"))[0].text == "Title\n~~~~~"


def test_translations_keep_the_lines_of_their_entry() -> None:
    mark = Mark(line_start=10, line_end=20)
    doc = document([Block("句子。" * 200, mark, Role.BODY, frozenset({Flag.TRANSLATION}))], uri="file:///a.po")
    chunks = chunks_of(doc)
    assert len(chunks) > 1
    assert {locator for chunk in chunks for locator in chunk.locators} == {mark}


def test_the_same_block_twice_has_two_ids() -> None:
    first, second = Page(number=1), Page(number=1)
    doc = document([Block("字" * 120, first, Role.BODY), Block("字" * 120, second, Role.BODY)], uri="file:///a.pdf")
    check(doc, chunks_of(doc), COUNT, 128)


def test_ids_depend_on_content_and_place_alone() -> None:
    before = chunks_of(note("# A\n\n" + "One two three. " * 20 + "\n\n# B\n\n" + "Four five six. " * 20))
    after = chunks_of(note("# A\n\n" + "One two four. " * 20 + "\n\n# B\n\n" + "Four five six. " * 20))
    assert before[0].id != after[0].id
    assert before[-1].id == after[-1].id


def test_part2_34_a_chunk_of_a_note_knows_its_chapter_and_keeps_its_code() -> None:
    code = "```python\n# no heading\nx = 1\n```"
    doc = note(f"# Guide\n\n## Serve\n\n{'A sentence about serving. ' * 20}\n\n{code}\n\n{'More of it. ' * 30}")
    (holder,) = [chunk for chunk in chunks_of(doc, 96) if "x = 1" in chunk.text]
    assert code in holder.text
    assert holder.context.endswith("Guide > Serve")


def test_part2_35_a_table_below_a_heading_says_so_in_every_chunk() -> None:
    rows = "\n".join(f"| model {n} | {n} GB |" for n in range(60))
    doc = note(f"# Sizes\n\n## Of models\n\n| model | size |\n|---|---|\n{rows}")
    for chunk in chunks_of(doc, 96):
        assert "| model | size |\n|---|---|" in chunk.text
        assert "Of models" in chunk.full_text


@pytest.mark.parametrize("formula", ["$$\na = b. C\n\\times 2\n$$", "\\[\na = b. C\n\\times 2\n\\]"])
def test_part2_36_a_formula_is_not_cut_where_it_fits(formula: str) -> None:
    doc = note(f"- {'Words before. ' * 30}\n  {formula}\n  {'Words behind. ' * 30}")
    assert sum(formula in chunk.text for chunk in chunks_of(doc, 96)) == 1


def test_part2_37_nothing_is_in_two_chunks() -> None:
    doc = note("# T\n\n<table>\n<tr><td>a cell</td></tr>\n</table>\n\n| another | cell |\n|---|---|\n| x | y |")
    text = " ".join(chunk.text for chunk in chunks_of(doc))
    assert (text.count("a cell"), text.count("another")) == (1, 1)


def test_a_chunk_of_a_catalogue_carries_what_it_translates() -> None:
    mark = Mark(line_start=1, line_end=1)
    blocks = [
        Block(f"句子{n}。", mark, Role.BODY, frozenset({Flag.TRANSLATION}), original=f"Sentence {n}.") for n in (1, 2)
    ]
    (chunk,) = chunks_of(document(blocks, uri="file:///a.po"))
    assert chunk.original == "Sentence 1.\nSentence 2."


# --- slides and speech ------------------------------------------------------------------------------------------


def slide(number: int, *texts: tuple[Role, str]) -> list[Block]:
    return [Block(text, Page(number=number), role) for role, text in texts]


def test_a_slide_is_one_chunk_with_its_notes() -> None:
    doc = document(
        [
            *slide(1, (Role.TITLE, "分页注意力"), (Role.BODY, "块表"), (Role.NOTES, "先讲动机")),
            *slide(2, (Role.TITLE, "Results"), (Role.TABLE, "a\tb\n1\t2")),
        ],
        title="vLLM 分享",
    )
    first, second = chunks_of(doc)
    assert (first.context, first.text) == ("vLLM 分享", "分页注意力\n块表\n先讲动机")
    assert (second.role, second.locators) == (Role.TABLE, (Page(number=2),))


def test_notes_that_do_not_fit_get_a_chunk_under_the_slides_title() -> None:
    body, spoken = "A point of the slide. " * 8, "What the speaker said. " * 9
    doc = document(slide(3, (Role.TITLE, "Scheduling"), (Role.BODY, body), (Role.NOTES, spoken)), title="Talk")
    first, second = chunks_of(doc)
    assert (first.role, second.role) == (Role.BODY, Role.NOTES)
    assert second.context == "Talk > Scheduling"


def test_a_slide_with_a_title_alone_joins_its_neighbour() -> None:
    doc = document([*slide(1, (Role.TITLE, "Part one")), *slide(2, (Role.TITLE, "Memory"), (Role.BODY, "Blocks."))])
    (chunk,) = chunks_of(doc)
    assert chunk.locators == (Page(number=1), Page(number=2))


def test_speech_is_packed_to_about_a_minute_and_cut_at_pauses() -> None:
    blocks, at = [], 0
    for number in range(60):
        blocks.append(Block(f"Sentence {number} of the talk.", Time(start_ms=at, end_ms=at + 4000), Role.SPEECH))
        at += 4000 if (number + 1) % 13 else 8000
    chunks = chunks_of(document(blocks, uri="file:///talk.srt"), 384)
    places = [merge_locators(chunk.spans[0].locator, chunk.spans[-1].locator) for chunk in chunks]
    lengths = [place.end_ms - place.start_ms for place in places if isinstance(place, Time)]
    assert all(30_000 <= length <= 90_000 for length in lengths[:-1])
    pauses = sum(b.start_ms - a.end_ms >= 4000 for a, b in pairwise(p for p in places if isinstance(p, Time)))
    assert pauses == 4


@pytest.mark.corpus
def test_the_corpus_is_cut_in_a_few_seconds(corpus: Path) -> None:
    reading = Reading(Settings())
    began = time.process_time()
    paths = sorted(path for suffix in ("*.md", "*.txt", "*.po") for path in corpus.rglob(suffix))
    for path in paths:
        doc = document(notes.read(path, reading).blocks, title=path.stem, uri=path.as_uri())
        chunks = chunks_of(doc, 384)
        assert chunks
        if path.suffix != ".po":
            check(doc, chunks, COUNT, 384)
    assert time.process_time() - began < 20


def test_spans_keep_the_part_that_their_segment_plays() -> None:
    (chunk,) = chunks_of(note("# Title\n\nA sentence."))
    assert {chunk.text[span.start : span.end]: span.role for span in chunk.spans} == {
        "# Title": Role.TITLE,
        "A sentence.": Role.BODY,
    }


def test_what_was_heard_is_known_of_every_stretch() -> None:
    said = ("Hello there.", "Profil fills the KV cash, and export parallelism helps. Prefill ends.", "Bye.")
    blocks = [Block(text, Time(start_ms=n * 1000, end_ms=n * 1000 + 900), Role.SPEECH) for n, text in enumerate(said)]
    heard = document(blocks, uri="file:///a.wav")
    recording = heard.source.model_copy(update={"kind": Kind.RECORDING})
    for budget in (12, 24, 128):
        for chunk in chunks_of(correct(heard.model_copy(update={"source": recording})), budget):
            whole = chunk.heard(0, len(chunk.text)) or chunk.text
            assert whole in "\n".join(said)
            assert all(chunk.text[each.start : each.end] != each.heard for each in chunk.misheard)
    assert chunk.heard(0, len("Hello there.")) == ""
    start, end = chunk.text.index("KV cache"), chunk.text.index(", and")
    assert chunk.heard(start, end) == "KV cash"
    assert chunk.heard(chunk.text.index("Prefill ends"), len(chunk.text)) == ""
