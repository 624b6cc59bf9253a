"""What says the same is one hit that names its twins; what differs in a number or a flag stays apart (P2-51)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.folding import Entry, fold
from index.fusion import Fused
from index.store import Found
from index.twins import Likeness, Said, compare, keys, page
from kb.types import Chunk, Kind, Lang, Mark, Page, Source, Span
from tests.index.corpus import chunk, source

OLD = source("docs_0.20.0/cache.md", version="0.20.0")
NEW = source("docs_0.33.0/cache.md", version="0.33.0")
TEXT = (
    "The scheduler keeps a pool of blocks. A request takes blocks from the pool while it runs, and gives them back "
    "when it ends. Set `--block-size` to choose how many tokens a block holds; the default is {size}. Larger blocks "
    "waste more memory at the end of a request{more}."
)


def said(of: Source, text: str, order: int = 0, lang: Lang = "en") -> tuple[Source, Chunk]:
    return of, chunk(of, text, order, lang)


def slide(of: Source, text: str, number: int) -> tuple[Source, Chunk]:
    one = chunk(of, text)
    span = Span(start=0, end=len(text), order=0, offset=0, locator=Page(number=number))
    return of, one.model_copy(update={"spans": (span,)})


def below(heading: str, of: Source, text: str, order: int) -> tuple[Source, Chunk]:
    one = chunk(of, text, order)
    place = Mark(heading_path=(heading,), line_start=order + 1, line_end=order + 1)
    return of, one.model_copy(update={"spans": (one.spans[0].model_copy(update={"locator": place}),)})


def entries(*found: tuple[Source, Chunk], question: str = "block size", lang: Lang = "en") -> list[Entry]:
    ranked = [Fused(Found(one, of, "r1", 0.0), 10.0 - place, ()) for place, (of, one) in enumerate(found)]
    return fold(ranked, question, lang, limit=10)


def shown(found: Sequence[Entry]) -> list[tuple[str, tuple[str, ...]]]:
    return [(entry.shown.found.source.id, entry.twins) for entry in found]


def test_two_versions_of_a_page_are_one_hit_of_the_newest_at_the_place_of_the_best() -> None:
    found = entries(said(OLD, TEXT.format(size=16, more="")), said(NEW, TEXT.format(size=16, more=" than smaller")))
    assert shown(found) == [(NEW.id, (OLD.id,))]
    assert found[0].shown.score == 10.0


@given(
    st.lists(st.sampled_from(["waste", "16", "--block-size", "not", "pool"]), min_size=1, max_size=20),
    st.lists(st.sampled_from(["waste", "16", "--block-size", "not", "pool"]), min_size=1, max_size=20),
    st.sampled_from([OLD, NEW, source("guide.md"), source("talk.md")]),
)
def test_whoever_shares_no_key_is_a_stranger(mine: list[str], theirs: list[str], other: Source) -> None:
    one, two = Said.of(chunk(OLD, " ".join(mine)), OLD), Said.of(chunk(other, " ".join(theirs)), other)
    assert set(keys(one)) & set(keys(two)) or compare(one, two) is Likeness.STRANGER


@pytest.mark.parametrize("named", ["0.20.0", "v0.20.0", "v0.20"])
def test_the_version_that_the_question_names_is_shown(named: str) -> None:
    pair = said(NEW, TEXT.format(size=16, more="")), said(OLD, TEXT.format(size=16, more=" than smaller"))
    assert shown(entries(*pair, question=f"block size in {named}?")) == [(OLD.id, (NEW.id,))]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("the default is 16 tokens", "the default is 32 tokens"),
        ("set `--block-size` for it", "set `--page-size` for it"),
        ("set block_size in the file", "set page_size in the file"),
        ("this is supported since then", "this is not supported since then"),
        ("该功能默认开启", "该功能默认关闭"),
        ("from 16 up to 32 tokens", "from 32 up to 16 tokens"),
        ("call `freeBlocks` at the end", "call `keepBlocks` at the end"),
    ],
)
def test_versions_that_differ_in_what_may_be_asked_both_stay(left: str, right: str) -> None:
    rest = TEXT.format(size=16, more="")
    assert len(entries(said(OLD, f"{rest} {left}"), said(NEW, f"{rest} {right}"))) == 2


def test_a_question_that_compares_versions_gets_both() -> None:
    pair = said(OLD, TEXT.format(size=16, more="")), said(NEW, TEXT.format(size=16, more=""))
    assert len(entries(*pair, question="block size in 0.20.0 and 0.33.0")) == 2


def test_a_deck_as_pdf_and_as_pptx_is_one_hit() -> None:
    """The PDF has the page's number at its foot, another order and another line break."""
    pdf, pptx = source("talk/deck.pdf", kind=Kind.DECK), source("talk/deck.pptx", kind=Kind.DECK)
    body = "Blocks of 16 tokens are shared by 8 requests, and freed when the last of them ends."
    found = entries(slide(pptx, f"Paged attention\n{body}", 12), slide(pdf, f"{body}\nPaged\nattention\n12 / 40", 12))
    assert shown(found) == [(pptx.id, (pdf.id,))]


