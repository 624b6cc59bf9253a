from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.glossary import Glossary, Term, load_glossary
from kb.text import HAN, detect_lang

GLOSSARY = load_glossary()
NAMES = [(name, term) for term in GLOSSARY.terms for name in term.names("und")]
HEARD = [(heard, term) for term in GLOSSARY.terms for heard in term.heard_as]


def term(english: str) -> Term:
    return next(term for term in GLOSSARY.terms if term.en[0] == english)


def names(terms: list[Term]) -> list[str]:
    return [term.en[0] for term in terms]


def plain(text: str) -> str:
    return re.sub(r"[\W_]", "", text.casefold())


def test_has_the_vocabulary_of_the_field() -> None:
    assert len(GLOSSARY.terms) >= 220
    assert len(HEARD) >= 100


def test_each_pair_has_both_languages() -> None:
    for entry in GLOSSARY.terms:
        assert entry.zh, entry
        assert entry.en, entry
        assert not any(HAN.search(name) for name in (*entry.en, *entry.abbr)), entry


def test_a_hanzi_name_is_no_single_character_that_stands_in_other_words() -> None:
    for name, _ in NAMES:
        assert len(name) >= 2, name


def test_every_name_belongs_to_one_term_and_is_found_whole() -> None:
    for name, owner in NAMES:
        assert GLOSSARY.find(name) == [owner], name


def test_what_is_heard_is_never_another_spelling_of_a_correct_name() -> None:
    spellings = {plain(name) + plural for name, _ in NAMES for plural in ("", "s", "es")}
    assert [heard for heard, _ in HEARD if plain(heard) in spellings] == []


def test_what_is_heard_points_to_one_term_and_is_too_long_to_stand_in_other_words() -> None:
    heard = [text.casefold() for text, _ in HEARD]
    assert len(heard) == len(set(heard))
    for text in heard:
        assert len(text) >= (3 if HAN.search(text) else 4), text


@dataclass(frozen=True)
class Found:
    text: str
    terms: tuple[str, ...]


@pytest.mark.parametrize(
    "case",
    [
        Found("What is PagedAttention?", ("PagedAttention",)),
        Found("paged-attention", ("PagedAttention",)),
        Found("KV caches", ("KV cache",)),
        Found("pass --kv-cache-dtype fp8", ("KV cache", "data type", "8-bit floating point")),
        Found("KV缓存和 KV 缓存", ("KV cache",)),
        Found("ＫＶ　缓存", ("KV cache",)),
        Found("KV cache offloading", ("KV cache offloading",)),
        Found("the hybrid KV cache manager", ("hybrid KV cache manager",)),
        Found("混合 KV 缓存管理器", ("hybrid KV cache manager",)),
        Found("policies, retries and batch sizes", ("retry", "batch size")),
        Found("向量化不是量化", ("vectorization", "quantization")),
        Found("GPU 显存不足时怎么淘汰", ("GPU memory", "out of memory", "eviction")),
        Found("tp=8", ("tensor parallelism",)),
        Found("http, tpu and stripped", ()),
        Found("a memory.Cache", ("memory", "cache")),
        Found("KV, cache", ("cache",)),
        Found("", ()),
        Found("…！？\n", ()),
    ],
    ids=lambda case: case.text,
)
def test_find(case: Found) -> None:
    assert tuple(names(GLOSSARY.find(case.text))) == case.terms


def test_expand_gives_the_names_of_the_other_language() -> None:
    assert GLOSSARY.expand("心跳多久续约一次？", "en") == ["heartbeat", "renewal", "renew"]
    assert "首词元延迟" in GLOSSARY.expand("How is TTFT measured?", "zh")
    assert {"prefix caching", "APC", "hit rate"} <= set(GLOSSARY.expand("前缀缓存的命中率", "en"))


def test_expand_leaves_out_what_the_text_says_already() -> None:
    assert GLOSSARY.expand("What does vLLM do?", "zh") == []
    assert "TTFT" not in GLOSSARY.expand("TTFT 是什么", "en")
    assert GLOSSARY.expand("nothing of the kind", "zh") == []


@given(st.text(max_size=200))
def test_any_text_can_be_searched(text: str) -> None:
    for to in ("zh", "en", "und"):
        for name in GLOSSARY.expand(text, to):
            assert any(name in found.names(to) for found in GLOSSARY.find(text))


@given(st.lists(st.sampled_from([name for name, _ in NAMES]), max_size=5))
def test_every_name_in_a_list_is_found(chosen: list[str]) -> None:
    text = "; ".join(chosen)
    assert set(GLOSSARY.find(text)) == {owner for name, owner in NAMES if name in chosen}


def test_hotwords_are_names_of_the_language_and_keep_the_limit() -> None:
    words = GLOSSARY.hotwords("zh", 40)
    assert len(words) == len(set(words)) == 40
    assert {"vLLM", "分页注意力", "张量并行", "TP"} <= set(words)
    assert not any(detect_lang(word) == "zh" for word in GLOSSARY.hotwords("en", 200))
    assert GLOSSARY.hotwords("en", 0) == ()


def test_hotwords_begin_with_what_is_misheard() -> None:
    glossary = Glossary((Term(("甲",), ("alpha",)), Term(("乙",), ("beta",), ("B2",), ("better one",))))
    assert glossary.hotwords("en", 3) == ("beta", "B2", "alpha")


def test_a_long_text_is_searched_in_a_moment() -> None:
    text = "The scheduler evicts KV cache blocks. 调度器淘汰键值缓存的物理块。" * 2000
    started = time.process_time()
    GLOSSARY.find(text)
    GLOSSARY.expand(text, "zh")
    assert time.process_time() - started < 2.0


def test_the_data_lies_in_the_package_that_the_wheel_ships() -> None:
    import kb.glossary

    assert Path(kb.glossary.__file__).with_name("glossary.toml").is_file()
    assert load_glossary() is GLOSSARY
