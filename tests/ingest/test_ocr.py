"""Text in pictures: read where a page says little else, marked as such, never twice."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont
from pptx.slide import Slide
from pptx.util import Inches

from ingest.office.slides import read
from ingest.pages.ocr import Recogniser
from ingest.parsed import Parsed, Reading
from kb.errors import UnreadableSource
from kb.settings import Settings
from kb.types import Flag, Role
from tests.fakes import FakeRecogniser
from tests.ingest.deck_writer import both, rewrite, say, write_deck
from tests.ingest.pdf_writer import Sheet, picture, text, write_pdf


@pytest.fixture
def seeing(monkeypatch: pytest.MonkeyPatch) -> FakeRecogniser:
    recogniser = FakeRecogniser(("Code Example", 0.99), ("llm.generate(prompts)", 0.98), ("smudge", 0.4))
    monkeypatch.setattr("ingest.pages.ocr._engine", lambda _threads: recogniser)
    return recogniser


def parse(path: Path) -> Parsed:
    return read(path, Reading(settings=Settings()))


def summary(parsed: Parsed) -> list[tuple[str, Role, str, set[Flag]]]:
    return [(str(block.locator), block.role, block.text, set(block.flags)) for block in parsed.blocks]


def test_pdf_pages_that_are_pictures_are_read(seeing: FakeRecogniser, tmp_path: Path) -> None:
    sheets = [
        Sheet(picture(0, 0, 600, 800)),
        Sheet(text(50, 700, "Code Example", size=24) + picture(50, 100, 500, 500)),
        Sheet(text(50, 700, "A page with a text of its own") + picture(50, 100, 500, 500)),
        Sheet(""),
    ]
    parsed = parse(write_pdf(tmp_path / "deck.pdf", sheets))
    assert summary(parsed) == [
        ("P:1", Role.TITLE, "Code Example\nllm.generate(prompts)", {Flag.OCR}),
        ("P:2", Role.TITLE, "Code Example", set()),
        ("P:2", Role.BODY, "Code Example\nllm.generate(prompts)", {Flag.OCR}),
        ("P:3", Role.TITLE, "A page with a text of its own", set()),
        ("P:3", Role.BODY, "Code Example\nllm.generate(prompts)", {Flag.OCR}),
    ]
    assert [block.confidence for block in parsed.blocks] == [0.984, None, 0.984, None, 0.984]
    unsure = "1 were recognised with too little confidence"
    assert [(dropped.where, dropped.reason) for dropped in parsed.dropped] == [
        ("P:1", unsure),
        ("P:2", unsure),
        ("P:3", unsure),
        ("P:4", "it is empty"),
    ]
    assert seeing.calls == 2  # the picture of the second page is that of the third


def test_pages_with_unreadable_characters_are_read_as_pictures(seeing: FakeRecogniser, tmp_path: Path) -> None:
    parsed = parse(write_pdf(tmp_path / "deck.pdf", [Sheet(text(50, 700, "\ufffd\ufffd mojibake", font="U"))]))
    assert "mojibake" not in parsed.blocks[0].text
    assert parsed.blocks[0].flags == {Flag.OCR}
    assert [dropped.what for dropped in parsed.dropped] == ["lines in pictures"]


def image(slide: Slide) -> None:
    file = BytesIO()
    Image.new("RGB", (400, 300), "white").save(file, format="PNG")
    file.seek(0)
    slide.shapes.add_picture(file, 0, Inches(2), Inches(8))


def test_slides_that_are_pictures_are_read(seeing: FakeRecogniser, tmp_path: Path) -> None:
    def noted(slide: Slide) -> None:
        both(say("Code", top=0.5), image)(slide)
        slide.notes_slide.notes_text_frame.text = "Explain the call."

    parsed = parse(write_deck(tmp_path / "deck.pptx", noted, both(say("A slide with a text of its own"), image)))
    assert summary(parsed) == [
        ("P:1", Role.TITLE, "Code", set()),
        ("P:1", Role.BODY, "Code Example\nllm.generate(prompts)", {Flag.OCR}),
        ("P:1", Role.NOTES, "Explain the call.", set()),
        ("P:2", Role.TITLE, "A slide with a text of its own", set()),
        ("P:2", Role.BODY, "Code Example\nllm.generate(prompts)", {Flag.OCR}),
    ]
    assert [(dropped.what, dropped.where) for dropped in parsed.dropped] == [
        ("lines in pictures", "P:1"),
        ("lines in pictures", "P:2"),
    ]
    assert seeing.calls == 1


def test_a_picture_that_is_no_picture_stays_unread(seeing: FakeRecogniser, tmp_path: Path) -> None:
    path = write_deck(tmp_path / "deck.pptx", both(say("Code", top=0.5), image))
    rewrite(path, lambda name, content: b"not a PNG" if name.startswith("ppt/media") else content)
    parsed = parse(path)
    assert summary(parsed) == [("P:1", Role.TITLE, "Code", {Flag.UNREAD_GRAPHIC})]
    assert "its file cannot be read" in parsed.dropped[0].reason


def test_without_the_recogniser_the_deck_is_read_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.pages.ocr.find_spec", lambda _name: None)
    scan = Sheet(picture(0, 0, 600, 800))
    (dropped,) = parse(write_pdf(tmp_path / "deck.pdf", [Sheet(text(50, 700, "Some text")), scan])).dropped
    assert (dropped.what, dropped.where) == ("page without text", "P:2")
    assert "pip install 'vllm-notes-kb[ocr]'" in dropped.reason
    with pytest.raises(UnreadableSource, match="hold no text"):
        parse(write_pdf(tmp_path / "scan.pdf", [scan]))


@pytest.mark.model
@pytest.mark.filterwarnings("default")
def test_the_packaged_recogniser_reads_a_drawn_slide() -> None:
    pytest.importorskip("rapidocr")
    slide = Image.new("RGB", (1280, 720), "white")
    for top, line in ((80, "Paged attention"), (300, "A block keeps 16 tokens")):
        ImageDraw.Draw(slide).text((90, top), line, "black", ImageFont.load_default(56))
    read_lines = [line.text.replace(" ", "") for line in Recogniser(Settings(threads=1)).read(slide).lines]
    assert read_lines == ["Pagedattention", "Ablockkeeps16tokens"]
