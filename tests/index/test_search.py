from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

import numpy as np
import pytest
from numpy.typing import NDArray

from index.client import QdrantStore
from index.embed import DENSE
from index.fusion import FusionWeights
from index.points import LEXICAL
from index.search import LONGEST_QUERY, Searcher, default_weights
from index.sparse import document_vector
from index.store import IndexRecipe, Point
from kb.errors import BadRequest, LimitExceeded
from kb.types import Around, Chunk, Filters, Kind, Lang, Query, Source, Span
from tests.fakes import FakeEmbedder
from tests.index.corpus import chunk, source

RECIPE = IndexRecipe("search tests/1", {DENSE: FakeEmbedder.dimension})
NOTE = source("router.md")
OLD = source("old.md", version="0.20.0")
NEW = source("new.md", version="0.33.0")
TALK = source("talk.srt", kind=Kind.CAPTIONS, lang="zh", talk="t1", day=date(2026, 1, 2))
TEXTS: Sequence[tuple[Source, str, Lang]] = (
    (
        NOTE,
        "vLLM Router has two policies. The flag `--balance-abs-threshold` is 32 by default. It is an integer.",
        "en",
    ),
    (NOTE, "Consistent hashing makes 160 virtual nodes for each server.", "en"),
    (OLD, "Set `VLLM_CPU_KVCACHE_SPACE` to the size in GiB.", "en"),
    (NEW, "Set `VLLM_CPU_KVCACHE_SPACE`  to the size in GiB.", "en"),
    (TALK, "前缀缓存让相同的前缀只算一次。哈希键是元组。", "zh"),
    (TALK, "推理系统每天有五亿次调用。", "zh"),
)


class PlainGlossary:
    """Knows one term."""

    def expand(self, text: str, to: Lang) -> list[str]:
        pairs: Mapping[Lang, tuple[str, str]] = {
            "zh": ("prefix caching", "前缀缓存"),
            "en": ("前缀缓存", "prefix caching"),
        }
        said, name = pairs[to]
        return [name] if said in text else []


@pytest.fixture(scope="module")
def store() -> Iterator[QdrantStore]:
    opened = QdrantStore(":memory:", collection="search-tests")
    opened.ensure(RECIPE)
    made = [chunk(of, text, order, lang) for order, (of, text, lang) in enumerate(TEXTS)]
    linked = [
        one.model_copy(
            update={
                "previous_id": made[at - 1].id if at and made[at - 1].source_id == one.source_id else None,
                "next_id": made[at + 1].id if at + 1 < len(made) and made[at + 1].source_id == one.source_id else None,
            }
        )
        for at, one in enumerate(made)
    ]
    opened.upsert([pointed(one, of) for one, (of, _, _) in zip(linked, TEXTS, strict=True)])
    yield opened
    opened.close()


def pointed(one: Chunk, of: Source, revision: str = "r1") -> Point:
    vector = FakeEmbedder().embed_passages([one.full_text])[0]
    return Point(one, of, revision, {DENSE: vector}, document_vector(one))


@pytest.fixture
def searcher(store: QdrantStore) -> Searcher:
    return Searcher(store, {DENSE: FakeEmbedder()}, glossary=PlainGlossary())


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("what is balance_abs_threshold", "The flag `--balance-abs-threshold` is 32 by default."),
        ("一致性哈希 160 virtual nodes", "Consistent hashing makes 160 virtual nodes for each server."),
        ("哈希键是什么", "哈希键是元组。"),
        ("每天调用多少次", "推理系统每天有五亿次调用。"),
    ],
)
def test_the_best_hit_quotes_the_sentence_that_answers(searcher: Searcher, question: str, quote: str) -> None:
    hit = searcher.search(Query(text=question))[0]
    assert hit.quote == quote
    assert hit.quote in hit.chunk.text
    assert hit.locator == hit.chunk.locators[0]
    assert hit.href == hit.locator.href(hit.source)


