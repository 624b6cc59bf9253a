from __future__ import annotations

import string
import time
import unicodedata
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymdownx.slugs import slugify

from kb.text import canonical, detect_lang, find_quote, fold, folded, printable, sentences, slug, stable_id

MIXED = st.text(
    st.one_of(
        st.sampled_from("的一是在不了有和人这中大为上个国缓存块。！？；，、：“”（）"),
        st.sampled_from(string.ascii_letters + string.digits + ".,!?-()[]\"' \n\t"),
        st.characters(),
    ),
    max_size=120,
)


# --- stored form ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    raw: str
    text: str


@pytest.mark.parametrize(
    "case",
    [
        Stored("a\r\nb\rc\n", "a\nb\nc\n"),
        Stored("cafe\u0301", "café"),
        Stored("e\x01\u0301", "é"),
        Stored("bell\x07 and\x00 nul", "bell and nul"),
        Stored("a\vb\fc\x85d\u2028e\u2029f", "a b c d e f"),
        Stored("tab\tstays", "tab\tstays"),
        Stored("lone \ud800 surrogate", "lone  surrogate"),
        Stored("ﬁeld Ａ ①", "ﬁeld Ａ ①"),
    ],
    ids=lambda case: ascii(case.raw),
)
def test_canonical(case: Stored) -> None:
    assert canonical(case.raw) == case.text


@pytest.mark.parametrize(
    ("radicals", "hanzi"),
    [("⼀⼈", "一人"), ("⻓⽂本", "长文本"), ("⻚⾯", "页面"), ("⻢上", "马上"), ("⼤模型", "大模型")],
)
def test_p17_radicals_are_stored_as_hanzi(radicals: str, hanzi: str) -> None:
    assert canonical(radicals) == hanzi


def test_p17_radicals_and_ligatures_are_found_by_what_people_type() -> None:
    assert find_quote("长文本", "处理⻓⽂本的能力") == (2, 5)
    text = "a magnetic ﬁeld here"
    found = find_quote("field", text)
    assert found
    assert text[slice(*found)] == "ﬁeld"


@given(MIXED)
def test_canonical_is_settled_and_moves_no_line(text: str) -> None:
    stored = canonical(text)
    assert canonical(stored) == stored
    assert unicodedata.is_normalized("NFC", stored)
    assert stored.count("\n") == text.replace("\r\n", "\n").replace("\r", "\n").count("\n")


# --- quotes -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Quote:
    quote: str
    text: str
    found: str | None


@pytest.mark.parametrize(
    "case",
    [
        Quote("paged attention", "In paged\n  attention, blocks", "paged\n  attention"),
        Quote("continuous batching", "contin-\nuous batching", "contin-\nuous batching"),
        Quote("KV 缓存占显存", "每个词元的KV缓存 占\n显存", "KV缓存 占\n显存"),
        Quote("ＫＶ cache", "the KV cache", "KV cache"),
        Quote("cafe\u0301", "un café", "café"),
        Quote("zero\u200bwidth", "zerowidth", "zerowidth"),
        Quote("131,072", "131,072 bytes", "131,072"),
        Quote("131072", "131,072 bytes", None),
        Quote("Cache", "cache", None),
        Quote("a b", "ab", None),
        Quote("", "anything", None),
        Quote(" \n ", "anything", None),
    ],
    ids=lambda case: ascii(case.quote),
)
def test_find_quote(case: Quote) -> None:
    found = find_quote(case.quote, case.text)
    assert (case.text[slice(*found)] if found else None) == case.found


@given(MIXED)
def test_fold_is_settled_and_its_offsets_lead_back(text: str) -> None:
    whole = fold(text)
    assert whole.text == folded(text)
    assert len(whole.text) == len(whole.offsets)
    assert list(whole.offsets) == sorted(whole.offsets)
    assert all(0 <= offset < len(text) for offset in whole.offsets)
    assert whole.text == whole.text.strip()


@given(MIXED, st.data())
def test_any_part_of_a_stored_text_is_found_in_it(text: str, data: st.DataObject) -> None:
    stored = canonical(text)
    start = data.draw(st.integers(0, len(stored)))
    part = stored[start : data.draw(st.integers(start, len(stored)))]
    if fold(part).text and fold(part).text in fold(stored).text:
        found = find_quote(part, stored)
        assert found
        assert fold(part).text in fold(stored[slice(*found)]).text


@given(st.lists(st.sampled_from(["缓存", "block", "KV", "128", "page", "的"]), min_size=1, max_size=8), st.data())
def test_white_space_never_hides_a_quote(words: list[str], data: st.DataObject) -> None:
    gaps = st.sampled_from([" ", "\n", "  ", "\n\t", "\u3000"])
    text = "".join(word + data.draw(gaps) for word in words)
    quote = " ".join(words)
    found = find_quote(quote, f"before {text} after")
    assert found
    assert fold(f"before {text} after"[slice(*found)]).text == fold(quote).text


# --- sentences --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    text: str
    parts: tuple[str, ...]


