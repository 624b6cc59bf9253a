"""What counts as found, cited, said and verbatim."""

from __future__ import annotations

import pytest

from eval import judge
from kb.types import Document, Mark, Source
from tests.eval.subject import KnownSubject, answer, case, citation, hit, source

GOLD = "Frequent preemption means that the cache is too small for the load"
SOURCES = {"s": source(), "twin": source("notes/old/cache.md", "twin"), "far": source("notes/far.md", "far")}


def source_of(name: str) -> Source:
    return SOURCES[name]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"x {GOLD}. y", True),
        (f"x {GOLD.replace(' ', chr(10))}. y", True),
        (GOLD.lower(), False),
        (GOLD[:-1], False),
    ],
)
def test_a_chunk_is_found_by_the_whole_quote(text: str, found: bool) -> None:
    assert judge.quotes_held(case("a", GOLD), [hit(text)], source_of) == [frozenset({0} if found else ())]


def test_the_same_words_elsewhere_are_not_found_but_a_twin_is() -> None:
    elsewhere = case("a", GOLD, file="notes/old/cache.md")
    alone, with_twin = hit(GOLD), hit(GOLD, twins=("twin",))
    assert judge.quotes_held(elsewhere, [alone, with_twin], source_of) == [frozenset(), frozenset({0})]


def test_a_file_is_named_by_whole_parts_of_its_path() -> None:
    assert not judge.stands_in(case("a", "q", file="cache.md").gold[0], source("notes/my-cache.md"))
    assert judge.stands_in(
        case("a", "q", file="笔记/缓存.md").gold[0], source("%E7%AC%94%E8%AE%B0/%E7%BC%93%E5%AD%98.md")
    )


@pytest.mark.parametrize(
    ("entry", "text", "said"),
    [
        ("131,072", "that is 131072 bytes", True),
        ("131072", "that is 131,072 bytes", True),
        ("nowhere|group_id", "the Group_ID", True),
        ("30", "in 3, 0", False),
        ("ＦＰ８", "in FP8", True),
    ],
)
def test_key_strings(entry: str, text: str, said: bool) -> None:
    asked = case("a", "q", must_include=(entry,))
    assert judge.missing_key_strings(asked, answer(text=text)) == (() if said else (entry,))


@pytest.mark.parametrize(
    ("quotes", "cited", "recall"),
    [
        ((GOLD,), f"When blocks run out. {GOLD}: lower it.", 1.0),
        ((GOLD,), GOLD[:40], 1.0),
        ((f"Nothing is lost but time. {GOLD}",), f"{GOLD}. Lower the number of sequences at once.", 1.0),
        ((GOLD,), "The cache is too large, which is another matter altogether, in another place", 0.0),
        ((GOLD, "Nothing is lost but time."), GOLD, 0.5),
    ],
)
def test_citation_recall_is_the_share_of_what_the_question_needs(
    quotes: tuple[str, ...], cited: str, recall: float
) -> None:
    assert judge.citation_recall(case("a", *quotes), answer(citation(cited)), source_of) == recall


def test_alternatives_are_as_good_but_needed_no_more() -> None:
    alternative = {"file": "notes/far.md", "quote": "因为缓存太小"}
    asked = case("a", GOLD, alternatives=(alternative,))
    assert judge.citation_recall(asked, answer(citation("因为缓存太小", source_id="far")), source_of) == 1.0
    both = answer(citation(GOLD), citation("因为缓存太小", source_id="far"))
    assert judge.citation_recall(asked, both, source_of) == 1.0


def test_citation_precision_is_the_share_from_files_that_answer() -> None:
    cited = answer(citation("anything"), citation(GOLD, source_id="twin"))
    assert judge.citation_precision(case("a", GOLD), cited, source_of) == 0.5
    assert judge.citation_precision(case("a", GOLD), answer(text="uncited"), source_of) == 0.0


@pytest.mark.parametrize(
    ("quote", "number", "verbatim"),
    [
        ("The cache key is (block_hash, group_id).", 0, True),
        ("The cache key is (block_hash, group_id).", 1, False),
        ("the cache key", 0, False),
        ("租约默认30秒", 1, True),
        (" ", 0, False),
    ],
)
def test_a_quote_stands_where_its_locator_says(quote: str, number: int, verbatim: bool) -> None:
    document: Document = KnownSubject().show("s")
    assert judge.is_verbatim(citation(quote, number), document) is verbatim


def test_a_quote_may_span_segments() -> None:
    document = KnownSubject().show("s")
    both = citation("group_id).\n租约默认").model_copy(update={"locator": Mark(line_start=1, line_end=2)})
    assert judge.is_verbatim(both, document)