@pytest.mark.parametrize(
    ("question", "lang", "said"), [("Is the system called?", "zh", "推理系统"), ("虚拟节点", "en", "Consistent")]
)
def test_ordinary_words_meet_across_languages(searcher: Searcher, question: str, lang: Lang, said: str) -> None:
    hit = searcher.search(Query(text=question, filters=Filters(langs=(lang,))))[0]
    assert said in hit.chunk.text
    assert LEXICAL in {rank.list for rank in hit.ranks}


def test_a_question_finds_the_other_language_through_the_glossary(searcher: Searcher) -> None:
    hit = searcher.search(Query(text="prefix caching", filters=Filters(langs=("zh",))))[0]
    assert hit.quote.startswith("前缀缓存")
    assert LEXICAL in {rank.list for rank in hit.ranks}


def test_the_words_inside_an_identifier_are_not_translated(store: QdrantStore) -> None:
    asked: list[str] = []

    class Spy:
        def expand(self, text: str, to: Lang) -> list[str]:
            asked.append(text)
            return []

    Searcher(store, {DENSE: FakeEmbedder()}, glossary=Spy()).search(
        Query(text="set VLLM_CPU_KVCACHE_SPACE --kv-cache-dtype")
    )
    assert not [text for text in asked if "CACHE" in text or "cache" in text]


def test_a_bare_identifier_finds_who_has_it_first(searcher: Searcher) -> None:
    hits = searcher.search(Query(text="vllm_cpu_kvcache_space"))
    assert [hit.source.id for hit in hits][:1] == [NEW.id]


def test_candidates_of_both_languages_are_kept(searcher: Searcher) -> None:
    assert {hit.chunk.lang for hit in searcher.search(Query(text="前缀缓存 hashing"))} == {"zh", "en"}


def test_p32_filters_hold_on_every_list(searcher: Searcher) -> None:
    for filters in (
        Filters(kinds=(Kind.CAPTIONS,)),
        Filters(langs=("zh",)),
        Filters(talks=("t1",)),
        Filters(sources=(TALK.id,)),
        Filters(since=date(2026, 1, 1)),
    ):
        hits = searcher.search(Query(text="VLLM_CPU_KVCACHE_SPACE threshold 160", filters=filters))
        assert {hit.source.id for hit in hits} == {TALK.id}
    assert searcher.search(Query(text="threshold", filters=Filters(langs=("zh",), versions=("0.33.0",)))) == []


def test_what_is_said_twice_is_one_hit_of_the_newest_version(searcher: Searcher) -> None:
    hits = searcher.search(Query(text="VLLM_CPU_KVCACHE_SPACE"))
    assert hits[0].source.id == NEW.id
    assert hits[0].twins == (OLD.id,)
    assert OLD.id not in {hit.source.id for hit in hits}


def test_a_question_that_names_a_version_gets_that_one(searcher: Searcher) -> None:
    hit = searcher.search(Query(text="VLLM_CPU_KVCACHE_SPACE in 0.20.0"))[0]
    assert (hit.source.id, hit.twins) == (OLD.id, (NEW.id,))


def test_a_quote_comes_with_what_stands_around_it_also_in_the_chunks_beside_it(searcher: Searcher) -> None:
    hit = searcher.search(Query(text="is balance-abs-threshold an integer", context=2))[0]
    assert hit.quote == "The flag `--balance-abs-threshold` is 32 by default."
    assert hit.around == Around(
        before="vLLM Router has two policies.",
        after="It is an integer.\nConsistent hashing makes 160 virtual nodes for each server.",
    )
    assert searcher.search(Query(text="balance-abs-threshold"))[0].around is None


def translated(text: str, to: Lang) -> str | None:
    return {"en": "How many calls does the system get every day?", "zh": "每天有多少次调用？"}[to]


