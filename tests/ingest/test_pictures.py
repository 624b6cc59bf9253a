"""Pictures, charts, links and layouts of decks: what a viewer sees beyond the text boxes."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from pptx.chart.data import BubbleChartData, CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.slide import Slide
from pptx.util import Inches

from ingest.office.slides import read
from ingest.pages.layout import Box
from ingest.pages.lines import Line
from ingest.pages.ocr import Recogniser
from ingest.pages.picture_text import written
from ingest.parsed import Parsed, Reading
from kb.settings import IngestSettings, Settings
from kb.types import Flag, Role
from tests.fakes import FakeRecogniser
from tests.ingest.deck_writer import TITLE_ONLY, append, both, link, picture_of, rewrite, say, write, write_deck

READING = Reading(settings=Settings())


@pytest.fixture
def seeing(monkeypatch: pytest.MonkeyPatch) -> FakeRecogniser:
    recogniser = FakeRecogniser(("Seen", 0.9))
    monkeypatch.setattr("ingest.pages.ocr._engine", lambda _threads: recogniser)
    return recogniser


class Watching(FakeRecogniser):
    """Sees nothing, and keeps what it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[NDArray[np.uint8]] = []

    def __call__(self, pixels: NDArray[np.uint8]) -> FakeRecogniser:
        self.seen.append(pixels)
        return self


def texts(parsed: Parsed, number: int = 1) -> list[str]:
    return [block.text for block in parsed.blocks if getattr(block.locator, "number", 0) == number]


def shown(slide: Slide, *, top: float = 3, width: float = 6) -> None:
    slide.shapes.add_picture(picture_of("x"), Inches(1), Inches(top), Inches(width))


def test_pictures_are_read_where_they_stand(seeing: FakeRecogniser, tmp_path: Path) -> None:
    build = both(say("The first line of it", top=0.5), shown, say("Below the picture", top=6.5))
    parsed = read(write_deck(tmp_path / "deck.pptx", build), READING)
    assert texts(parsed) == ["The first line of it", "Seen", "Below the picture"]
    assert [(set(block.flags), block.confidence) for block in parsed.blocks][1] == ({Flag.OCR}, 0.9)


def test_small_pictures_are_decoration(seeing: FakeRecogniser, tmp_path: Path) -> None:
    read(write_deck(tmp_path / "deck.pptx", both(say("Text"), lambda slide: shown(slide, width=0.5))), READING)
    assert seeing.calls == 0


