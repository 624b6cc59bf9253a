"""The sample material agrees with itself: every number in it is computed in `examples/make/facts.py`."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import av
import pypdfium2
import pytest
import yaml
from pptx import Presentation

from examples.make import facts
from kb.text import detect_lang

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
DECK = EXAMPLES / "talks/kv-cache-arithmetic/deck.pptx"
NOTES = sorted((EXAMPLES / "notes").rglob("*.md"))
POSTS = [ROOT / f"site/docs/{lang}/posts/kv-cache-arithmetic.md" for lang in ("zh", "en")]

CALCULATED = {value for name, value in vars(facts).items() if name.isupper() and isinstance(value, int | float)}
DERIVED = {
    128, 512, 64, 2, 1,  # KiB and MiB of a token or block
    4 * 2**10 // 1024,  # GiB of the prefixes that are not shared
    facts.CARD_GIB - facts.USABLE_GIB, facts.CARD_GIB * 0.05, facts.UTILIZATION + 0.05,
    facts.MAX_TOKENS // facts.BLOCK_TOKENS,  # blocks of a reservation
    facts.REQUEST_BLOCKS * facts.BLOCK_TOKENS, facts.UNEVEN_SHARED_BLOCKS * facts.BLOCK_TOKENS,
    100 * facts.WASTED_RESERVED / facts.MAX_TOKENS,
    100 * facts.WASTED_PAGED / (facts.REQUEST_BLOCKS * facts.BLOCK_TOKENS),
    100 * facts.STATIC_UTILIZATION, facts.BLOCK_TOKENS - 1, *facts.OUTPUTS,
    100 * (1 - 5e9 / (facts.CACHE_GIB * facts.GIB)),  # what decimal gigabytes lose
}  # fmt: skip
KNOWN = {round(float(value), 1) for value in CALCULATED | DERIVED} | {round(float(facts.UTILIZATION), 2), 0.95}
COUNTING = {float(number) for number in range(13)}  # ordinals, list numbers, steps, slides


def numbers(text: str) -> Iterator[float]:
    """Numbers of the prose: no code, links, dates, versions, identifiers or footnotes."""
    text = re.sub(r"^---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = re.sub(r"```.*?```|^\[\^\w+\]:.*?$|`[^`]*`|\]\([^)]*\)|\[\^\w+\]", " ", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\d{4}-\d\d-\d\d|FP\d+|BF16|[vV]ersion \d\.\d|服务 \d\.\d|\d+–\d+", " ", text)
    for found in re.finditer(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\d.]*\w*\()", text):
        yield float(found[0].rstrip(",").replace(",", ""))


def strangers(text: str) -> list[float]:
    return [number for number in numbers(text) if round(number, 2) not in KNOWN | COUNTING]


def slide_texts() -> Iterator[str]:
    for slide in Presentation(str(DECK)).slides:
        for shape in slide.shapes:
            if shape.has_text_frame:
                yield shape.text_frame.text
            elif shape.has_table:
                yield "\n".join(cell.text for row in shape.table.rows for cell in row.cells)
        yield slide.notes_slide.notes_text_frame.text


@pytest.mark.parametrize("path", [*NOTES, *POSTS], ids=lambda path: path.name)
def test_every_number_of_notes_and_articles_is_a_fact(path: Path) -> None:
    assert strangers(path.read_text(encoding="utf-8")) == []


def test_every_number_of_the_deck_is_a_fact() -> None:
    code = next(text for text in slide_texts() if text.startswith("def "))
    assert [found for text in slide_texts() if text != code for found in strangers(text)] == []


def test_a_wrong_number_would_be_seen() -> None:
    assert strangers("41,960 tokens in 2,561 blocks") == [41960.0, 2561.0]


def code_blocks() -> Iterator[str]:
    yield next(text for text in slide_texts() if text.startswith("def ")).replace("\v", "\n")
    for path in POSTS:
        yield from re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def test_the_code_that_readers_copy_prints_what_is_claimed() -> None:
    blocks = list(code_blocks())
    assert len(blocks) == 3
    for code in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, {})  # our own sample code
        assert printed.getvalue() == f"{facts.TOKEN_BYTES} {facts.CACHE_TOKENS} {facts.CONCURRENT_PAGED}\n"


def test_the_facts_are_those_that_the_texts_name() -> None:
    assert facts.TOKEN_BYTES == 128 * facts.KIB
    assert facts.TOKEN_BYTES_MHA == 512 * facts.KIB
    assert facts.BLOCK_BYTES == 2 * facts.MIB
    assert facts.WEIGHTS_GIB == 15.0
    assert (facts.BLOCKS, facts.CACHE_TOKENS) == (2_560, 40_960)
    assert (facts.CONCURRENT_RESERVED, facts.CONCURRENT_PAGED, facts.CONCURRENT_FP8) == (10, 40, 81)
    assert facts.SHARED_BLOCKS * facts.BLOCK_BYTES == 128 * facts.MIB
    assert facts.UNSHARED_BLOCKS * facts.BLOCK_BYTES == 4 * facts.GIB
    assert (facts.PREFILL_STEPS, facts.LAST_CHUNK) == (5, 192)


DIGITS = dict(zip("零一二三四五六七八九两", (*range(10), 2), strict=True))
UNITS = {"十": 10, "百": 100, "千": 1_000, "万": 10_000}


def spoken(text: str) -> float:
    """The value of a Chinese numeral of the recordings, such as 四万零九百六十 or 一点六."""
    whole, _, decimals = text.partition("点")
    total = section = digit = 0
    for character in whole:
        if character == "万":
            total, section, digit = (section + digit) * 10_000, 0, 0
        elif character in UNITS:
            section, digit = section + (digit or 1) * UNITS[character], 0
        else:
            digit = DIGITS[character]
    return float(f"{total + section + digit}.{''.join(str(DIGITS[character]) for character in decimals) or 0}")


def test_every_number_of_the_recordings_is_a_fact() -> None:
    source = (EXAMPLES / "make/speech.py").read_text(encoding="utf-8")
    chinese, english = source.split('"chunked-prefill"')
    sentences = re.findall(r'^ {12}"(.*)",$', chinese, re.MULTILINE)
    assert len(sentences) >= 10
    for sentence in sentences:
        for found in re.finditer(r"[零一二三四五六七八九两十百千万点]{2,}", re.sub("一点就|三句|百分之", "", sentence)):
            value = spoken(found[0])
            assert value in KNOWN | COUNTING or value / 100 in KNOWN, (sentence, value)
    assert strangers("\n".join(re.findall(r'^ {12}"(.*)",$', english, re.MULTILINE))) == []


@pytest.mark.parametrize(("talk", "lang", "least", "most"), [
    ("kv-cache-arithmetic", "zh", 60, 125), ("chunked-prefill", "en", 50, 70),
])  # fmt: skip
def test_a_talk_has_its_facts_and_a_recording(talk: str, lang: str, least: float, most: float) -> None:
    folder = EXAMPLES / "talks" / talk
    facts_of_talk = yaml.safe_load((folder / "talk.yaml").read_text(encoding="utf-8"))
    assert facts_of_talk["language"] == lang
    assert facts_of_talk["url"].startswith("https://example.com/")
    assert isinstance(facts_of_talk["date"], date)
    with av.open(str(folder / "speech.ogg")) as container:
        assert container.duration
        assert least <= container.duration / av.time_base <= most
        assert container.streams.audio[0].channels == 1


def test_the_recordings_are_small() -> None:
    assert sum(path.stat().st_size for path in EXAMPLES.rglob("speech.ogg")) < 2 * 2**20


def test_the_pdf_has_a_page_for_each_slide_also_for_the_hidden_one() -> None:
    slides = Presentation(str(DECK)).slides
    with contextlib.closing(pypdfium2.PdfDocument(DECK.with_suffix(".pdf"))) as pdf:
        assert len(pdf) == len(slides) == 12
        text = pdf[3].get_textpage().get_text_range()
    assert "40,960" in text
    assert [slide._element.get("show") for slide in slides].count("0") == 1


def test_the_notes_have_both_languages_dates_and_two_versions_of_one_page() -> None:
    fronts = {}
    for path in NOTES:
        front = yaml.safe_load(path.read_text(encoding="utf-8").split("---\n")[1])
        assert {"title", "date", "version", "lang"} <= front.keys()
        assert front["lang"] == detect_lang(path.read_text(encoding="utf-8").split("---\n", 2)[2])
        fronts[path.relative_to(EXAMPLES).as_posix()] = front
    assert [front["lang"] for front in fronts.values()].count("zh") >= 3
    assert [front["lang"] for front in fronts.values()].count("en") >= 3
    one, two = (fronts[f"notes/service-{version}/service-settings.md"] for version in ("1.0", "2.0"))
    assert one["title"] == two["title"]
    assert one["version"] != two["version"]


def test_articles_in_both_languages_have_the_same_structure() -> None:
    zh, en = (path.read_text(encoding="utf-8") for path in POSTS)
    for pattern in (
        r"^## ",
        r"^\[\^(\w+)\]:",
        r"\[\^(\w+)\](?!:)",
        r"^!\[.*\]\((.*)\)",
        r"^```(\w+)",
        r"\?t=\d+",
        r"^\| ",
    ):
        assert re.findall(pattern, zh, re.MULTILINE) == re.findall(pattern, en, re.MULTILINE), pattern