@pytest.mark.parametrize(
    "case",
    [
        Split("块大小是16。每块2 MiB！够吗？够。", ("块大小是16。", "每块2 MiB！", "够吗？", "够。")),
        Split("他说：“够了。”然后走了。", ("他说：“够了。”", "然后走了。")),
        Split("真的吗?是的。", ("真的吗?", "是的。")),
        Split("等等……以及其他。", ("等等……以及其他。",)),
        Split("It takes 0.5 s. Then it stops.", ("It takes 0.5 s.", "Then it stops.")),
        Split("vLLM v0.9.1 is out. Next.", ("vLLM v0.9.1 is out.", "Next.")),
        Split("It holds 2,560. Then 40.", ("It holds 2,560.", "Then 40.")),
        Split("Use e.g. FP8, cf. Fig. 3. Good.", ("Use e.g. FP8, cf. Fig. 3.", "Good.")),
        Split("Really?! No... wait. Yes", ("Really?!", "No...", "wait.", "Yes")),
        Split("See https://example.com/?a=b.c for more.", ("See https://example.com/?a=b.c for more.",)),
        Split("Stop if a != b.", ("Stop if a != b.",)),
        Split("先停下。`--flag` 是开关。", ("先停下。", "`--flag` 是开关。")),
        Split("**先停下。**再走。**慢**走。", ("**先停下。**", "再走。", "**慢**走。")),
        Split("1. Install it.\n2. Run it.", ("1. Install it.", "2. Run it.")),
        Split("  > 3. Third item. Done.", ("> 3. Third item.", "Done.")),
        Split("- one\n- two", ("- one", "- two")),
        Split("A title\nA line of prose", ("A title", "A line of prose")),
        Split(
            "A long line of wrapped prose that goes on and on\nuntil it ends. Next.",
            ("A long line of wrapped prose that goes on and on\nuntil it ends.", "Next."),
        ),
        Split("", ()),
        Split(" \n\t", ()),
    ],
    ids=lambda case: ascii(case.text)[:40],
)
def test_sentences(case: Split) -> None:
    assert tuple(case.text[start:end] for start, end in sentences(case.text)) == case.parts


@given(MIXED)
def test_sentences_cover_the_text_in_order(text: str) -> None:
    spans = list(sentences(text))
    end_before = 0
    for start, end in spans:
        assert not text[end_before:start].strip()
        assert text[start:end] == text[start:end].strip() != ""
        end_before = end
    assert not text[end_before:].strip()


def test_a_long_text_without_a_break_is_split_in_a_moment() -> None:
    started = time.process_time()
    list(sentences("A stop. " * 30_000))
    fold("缓存 block\n" * 10_000)
    assert time.process_time() - started < 3


# --- languages, anchors, ids ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("KV 缓存是什么？", "zh"),
        ("用 --kv-cache-dtype fp8 启动 vLLM serve 的 OpenAI server", "zh"),
        ("The word 缓存 means cache in the Chinese text of this page", "en"),
        ("What is a KV cache?", "en"),
        ("大語言模型", "zh"),
        ("128 × 2 = 256", "und"),
        ("", "und"),
    ],
)
def test_detect_lang(text: str, lang: str) -> None:
    assert detect_lang(text) == lang


@given(st.one_of(MIXED, st.text(max_size=60)))
def test_p42_slug_is_the_anchor_of_the_site(text: str) -> None:
    assert slug(text) == slugify(case="lower")(text, "-")


def test_p42_slug_keeps_hanzi() -> None:
    assert slug("为什么先看显存？") == "为什么先看显存"
    assert slug("KV 缓存：*原理*") == "kv-缓存原理"


@given(st.lists(st.text(max_size=10), min_size=1, max_size=4))
def test_stable_id_depends_on_its_parts_alone(parts: list[str]) -> None:
    assert stable_id(*parts) == stable_id(*parts)
    assert stable_id(*parts) != stable_id(*parts, "more")


def test_stable_id_never_changes() -> None:
    assert stable_id("a", "b") != stable_id("ab")
    assert stable_id("file:///notes/a.md") == "d2fa6446-dfd4-5d57-a8d4-e29acc3a3bfe"


@given(st.text(max_size=80))
def test_printable_text_cannot_act_on_a_terminal(text: str) -> None:
    shown = printable(text)
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in shown)


@pytest.mark.parametrize("formula", ["$$\na = b. C\n\\times\n$$", "$$x. y$$", "\\[\na. B\n\\]"])
def test_a_sentence_never_ends_inside_a_formula(formula: str) -> None:
    text = f"Before it.\n{formula}\nBehind. It"
    assert formula in [text[start:end] for start, end in sentences(text)]


def test_a_command_that_goes_on_is_one_sentence() -> None:
    text = "vllm serve model \\\n    --flag x \\\n    --other\nvllm bench"
    assert [text[start:end] for start, end in sentences(text)] == [text[:-11], "vllm bench"]


def test_escaped_brackets_are_no_formula() -> None:
    text = "A \\[P] one. Two.\nThree \\[Q\\] four."
    assert len(list(sentences(text))) == 3


@given(st.text(alphabet="ab-Z1 \n\t\u3000中文ﬁＡ。，“\u200b\u00ad⺁⼀\u2028é\u0301\x00", max_size=20))
def test_folding_without_offsets_gives_the_same(text: str) -> None:
    assert folded(text) == fold(text).text
