"""PDF pages: tables, code, formulas, pictures, links, forms, headers and footers; and files that want to do harm."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.load import load
from ingest.office.slides import read
from ingest.parsed import Parsed, Reading
from kb.errors import KBError, LimitExceeded
from kb.settings import Settings
from kb.types import Flag, Role
from tests.fakes import FakeRecogniser
from tests.ingest.pdf_writer import Sheet, frame, outline, picture, text, write_pdf

READING = Reading(settings=Settings())
LINE = "A slide says enough here"


@pytest.fixture
def seeing(monkeypatch: pytest.MonkeyPatch) -> FakeRecogniser:
    recogniser = FakeRecogniser(("Seen", 0.9))
    monkeypatch.setattr("ingest.pages.ocr._engine", lambda _threads: recogniser)
    return recogniser


def parse(path: Path, *sheets: Sheet) -> Parsed:
    return read(write_pdf(path / "deck.pdf", sheets), READING)


def roles(parsed: Parsed, number: int = 1) -> list[tuple[Role, str]]:
    return [(b.role, b.text) for b in parsed.blocks if getattr(b.locator, "number", 0) == number]


def test_tables_are_markdown_and_running_text_beside_is_none(tmp_path: Path, blind: FakeRecogniser) -> None:
    rows = (("GPU", "TTFT", "TPOT"), ("A100", "120 ms", "11 ms"), ("H100", "64 ms", "6 ms"))
    cells = "".join(text(60 + 150 * c, 600 - 24 * r, word) for r, row in enumerate(rows) for c, word in enumerate(row))
    sheet = Sheet(text(60, 720, "Latency by GPU", size=28) + cells + text(60, 400, "Measured with vLLM on one node"))
    assert roles(parse(tmp_path, sheet)) == [
        (Role.TITLE, "Latency by GPU"),
        (Role.TABLE, "| GPU | TTFT | TPOT |\n| --- | --- | --- |\n| A100 | 120 ms | 11 ms |\n| H100 | 64 ms | 6 ms |"),
        (Role.BODY, "Measured with vLLM on one node"),
    ]


def test_cells_of_several_lines_are_read_from_the_top(tmp_path: Path, blind: FakeRecogniser) -> None:
    rows = {600: ("GPU", "Use", "Why"), 540: ("A100", "", "cheap"), 480: ("H100", "decode", "fast")}
    cells = "".join(text(60 + 150 * c, y, word) for y, row in rows.items() for c, word in enumerate(row) if word)
    cell = text(209, 533, "small decode") + text(210, 547, "prefill and")
    sheet = Sheet(text(60, 720, "Which GPU", size=28) + cell + cells)
    assert "| A100 | prefill and small decode | cheap |" in roles(parse(tmp_path, sheet))[1][1]


def test_a_numbered_list_is_no_table(tmp_path: Path, blind: FakeRecogniser) -> None:
    items = "".join(text(60, 600 - 20 * n, f"{n}.") + text(110, 600 - 20 * n, f"step number {n}") for n in range(1, 5))
    parsed = parse(tmp_path, Sheet(text(60, 720, "A list", size=28) + items))
    assert [role for role, _ in roles(parsed)] == [Role.TITLE, Role.BODY]
    assert roles(parsed)[1][1].startswith("1. step number 1\n2. step number 2")


def test_code_keeps_its_indents_and_blank_lines(tmp_path: Path, blind: FakeRecogniser) -> None:
    lines = ("def step(self):", "    if self.waiting:", "        return 1", "", "    return 2")
    shown = [
        text(60 + 7.2 * (len(line) - len(line.lstrip())), 600 - 14 * n, line.strip(), font="C")
        for n, line in enumerate(lines)
        if line
    ]
    sheet = Sheet(text(60, 720, "The loop", size=28) + "".join(s.replace("(self)", "\\(self\\)") for s in shown))
    assert roles(parse(tmp_path, sheet)) == [(Role.TITLE, "The loop"), (Role.CODE, "\n".join(lines))]


def test_fractions_are_put_together(tmp_path: Path, blind: FakeRecogniser) -> None:
    parts = text(100, 500, "𝑝 =", font="U") + text(150, 510, "𝑎 + 𝑏", font="U") + text(150, 490, "𝑐 − 𝑑", font="U")
    parsed = parse(tmp_path, Sheet(text(60, 720, "A formula", size=28) + text(60, 600, LINE) + parts))
    assert roles(parsed)[-1] == (Role.MATH, "𝑝 = (𝑎 + 𝑏)/(𝑐 − 𝑑)")


def test_pictures_are_read_where_the_text_layer_is_silent(seeing: FakeRecogniser, tmp_path: Path) -> None:
    small = picture(20, 20, 30, 30)
    strips = "".join(picture(100, 300 + 10 * n, 300, 10) for n in range(20))  # one picture in the eyes of people
    parsed = parse(tmp_path, Sheet(text(60, 720, LINE) + small + strips), Sheet(text(60, 720, LINE) + small))
    assert [(set(b.flags), b.text, b.confidence) for b in parsed.blocks if b.flags] == [({Flag.OCR}, "Seen", 0.9)]
    assert seeing.calls == 1


def test_letters_that_are_outlines_are_read(seeing: FakeRecogniser, tmp_path: Path) -> None:
    letters = "".join(outline(100 + 12 * n, 400) for n in range(20))
    parsed = parse(tmp_path, Sheet(text(60, 720, LINE) + letters), Sheet(text(60, 720, LINE) + outline(100, 400)))
    assert [(str(b.locator), b.text) for b in parsed.blocks if b.flags] == [("P:1", "Seen")]


def test_what_the_text_layer_says_is_not_said_twice(seeing: FakeRecogniser, tmp_path: Path) -> None:
    behind = picture(0, 0, 600, 800)
    laid_under = text(60, 780, LINE).replace("Tf", "Tf 3 Tr")
    covered = "".join(text(0, 790 - 10 * n, "Words all over the page " * 5, size=12) for n in range(10))
    parsed = parse(tmp_path, Sheet(behind + covered), Sheet(behind + laid_under))
    assert [block for block in parsed.blocks if block.flags] == []
    assert seeing.calls == 1  # the second is a scan whose text someone laid under it


def test_headers_footers_and_page_numbers_stand_once(tmp_path: Path, blind: FakeRecogniser) -> None:
    def sheet(number: int) -> Sheet:
        own = text(60, 600, f"What page {number} says") + text(60, 580, "and more of it")
        return Sheet(text(60, 780, "ACME talk") + own + text(60, 20, "Confidential") + text(560, 20, f"{number} / 4"))

    parsed = parse(tmp_path, *map(sheet, range(1, 5)))
    assert "ACME talk" in roles(parsed, 1)[0][1]
    assert [words for _, words in roles(parsed, 3)] == ["What page 3 says\nand more of it"]
    assert {(d.what, d.where) for d in parsed.dropped} == {("repeated line", "P:2 to P:4")}
    assert not any("/ 4" in block.text for block in parsed.blocks)


def test_a_title_that_comes_again_is_no_header(tmp_path: Path, blind: FakeRecogniser) -> None:
    sheets = [Sheet(text(60, 720, "Agenda", size=28) + text(60, 500, f"Point {n} of it")) for n in range(4)]
    assert [roles(parse(tmp_path, *sheets), n)[0] for n in (1, 4)] == [(Role.TITLE, "Agenda")] * 2


def test_links_forms_and_notes_on_the_page(tmp_path: Path, blind: FakeRecogniser) -> None:
    notes = (
        "/Subtype /Link /Rect [60 590 150 615] /A << /S /URI /URI (https://arxiv.org/abs/2309.06180) >>",
        "/Subtype /Link /Rect [60 590 150 615] /A << /S /URI /URI (javascript:alert\\(1\\)) >>",
        "/Subtype /Widget /FT /Tx /T (Batch size) /V (256) /Rect [60 400 200 420]",
        "/Subtype /Widget /FT /Tx /T (Empty) /Rect [60 360 200 380]",
        "/Subtype /FreeText /Contents (Mind the units) /Rect [60 300 200 320]",
    )
    parsed = parse(tmp_path, Sheet(text(60, 600, "the paper") + text(60, 560, LINE), notes=notes))
    assert [words for _, words in roles(parsed)][-3:] == [
        "Batch size: 256",
        "Mind the units",
        "the paper https://arxiv.org/abs/2309.06180",
    ]


def test_too_many_pages_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.pages.pdf._PAGES", 3)
    with pytest.raises(LimitExceeded, match="4 pages, more than 3"):
        parse(tmp_path, *[Sheet(text(60, 600, LINE))] * 4)


def test_pages_that_contain_each_other_end(tmp_path: Path, blind: FakeRecogniser) -> None:
    path = write_pdf(tmp_path / "deck.pdf", [Sheet(text(60, 600, LINE))] * 2)
    path.write_bytes(path.read_bytes().replace(b"/Kids [", b"/Kids [2 0 R "))
    with suppress(KBError):
        load(path, READING)


def test_a_page_of_absurd_size_is_drawn_small(tmp_path: Path, seeing: FakeRecogniser) -> None:
    path = write_pdf(tmp_path / "deck.pdf", [Sheet(text(60, 600, LINE)), Sheet(picture(0, 0, 600, 800))])
    path.write_bytes(path.read_bytes().replace(b"/MediaBox [0 0 600 800]", b"/MediaBox [0 0 9 99999]"))
    read(path, Reading(settings=Settings(), images=tmp_path / "images"))
    assert all(file.stat().st_size < 2**20 for file in (tmp_path / "images").iterdir())


@given(at=st.integers(0, 4000), noise=st.binary(min_size=1, max_size=12), cut=st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_pdf_is_read_or_a_typed_error(
    at: int, noise: bytes, cut: bool, tmp_path: Path, blind: FakeRecogniser
) -> None:
    path = write_pdf(tmp_path / "deck.pdf", [Sheet(text(60, 600, LINE) + picture(0, 0, 300, 300))] * 2)
    content = path.read_bytes()
    at %= len(content)
    path.write_bytes(content[:at] if cut else content[:at] + noise + content[at + len(noise) :])
    with suppress(KBError):
        load(path, READING)


SIZE = 12.0
ACROSS = 50 + 7 * SIZE  # where a text of seven characters, each as wide as it is high, ends


def beside(gap: float, words: str = "decodes", *, size: float = SIZE, font: str = "U") -> str:
    """Two texts on one baseline, `gap` heights of the first apart; PDFium takes them for one line."""
    return text(50, 400, "prefill", font="U") + text(ACROSS + gap * SIZE, 400, words, size=size, font=font)


APART = {
    "far apart": beside(2.5),
    "very far apart": beside(8.0),
    "a border between": beside(1.2) + frame(45, 390, ACROSS - 45 + 5, 30),
    "a border on each side": beside(1.8) + frame(45, 390, 93, 30) + frame(ACROSS + 12, 390, 93, 30),
    "filled boxes": frame(45, 390, 93, 30, fill=True) + frame(ACROSS + 12, 390, 93, 30, fill=True) + beside(1.8),
    "another font": beside(1.2, font="M"),
    "another size": beside(1.2, size=18),
}
TOGETHER = {
    "a word space": beside(0.3),
    "a wide blank of one font": beside(1.2),
    "the next word in another font": beside(0.3, font="M"),
    "the background of a word": beside(0.3) + frame(ACROSS + 2, 396, 86, 14, fill=True),
    "a number before it": text(50, 400, "12", font="U") + text(50 + 5 * SIZE, 400, "decodes", font="U"),
    "a blank as wide as those of code": beside(0.7, font="M"),
    "a sign before another font": beside(0.9, "=") + text(ACROSS + 2.9 * SIZE, 400, "decodes", font="M"),
    "a formula after it": beside(1.2, "𝑠𝑁", font="M"),
    "a sign after it": beside(4.0, "="),
}


@pytest.mark.parametrize("name", APART)
def test_neighbours_on_one_baseline_stay_apart(name: str, tmp_path: Path, blind: FakeRecogniser) -> None:
    assert lines_of(tmp_path, APART[name]) == ["prefill", "decodes"]


@pytest.mark.parametrize("name", TOGETHER)
def test_parts_of_one_line_stay_together(name: str, tmp_path: Path, blind: FakeRecogniser) -> None:
    assert len(lines_of(tmp_path, TOGETHER[name])) == 1


def lines_of(folder: Path, content: str) -> list[str]:
    """The lines of a page besides its title and the paragraph above them."""
    above = "".join(text(50, 700 - 16 * n, "Running text above what is looked at", font="U") for n in range(4))
    parsed = parse(folder, Sheet(above + content))
    return [line for block in parsed.blocks for line in block.text.splitlines() if "Running" not in line]