def test_what_another_chunk_holds_whole_goes_into_it() -> None:
    whole = TEXT.format(size=16, more="")
    longer = f"{whole} A pool of 100 blocks is kept back, and the scheduler takes from it when nothing else is left."
    found = entries(said(NEW, whole), said(NEW, longer, order=1))
    assert [entry.shown.found.chunk.text for entry in found] == [longer]


def test_the_named_version_is_not_swallowed_by_a_longer_new_one() -> None:
    whole = TEXT.format(size=16, more="")
    found = entries(
        said(NEW, f"{whole} A pool of 100 blocks is kept back for later."), said(OLD, whole), question="in 0.20.0"
    )
    assert {entry.shown.found.source.id for entry in found} == {NEW.id, OLD.id}


def test_the_same_words_below_headings_of_other_names_stay_apart() -> None:
    found = entries(below("Eagle", NEW, "Run the example.", 0), below("Eagle3", NEW, "Run the example.", 1))
    assert len(found) == 2


def test_a_translation_that_shares_every_identifier_is_a_twin_shown_in_the_language_of_the_question() -> None:
    zh, en = source("docs/zh/cache.md", lang="zh"), source("docs/en/cache.md")
    pair = (
        said(en, "Set `--block-size` to 16, so that `free_blocks` counts pages."),
        said(zh, "将 `--block-size` 设为 16，`free_blocks` 便按页计数。", lang="zh"),
    )
    assert shown(entries(*pair, lang="zh")) == [(zh.id, (en.id,))]
    assert shown(entries(*pair, lang="en")) == [(en.id, (zh.id,))]


def test_a_translation_that_may_not_be_one_stays() -> None:
    zh, en = source("docs/zh/cache.md", lang="zh"), source("docs/en/cache.md")
    assert len(entries(said(en, "Blocks are shared."), said(zh, "块是共享的。", lang="zh"))) == 2
    assert len(entries(said(en, "Set `--a-b` to 16 or 32."), said(zh, "将 `--a-b` 设为 16 或 64。", lang="zh"))) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("vllm_docs_0.20.0/design/cache.md", "vllm_docs_0.33.0/design/cache.md"),
        ("docs/overview/goals.md", "i18n/zh-Hans/docusaurus-plugin-content-docs/version-v0.3/overview/goals.md"),
        ("docs/guide/a.md", "locale/zh_CN/LC_MESSAGES/guide/a.po"),
        ("notes/cache.zh.md", "notes/cache.en.md"),
        ("talk/deck.pdf", "talk/deck.pptx"),
    ],
)
def test_pages_are_known_again_in_versions_languages_and_formats(one: str, other: str) -> None:
    assert page(f"file:///corpus/{one}") == page(f"file:///corpus/{other}")
    assert page(f"file:///corpus/{one}") != page("file:///corpus/design/other.md")


def test_the_limit_counts_entries_and_later_twins_are_still_named() -> None:
    apart = [said(source(f"{number}.md"), f"Note {number} tells of something else entirely.") for number in range(3)]
    late = said(source("late.md", day=date(2020, 1, 1)), "Note 0 tells of something else entirely.")
    ranked = [Fused(Found(one, of, "r1", 0.0), 9.0 - at, ()) for at, (of, one) in enumerate([*apart, late])]
    found = fold(ranked, "note", "en", limit=2)
    assert [entry.twins for entry in found] in ([(late[0].id,), ()], [(apart[0][0].id,), ()])
