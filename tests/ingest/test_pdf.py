"""PDF decks: order of reading, encodings, pages that cannot be read, locks and errors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingest.office.slides import read
from ingest.parsed import Parsed, Reading
from kb.errors import UnreadableSource
from kb.settings import Settings
from kb.text import find_quote
from kb.types import Dropped, Flag, Role
from tests.ingest.pdf_writer import Sheet, picture, text, write_pdf

pytestmark = pytest.mark.usefixtures("blind")

LINE = "A slide says enough here"


def parse(path: Path) -> Parsed:
    return read(path, Reading(settings=Settings()))


def page_text(parsed: Parsed, number: int) -> str:
    return "\n".join(block.text for block in parsed.blocks if getattr(block.locator, "number", 0) == number)


def column(x: float, side: str) -> list[str]:
    return [text(x, 700 - 16 * i, f"{side} line number {i} runs on with words") for i in range(5)]


def turned(matrix: str, starts: list[str]) -> str:
    return "".join(f"BT /F 12 Tf {matrix} {at} Tm (Line number {i} is whole) Tj ET\n" for i, at in enumerate(starts))


ORDERED = "\n".join(f"{side} line number {i} runs on with words" for side in ("Left", "Right") for i in range(5))
WHOLE = "\n".join(f"Line number {i} is whole" for i in range(3))
CELLS = ["| " + " | ".join(f"r{row}c{cell}" for cell in range(4)) + " |" for row in range(3)]
TABLE = "\n".join([CELLS[0], "|" + " --- |" * 4, *CELLS[1:]])


@dataclass(frozen=True)
class Order:
    name: str
    sheet: Sheet
    expected: str


ORDERS = (
    Order("column after column", Sheet("".join(column(50, "Left") + column(320, "Right"))), ORDERED),
    Order(
        "columns line by line",
        Sheet("".join(line for pair in zip(column(50, "Left"), column(320, "Right"), strict=True) for line in pair)),
        ORDERED,
    ),
    Order("right column first", Sheet("".join(column(320, "Right") + column(50, "Left"))), ORDERED),
    Order("rotated page", Sheet(turned("0 1 -1 0", ["100 50", "116 50", "132 50"]), rotate=90), WHOLE),
    Order("rotated text", Sheet(turned("0 -1 1 0", ["300 700", "284 700", "268 700"])), WHOLE),
    Order("upside down", Sheet(turned("-1 0 0 -1", ["500 100", "500 116", "500 132"]), rotate=180), WHOLE),
    Order(
        "a table is a table",
        Sheet("".join(text(50 + 110 * c, 700 - 20 * r, f"r{r}c{c}") for r in range(3) for c in range(4))),
        TABLE,
    ),
    Order(
        "from the bottom up",
        Sheet("".join(text(50, 100 + 16 * i, f"Line number {2 - i} is whole") for i in range(3))),
        WHOLE,
    ),
)


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.name)
def test_p18_reading_order(order: Order, tmp_path: Path) -> None:
    parsed = parse(write_pdf(tmp_path / "deck.pdf", [order.sheet]))
    assert page_text(parsed, 1) == order.expected


def test_title_is_the_largest_text_at_the_top(tmp_path: Path) -> None:
    content = text(50, 600, LINE) + text(50, 584, LINE) + text(50, 568, LINE) + text(50, 552, LINE)
    footer = text(50, 60, "ACME", size=30)
    two_lines = text(50, 730, "A title that is", size=24) + text(50, 704, "two lines long", size=24)
    parsed = parse(write_pdf(tmp_path / "deck.pdf", [Sheet(content + footer + two_lines), Sheet(content)]))
    titles = [block.text for block in parsed.blocks if block.role is Role.TITLE]
    assert titles == ["A title that is\ntwo lines long"]
    assert parsed.blocks[0].role is Role.TITLE
    assert page_text(parsed, 1).endswith("ACME")


def test_pages_are_absolute_and_keep_their_printed_labels(tmp_path: Path) -> None:
    sheets = [Sheet(text(50, 700, LINE)) for _ in range(4)]
    plain = parse(write_pdf(tmp_path / "plain.pdf", sheets))
    labelled = parse(write_pdf(tmp_path / "labelled.pdf", sheets, labels="0 << /S /r >> 2 << /S /D >>"))
    assert [str(block.locator) for block in plain.blocks] == ["P:1", "P:2", "P:3", "P:4"]
    assert [str(block.locator) for block in labelled.blocks] == ["P:1~i", "P:2~ii", "P:3~1", "P:4~2"]
    assert (labelled.pages, labelled.dropped) == (4, ())


def test_p16_predefined_cjk_encoding_without_to_unicode(tmp_path: Path) -> None:
    parsed = parse(write_pdf(tmp_path / "deck.pdf", [Sheet(text(50, 700, "键值缓存由块组成", font="G"))]))
    assert page_text(parsed, 1) == "键值缓存由块组成"


@pytest.mark.parametrize("garbage", ["\ufffd\ufffd", "\x00\x00", "(cid:12)"])
def test_p16_a_page_of_unreadable_characters_is_dropped(garbage: str, tmp_path: Path) -> None:
    bad = Sheet(text(50, 700, garbage + "most of it is fine", font="U"))
    parsed = parse(write_pdf(tmp_path / "deck.pdf", [Sheet(text(50, 700, LINE)), bad]))
    assert {str(block.locator) for block in parsed.blocks} == {"P:1"}
    (dropped,) = parsed.dropped
    assert (dropped.what, dropped.where) == ("page with unreadable characters", "P:2")


def test_p16_a_stray_unreadable_character_costs_nothing(tmp_path: Path) -> None:
    sheet = Sheet("".join(text(50, 700 - 16 * i, "one hundred good characters " * 4, font="U") for i in range(3)))
    stray = Sheet(sheet.content + text(50, 600, "\ufffd", font="U"))
    assert parse(write_pdf(tmp_path / "deck.pdf", [stray])).dropped == ()


def test_p17_radicals_and_ligatures_are_found_by_normal_text(tmp_path: Path) -> None:
    sheet = Sheet(text(50, 700, "⾼性能⽂本和⺠", font="U") + text(50, 660, "The \x01eld of the \x01rst kind"))
    found = page_text(parse(write_pdf(tmp_path / "deck.pdf", [sheet])), 1)
    for quote in ("高性能文本和民", "The field of the first kind"):
        assert find_quote(quote, found)


def test_hyphenation_is_kept_as_it_is(tmp_path: Path) -> None:
    sheet = Sheet(text(50, 700, "The words of exam-") + text(50, 684, "ples are divided"))
    found = page_text(parse(write_pdf(tmp_path / "deck.pdf", [sheet])), 1)
    assert found == "The words of exam-\nples are divided"
    assert find_quote("words of examples are", found)


def test_characters_beyond_the_first_plane(tmp_path: Path) -> None:
    parsed = parse(write_pdf(tmp_path / "deck.pdf", [Sheet(text(50, 700, "softmax of 𝑄𝐾 here", font="U"))]))
    assert page_text(parsed, 1) == "softmax of 𝑄𝐾 here"


def test_pages_without_text_are_reported_and_the_deck_succeeds(tmp_path: Path) -> None:
    scan = Sheet(picture(0, 0, 600, 800))
    parsed = parse(write_pdf(tmp_path / "deck.pdf", [Sheet(text(50, 700, LINE)), scan, Sheet("")]))
    assert [(d.what, d.where) for d in parsed.dropped] == [("page without text", "P:2"), ("page without text", "P:3")]
    reasons = ["it has no text layer; no text was recognised in it", "it is empty"]
    assert [d.reason for d in parsed.dropped] == reasons
    assert parsed.pages == 3


def test_a_title_above_a_picture_is_flagged(tmp_path: Path) -> None:
    shown = Sheet(text(50, 700, "Code Example", size=24) + picture(50, 100, 500, 500))
    small = Sheet(text(50, 700, "Code Example", size=24) + picture(50, 100, 50, 50))
    parsed = parse(write_pdf(tmp_path / "deck.pdf", [shown, small]))
    assert [block.flags for block in parsed.blocks] == [frozenset({Flag.UNREAD_GRAPHIC}), frozenset()]
    assert [(d.what, d.where) for d in parsed.dropped] == [("picture", "P:1")]


def test_p19_image_only_pdf_is_an_error(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "scan.pdf", [Sheet(picture(0, 0, 600, 800))] * 2)
    with pytest.raises(UnreadableSource, match=r"scan\.pdf: the deck's 2 pages hold no text"):
        parse(path)


def test_p19_user_password_is_an_error_and_owner_password_is_not(tmp_path: Path) -> None:
    from pypdf import PdfWriter

    plain = write_pdf(tmp_path / "plain.pdf", [Sheet(text(50, 700, LINE))])
    for name, password in (("user", "secret"), ("owner", "")):
        writer = PdfWriter(clone_from=plain)
        writer.encrypt(password, "owner's own", algorithm="RC4-128")
        writer.write(tmp_path / f"{name}.pdf")
    with pytest.raises(UnreadableSource, match="asks for a password"):
        parse(tmp_path / "user.pdf")
    assert page_text(parse(tmp_path / "owner.pdf"), 1) == LINE


@pytest.mark.parametrize("keep", [9, 40, 300])
def test_truncated_pdf_is_an_error(keep: int, tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "deck.pdf", [Sheet(text(50, 700, LINE))])
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UnreadableSource, match="PDF is broken"):
        parse(path)


def test_a_broken_page_costs_itself(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "deck.pdf", [Sheet(text(50, 700, f"{LINE} {i}")) for i in range(3)])
    path.write_bytes(path.read_bytes().replace(b"/Type /Page /Parent", b"/Type /Gone /Parent", 1))
    parsed = parse(path)
    assert [str(block.locator) for block in parsed.blocks] == ["P:2", "P:3"]
    assert [d.where for d in parsed.dropped] == ["P:1"]


def test_p20_ten_threads_read_the_same_text(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "deck.pdf", [Sheet("".join(column(50, "Left"))) for _ in range(5)])
    once = parse(path)
    with ThreadPoolExecutor(10) as threads:
        assert all(parsed == once for parsed in threads.map(parse, [path] * 10))


def test_progress_ends_at_one(tmp_path: Path) -> None:
    shares: list[float] = []
    path = write_pdf(tmp_path / "deck.pdf", [Sheet(text(50, 700, LINE))] * 4)
    read(path, Reading(settings=Settings(), on_progress=shares.append))
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.corpus
def test_the_corpus_page_by_page(corpus: Path) -> None:
    parsed = parse(corpus / "media/decks/zh_stepllm_decoding.pdf")
    pictures = [Dropped(what="picture", where=f"P:{n}", reason="") for n in (2, 8, 10, 14, 19, 20, 24, 25, 26)]
    assert [d.model_copy(update={"reason": ""}) for d in parsed.dropped] == pictures
    assert find_quote("缺点：1. 无法解决重复问题；2. 开放域生成效果差", page_text(parsed, 11))
    titles = {str(block.locator) for block in parsed.blocks if block.role is Role.TITLE}
    assert len(titles) == parsed.pages == 26
