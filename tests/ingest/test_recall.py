"""At least 0.99 of what python-pptx, PDFium and OCR see in generated decks comes out."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.slide import Slide
from pptx.util import Inches

from tests.fakes import FakeRecogniser
from tests.ingest.deck_writer import both, diagram, formula_box, hide, link, picture_of, point, say, write_deck
from tests.ingest.pdf_writer import Sheet, text, write_pdf
from tests.ingest.recall import recall, union

TARGET = 0.99


def grid(slide: Slide) -> None:
    table = slide.shapes.add_table(3, 3, Inches(1), Inches(2), Inches(7), Inches(2)).table
    rows = (("配置", "TTFT", "TPOT"), ("TP=4", "120 ms", "11 ms"), ("TP=8", "64 ms", "6 ms"))
    for row, words in zip(table.rows, rows, strict=True):
        for cell, word in zip(row.cells, words, strict=True):
            cell.text = word


def chart(slide: Slide) -> None:
    data = CategoryChartData()
    data.categories = ["A100", "H100"]
    data.add_series("Throughput", (1200, 2400))
    box = (Inches(1), Inches(2), Inches(7), Inches(4))
    made = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *box, data).chart
    made.plots[0].has_data_labels = True
    made.value_axis.visible = False  # the steps of an axis are the renderer's, not the author's


def grouped(slide: Slide) -> None:
    inner = slide.shapes.add_group_shape().shapes.add_group_shape()
    inner.shapes.add_textbox(Inches(1), Inches(4), Inches(4), Inches(0.5)).text_frame.text = "Inside two groups"


def shown(slide: Slide) -> None:
    words = "A block keeps sixteen tokens\nBlocks are shared by prefix"
    slide.shapes.add_picture(picture_of(words), Inches(1), Inches(2), Inches(8))


def noted(slide: Slide) -> None:
    slide.notes_slide.notes_text_frame.text = "Explain why copies on write are rare."


def made_slides() -> tuple[Callable[[Slide], None], ...]:
    code = say("def step(self):\n    return self.schedule()", font="Consolas")
    smart_art = both(grouped, lambda slide: diagram(slide, point("Prefill") + point("Decode")))
    return (
        both(say("A longer title above a picture", top=0.5, size=32), shown),
        both(say("Latency", top=0.5, size=32), grid),
        both(say("Paged attention", top=0.5, size=32), say("键值缓存由块组成\n\t块按前缀共享"), noted),
        both(say("By GPU", top=0.5, size=32), chart),
        both(say("Groups and diagrams", top=0.5, size=32), smart_art),
        both(say("The loop", top=0.5, size=32), code, formula_box),
        both(say("Hidden", top=0.5, size=32), hide, lambda s: link(s, "the paper", "https://arxiv.org/abs/2309.06180")),
    )


def made_pdf(path: Path) -> Path:
    left = [text(50, 600 - 16 * n, f"Left column line {n} runs on with words") for n in range(6)]
    right = [text(320, 600 - 16 * n, f"Right column line {n} runs on with words") for n in range(6)]
    cells = [text(60 + 120 * c, 300 - 20 * r, f"cell {r}.{c}") for r in range(4) for c in range(4)]
    turned = "".join(f"BT /F 12 Tf 0 1 -1 0 {100 + 16 * n} 50 Tm (Turned line {n}) Tj ET\n" for n in range(4))
    title = text(50, 720, "Two columns and a table", size=24)
    chinese = text(50, 700, "键值缓存由块组成", font="G") + text(50, 660, "⾼性能⽂本", font="U")
    return write_pdf(path, [Sheet(title + "".join(left + right + cells)), Sheet(turned, rotate=90), Sheet(chinese)])


def test_generated_pdf(tmp_path: Path, blind: FakeRecogniser) -> None:
    found = union(recall(made_pdf(tmp_path / "deck.pdf"), ocr=False))
    assert found.share >= TARGET, found.missing


@pytest.mark.skipif(not shutil.which("soffice"), reason="LibreOffice is not installed")
def test_generated_deck(tmp_path: Path, blind: FakeRecogniser) -> None:
    found = union(recall(write_deck(tmp_path / "deck.pptx", *made_slides()), ocr=False))
    assert found.share >= TARGET, found.missing


@pytest.mark.model
@pytest.mark.filterwarnings("default")
@pytest.mark.skipif(not shutil.which("soffice"), reason="LibreOffice is not installed")
def test_generated_deck_as_ocr_sees_it(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    found = union(recall(write_deck(tmp_path / "deck.pptx", *made_slides()[:2])))
    assert found.share >= TARGET, found.missing