def test_a_translation_finds_what_the_glossary_has_no_name_for(store: QdrantStore) -> None:
    searcher = Searcher(store, {DENSE: FakeEmbedder()}, glossary=PlainGlossary(), translate=translated)
    hit = searcher.search(Query(text="How often is it called each day?", filters=Filters(langs=("zh",))))[0]
    assert hit.quote == "推理系统每天有五亿次调用。"
    assert LEXICAL in {rank.list for rank in hit.ranks}


def test_only_what_is_asked_of_the_other_language_is_translated(store: QdrantStore) -> None:
    asked: list[tuple[str, Lang]] = []

    def spy(text: str, to: Lang) -> str | None:
        asked.append((text, to))
        return None

    searcher = Searcher(store, {DENSE: FakeEmbedder()}, glossary=PlainGlossary(), translate=spy)
    for text, langs in (("prefix caching", ()), ("前缀缓存", ("zh",)), ("--kv-cache-dtype", ()), ("哈希键", ("en",))):
        searcher.search(Query(text=text, filters=Filters(langs=langs)))
    assert asked == [("prefix caching", "zh"), ("哈希键", "en")]


def test_where_there_is_no_translation_the_glossary_does(store: QdrantStore, searcher: Searcher) -> None:
    failing = Searcher(store, {DENSE: FakeEmbedder()}, glossary=PlainGlossary(), translate=lambda text, to: None)
    assert failing.search(Query(text="prefix caching")) == searcher.search(Query(text="prefix caching"))


@pytest.mark.parametrize("text", ["", "  \n", "\x00\x07\x1b", "？！…", "x" * (LONGEST_QUERY + 1), "x" * 100_000])
def test_questions_without_words_or_without_end_are_refused(searcher: Searcher, text: str) -> None:
    with pytest.raises(BadRequest) as caught:
        searcher.search(Query(text=text))
    assert caught.value.remedy


def test_control_characters_are_no_hindrance(searcher: Searcher) -> None:
    assert searcher.search(Query(text="balance\x00-abs-threshold\x07"))[0].source.id == NOTE.id


def test_the_limit_holds_and_order_is_deterministic(searcher: Searcher) -> None:
    query = Query(text="vLLM 缓存 hashing", limit=3)
    hits = searcher.search(query)
    assert len(hits) == 3
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert hits == searcher.search(query)


def test_a_question_of_stop_words_still_searches_by_meaning(searcher: Searcher) -> None:
    assert searcher.search(Query(text="what is it?"))


class ShortSighted(FakeEmbedder):
    """Reads no more than 40 characters."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        if len(text) > 40:
            raise LimitExceeded("too long")
        return super().embed_query(text)


def test_p25_a_question_longer_than_the_model_reads_is_read_in_parts(store: QdrantStore) -> None:
    searcher = Searcher(store, {DENSE: ShortSighted()}, glossary=PlainGlossary())
    text = "Consistent hashing makes virtual nodes. " * 20
    assert searcher.search(Query(text=text))[0].chunk.text == TEXTS[1][1]


def test_quotes_never_hold_what_is_not_in_the_source() -> None:
    """What a chunk adds between its spans, such as a fence that goes on, is no quote."""
    one = chunk(NOTE, "```\nkey = 1\n```")
    inner = (Span(start=4, end=11, order=0, offset=0, locator=one.spans[0].locator),)
    from index.quote import best_quote

    start, end = best_quote(one.model_copy(update={"spans": inner}), {"key": 1.0})
    assert one.text[start:end] == "key = 1"


def test_weights_are_fitted_for_the_packaged_embedder_only() -> None:
    class Packaged(FakeEmbedder):
        fingerprint = "multilingual-e5-small@1571fc982750 centred/1"

    assert isinstance(default_weights({DENSE: FakeEmbedder()}), FusionWeights)
    assert default_weights({DENSE: Packaged()}) != default_weights({DENSE: FakeEmbedder()})