def test_a_described_picture_is_read_too(seeing: FakeRecogniser, tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        shown(slide)
        slide.shapes[-1].element.nvPicPr.cNvPr.set("descr", "A block table")

    assert texts(read(write_deck(tmp_path / "deck.pptx", build), READING)) == ["A block table", "Seen"]


def test_backgrounds_and_shapes_filled_with_a_picture_are_read_once(seeing: FakeRecogniser, tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        say("Words on a picture")(slide)
        relation = slide.part.get_or_add_image_part(picture_of("x"))[1]
        fill = f'<a:blipFill><a:blip r:embed="{relation}"/><a:stretch/></a:blipFill>'
        box = '<a:xfrm><a:off x="914400" y="3000000"/><a:ext cx="6000000" cy="2000000"/></a:xfrm>'
        append(
            slide,
            '<p:sp><p:nvSpPr><p:cNvPr id="70" name="F"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr>'
            f'{box}<a:prstGeom prst="rect"/>{fill}</p:spPr><p:txBody><a:bodyPr/><a:p/></p:txBody></p:sp>',
        )
        append(slide, f"<p:bg><p:bgPr>{fill}<a:effectLst/></p:bgPr></p:bg>")
        slide.element.cSld.insert(0, slide.shapes._spTree[-1])

    assert texts(read(write_deck(tmp_path / "deck.pptx", build), READING)) == ["Words on a picture", "Seen", "Seen"]
    assert seeing.calls == 1


def test_what_is_cut_off_a_picture_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watching = Watching()
    monkeypatch.setattr("ingest.pages.ocr._engine", lambda _threads: watching)

    def build(slide: Slide) -> None:
        shown(slide)
        slide.shapes[-1].crop_left, slide.shapes[-1].crop_bottom = 0.5, 0.25

    read(write_deck(tmp_path / "deck.pptx", both(say("Text"), build)), READING)
    assert [pixels.shape[:2] for pixels in watching.seen] == [(300, 500)]


@pytest.mark.parametrize(("ink", "ground"), [("black", 255), ("white", 0)])
def test_transparent_pictures_keep_their_contrast(ink: str, ground: int, monkeypatch: pytest.MonkeyPatch) -> None:
    watching = Watching()
    monkeypatch.setattr("ingest.pages.ocr._engine", lambda _threads: watching)
    drawing = Image.new("RGBA", (100, 100), (0, 0, 0, 0))
    drawing.paste(ink, (40, 40, 60, 60))
    Recogniser(Settings()).read(drawing)
    assert watching.seen[0][0, 0, 0] == ground


def test_switched_off_it_looks_at_nothing_and_says_so(seeing: FakeRecogniser, tmp_path: Path) -> None:
    path = write_deck(
        tmp_path / "deck.pptx", both(say("A line of text here"), shown), both(say("Another line of text"), shown)
    )
    parsed = read(path, Reading(Settings(ingest=IngestSettings(ocr=False))))
    assert [(dropped.what, dropped.where) for dropped in parsed.dropped] == [("pictures", "P:1, P:2")]
    assert "KB_INGEST_OCR" in parsed.dropped[0].reason
    assert seeing.calls == 0


def chart_of(kind: XL_CHART_TYPE, data: CategoryChartData) -> Callable[[Slide], None]:
    def build(slide: Slide) -> None:
        slide.shapes.add_chart(kind, 0, 0, Inches(4), Inches(2), data)

    return build


def test_charts_that_python_pptx_lacks(tmp_path: Path, blind: FakeRecogniser) -> None:
    data = CategoryChartData()
    data.categories = ["A100", "H100"]
    data.add_series("吞吐", (1200, 2400.5))
    path = write_deck(tmp_path / "deck.pptx", chart_of(XL_CHART_TYPE.PIE, data))
    rewrite(
        path, lambda name, content: content.replace(b"pieChart", b"ofPieChart") if "charts/chart" in name else content
    )
    (block,) = read(path, READING).blocks
    assert block.text.endswith("|  | 吞吐 |\n| --- | --- |\n| A100 | 1200 |\n| H100 | 2400.5 |")


def test_bubbles_and_levels_of_categories(tmp_path: Path, blind: FakeRecogniser) -> None:
    bubbles = BubbleChartData()
    bubbles.add_series("GPUs").add_data_point(80, 3.35, 989)
    levels = CategoryChartData()
    for gpu, years in (("A100", ("2020", "2021")), ("H100", ("2022",))):
        category = levels.add_category(gpu)
        for year in years:
            category.add_sub_category(year)
    levels.add_series("sold", (1, 2, 3))
    path = write_deck(
        tmp_path / "deck.pptx",
        chart_of(XL_CHART_TYPE.BUBBLE, bubbles),
        chart_of(XL_CHART_TYPE.COLUMN_CLUSTERED, levels),
    )
    parsed = read(path, READING)
    assert "| GPUs | GPUs (size) |\n| --- | --- | --- |\n| 80 | 3.35 | 989 |" in parsed.blocks[0].text
    assert "| A100 / 2020 | 1 |\n| A100 / 2021 | 2 |\n| H100 / 2022 | 3 |" in parsed.blocks[1].text


CHARTEX = (
    '<cx:chartSpace xmlns:cx="http://schemas.microsoft.com/office/drawing/2014/chartex" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><cx:chartData><cx:data id="0">'
    '<cx:strDim type="cat"><cx:lvl ptCount="2"><cx:pt idx="0">prefill</cx:pt><cx:pt idx="1">decode</cx:pt>'
    "</cx:lvl></cx:strDim>"
    '<cx:numDim type="val"><cx:lvl ptCount="2"><cx:pt idx="0">12.5</cx:pt><cx:pt idx="1">80</cx:pt></cx:lvl>'
    "</cx:numDim></cx:data></cx:chartData><cx:chart><cx:title><cx:tx><cx:rich><a:p><a:r>"
    "<a:t>Where time goes</a:t></a:r></a:p></cx:rich></cx:tx></cx:title><cx:plotArea><cx:plotAreaRegion><cx:series>"
    "<cx:tx><cx:txData><cx:v>ms</cx:v></cx:txData>"
    "</cx:tx></cx:series></cx:plotAreaRegion></cx:plotArea></cx:chart></cx:chartSpace>"
)


def test_charts_of_the_newer_kinds(tmp_path: Path, blind: FakeRecogniser) -> None:
    def build(slide: Slide) -> None:
        name = PackURI("/ppt/charts/chartEx1.xml")
        part = Part(name, "application/vnd.ms-office.chartex+xml", slide.part.package, CHARTEX.encode())
        relation = slide.part.relate_to(part, "http://schemas.microsoft.com/office/2014/relationships/chartEx")
        uri = "http://schemas.microsoft.com/office/drawing/2014/chartex"
        append(
            slide,
            '<mc:AlternateContent><mc:Choice Requires="cx1"><p:graphicFrame><p:nvGraphicFramePr>'
            '<p:cNvPr id="80" name="C"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>'
            "<p:xfrm><a:off x='0' y='0'/><a:ext cx='9' cy='9'/></p:xfrm>"
            f'<a:graphic><a:graphicData uri="{uri}"><cx:chart xmlns:cx="{uri}" r:id="{relation}"/></a:graphicData>'
            "</a:graphic></p:graphicFrame></mc:Choice><mc:Fallback/></mc:AlternateContent>",
        )

    (block,) = read(write_deck(tmp_path / "deck.pptx", build), READING).blocks
    assert block.role is Role.TABLE
    assert block.text == "Where time goes\n\n|  | ms |\n| --- | --- |\n| prefill | 12.5 |\n| decode | 80 |"


def test_embedded_objects_are_read_from_the_picture_they_left(seeing: FakeRecogniser, tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        relation = slide.part.get_or_add_image_part(picture_of("x"))[1]
        picture = (
            f'<p:pic><p:nvPicPr><p:cNvPr id="0" name=""/><p:cNvPicPr/><p:nvPr/></p:nvPicPr><p:blipFill><a:blip r:embed='
            f'"{relation}"/></p:blipFill><p:spPr/></p:pic>'
        )
        append(
            slide,
            '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="81" name="O"/><p:cNvGraphicFramePr/><p:nvPr/>'
            "</p:nvGraphicFramePr><p:xfrm><a:off x='0' y='0'/><a:ext cx='6000000' cy='3000000'/></p:xfrm><a:graphic>"
            '<a:graphicData uri="http://schemas.openxmlformats.org/presentationml/2006/ole"><mc:AlternateContent>'
            '<mc:Choice Requires="v"><p:oleObj name="Equation"><p:embed/></p:oleObj></mc:Choice>'
            f'<mc:Fallback><p:oleObj name="Equation"><p:embed/>{picture}</p:oleObj></mc:Fallback></mc:AlternateContent>'
            "</a:graphicData></a:graphic></p:graphicFrame>",
        )

    assert texts(read(write_deck(tmp_path / "deck.pptx", both(say("An equation:"), build)), READING)) == [
        "An equation:",
        "Seen",
    ]


def test_links_tell_where_they_lead(tmp_path: Path, blind: FakeRecogniser) -> None:
    def build(slide: Slide) -> None:
        link(slide, "the paper", "https://arxiv.org/abs/2309.06180")
        link(slide, "https://vllm.ai", "https://vllm.ai/")
        link(slide, "a trap", "javascript:alert(1)")
        slide.notes_slide.notes_text_frame.text = "Read it."

    parsed = read(write_deck(tmp_path / "deck.pptx", build), READING)
    assert texts(parsed)[-2:] == ["the paper https://arxiv.org/abs/2309.06180", "Read it."]
    assert "javascript" not in " ".join(texts(parsed))


def test_texts_of_layouts_and_footers_stand_once(tmp_path: Path, blind: FakeRecogniser) -> None:
    def footed(slide: Slide) -> None:
        say("Some words of its own", top=3)(slide)
        write(slide.shapes.add_textbox(0, Inches(7), Inches(3), Inches(0.3)).text_frame, "ACME 2026")
        placeholder = slide.shapes[-1].element.nvSpPr.nvPr
        placeholder.append(placeholder.makeelement(f"{{{placeholder.nsmap['p']}}}ph", {"type": "ftr", "idx": "11"}))
        layout = slide.slide_layout
        if not any(shape.name == "Part" for shape in layout.shapes):
            append(
                layout,
                '<p:sp><p:nvSpPr><p:cNvPr id="60" name="Part"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody>'
                "<a:bodyPr/><a:p><a:r><a:t>Part one: memory</a:t></a:r></a:p></p:txBody></p:sp>",
            )

    parsed = read(write_deck(tmp_path / "deck.pptx", *[footed] * 3, layout=TITLE_ONLY), READING)
    assert texts(parsed, 1) == ["Some words of its own", "ACME 2026", "Part one: memory"]
    assert texts(parsed, 2) == texts(parsed, 3) == ["Some words of its own"]
    assert [dropped.where for dropped in parsed.dropped] == ["P:2 to P:3"] * 2


def test_a_comparison_is_read_side_by_side(tmp_path: Path, blind: FakeRecogniser) -> None:
    def column(left: float, heading: str, body: str) -> Callable[[Slide], None]:
        def build(slide: Slide) -> None:
            slide.shapes.add_textbox(Inches(left), Inches(2), Inches(4), Inches(0.5)).text_frame.text = heading
            slide.shapes.add_textbox(Inches(left), Inches(2.6), Inches(4), Inches(3)).text_frame.text = body

        return build

    left, right = column(0.5, "Prefill", "compute bound"), column(5, "Decode", "memory bound")
    parsed = read(write_deck(tmp_path / "deck.pptx", both(say("Two phases", top=0.5), left, right)), READING)
    assert texts(parsed) == ["Two phases", "Prefill", "compute bound", "Decode", "memory bound"]


def test_without_libreoffice_slides_show_their_largest_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blind: FakeRecogniser
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    path = write_deck(tmp_path / "deck.pptx", both(say("Text"), lambda slide: shown(slide, width=8)), say("Without"))
    parsed = read(path, Reading(settings=Settings(), images=tmp_path / "images"))
    (dropped,) = [each for each in parsed.dropped if each.what == "page images"]
    assert "1 of 2 slides show a picture of their own" in dropped.reason
    assert [file.name for file in (tmp_path / "images").iterdir()] == ["0001.webp"]
    with Image.open(tmp_path / "images/0001.webp") as image:
        assert image.size == (1000, 400)


def test_a_broken_picture_is_said_where_it_is_all_there_is(tmp_path: Path, blind: FakeRecogniser) -> None:
    path = write_deck(tmp_path / "deck.pptx", both(say("Code", top=0.5), lambda slide: shown(slide, top=2, width=8)))
    rewrite(path, lambda name, content: BytesIO(content).read(60) if name.startswith("ppt/media") else content)
    assert "its file cannot be read" in read(path, READING).dropped[0].reason


FULL = ("config TTFT TPOT", "tp1 120 9", "tp2 80 8")
LABELS = ("step . bank", ". dog step", "dog cat end", "car run .")


@pytest.mark.parametrize(("rows", "is_table"), [(FULL, True), (LABELS, False)])
def test_labels_of_a_diagram_that_stand_in_rows_are_no_table(rows: tuple[str, ...], is_table: bool) -> None:
    lines = [
        Line(word, Box(150.0 * column, 40.0 * row, 150.0 * column + 60, 40.0 * row + 20), 20.0, confidence=0.99)
        for row, words in enumerate(rows)
        for column, word in enumerate(words.split())
        if word != "."
    ]
    assert any(text.role is Role.TABLE for text in written(lines)) == is_table
