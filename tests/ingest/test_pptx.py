"""PPTX decks: everything that a viewer sees comes out, once, in the order of reading, with its place and role."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.slide import Slide
from pptx.util import Inches

from ingest.office.slides import read
from ingest.pages.layout import Box, reading_order
from ingest.parsed import Parsed, Reading
from kb.errors import LimitExceeded, MissingDependency, UnreadableSource
from kb.settings import Settings
from kb.text import find_quote
from kb.types import Flag, Role
from tests.ingest.deck_writer import (
    TITLE_ONLY,
    both,
    diagram,
    formula_box,
    point,
    rewrite,
    say,
    write,
    write_deck,
)

pytestmark = pytest.mark.usefixtures("blind")


def parse(path: Path) -> Parsed:
    return read(path, Reading(settings=Settings()))


def texts(parsed: Parsed, number: int = 1) -> list[str]:
    return [block.text for block in parsed.blocks if getattr(block.locator, "number", 0) == number]


def roles(parsed: Parsed) -> list[tuple[Role, str]]:
    return [(block.role, block.text) for block in parsed.blocks]


def dot(colour: str = "white") -> BytesIO:
    file = BytesIO()
    Image.new("RGB", (4, 4), colour).save(file, format="PNG")
    file.seek(0)
    return file


def test_title_bullets_and_breaks(tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        slide.shapes.title.text = "Paged\vattention"
        say("First point\n\tBelow it\n\t\tDeeper still\n第二点：键值缓存")(slide)

    parsed = parse(write_deck(tmp_path / "deck.pptx", build, layout=TITLE_ONLY))
    assert roles(parsed) == [
        (Role.TITLE, "Paged\nattention"),
        (Role.BODY, "First point\n  Below it\n    Deeper still\n第二点：键值缓存"),
    ]


def test_p11_group_in_group_keeps_text_and_reading_order(tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        say("Last", top=6)(slide)
        outer = slide.shapes.add_group_shape()
        inner = outer.shapes.add_group_shape()
        for words, top in (("Third", 4.0), ("Second", 3.0)):
            box = inner.shapes.add_textbox(Inches(1), Inches(top), Inches(2), Inches(0.4))
            box.text_frame.text = words
        say("First", top=1)(slide)

    assert texts(parse(write_deck(tmp_path / "deck.pptx", build))) == ["First", "Second", "Third", "Last"]


def test_p11_a_moved_group_moves_what_is_in_it(tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        group = slide.shapes.add_group_shape()
        group.shapes.add_textbox(Inches(1), Inches(1), Inches(2), Inches(0.4)).text_frame.text = "In the group"
        group.top = Inches(5)  # the children keep the coordinates of their own system
        say("Above the group", top=3)(slide)

    assert texts(parse(write_deck(tmp_path / "deck.pptx", build))) == ["Above the group", "In the group"]


def test_p12_smartart_text_is_found(tmp_path: Path) -> None:
    points = point("Prefill") + point("", "parTrans") + point("Decode") + point("layout name", "pres")
    parsed = parse(write_deck(tmp_path / "deck.pptx", lambda slide: diagram(slide, points)))
    assert (texts(parsed), parsed.dropped) == (["Prefill\nDecode"], ())


@pytest.mark.parametrize("data", ["", None], ids=["without text", "malformed"])
def test_p12_unreadable_smartart_flags_the_slide(data: str | None, tmp_path: Path) -> None:
    build = both(say("A title"), lambda slide: diagram(slide, data))
    parsed = parse(write_deck(tmp_path / "deck.pptx", build))
    assert [block.flags for block in parsed.blocks] == [{Flag.UNREAD_GRAPHIC}]
    assert {dropped.where for dropped in parsed.dropped} == {"P:1"}


def test_p13_notes_have_a_role_and_come_last(tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        say("On the slide")(slide)
        slide.notes_slide.notes_text_frame.text = "先讲背景。\nThen the numbers."

    parsed = parse(write_deck(tmp_path / "deck.pptx", build))
    assert roles(parsed)[1:] == [(Role.NOTES, "先讲背景。\nThen the numbers.")]


@pytest.mark.parametrize(("show", "hidden"), [("0", True), ("false", True), ("1", False), ("true", False)])
def test_p13_hidden_slides_are_flagged_and_counted(show: str, hidden: bool, tmp_path: Path) -> None:
    def hide(slide: Slide) -> None:
        say("Second")(slide)
        slide.element.set("show", show)

    parsed = parse(write_deck(tmp_path / "deck.pptx", say("First"), hide, say("Third")))
    assert [str(block.locator) for block in parsed.blocks] == ["P:1", "P:2", "P:3"]
    assert [Flag.HIDDEN in block.flags for block in parsed.blocks] == [False, hidden, False]


def test_p14_order_of_position_not_of_the_file(tmp_path: Path) -> None:
    build = both(
        say("Bottom", top=6), say("Right", left=5.5, top=3), say("Left", left=0.5, top=3.02), say("Top", top=0.5)
    )
    assert texts(parse(write_deck(tmp_path / "deck.pptx", build))) == ["Top", "Left", "Right", "Bottom"]


def test_p14_shapes_without_position_are_read_and_stay_in_order(tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        for words in ("One", "Two"):
            say(words)(slide)
            properties = slide.shapes[-1].element.spPr
            properties.remove(properties.xfrm)
        say("Placed", top=1)(slide)

    path = write_deck(tmp_path / "deck.pptx", build)
    assert texts(parse(path)) == texts(parse(path)) == ["One", "Two", "Placed"]


def five(path: Path) -> Path:
    return write_deck(path, *(say(f"Slide {number}") for number in range(1, 6)))


@dataclass(frozen=True)
class Damage:
    name: str
    part: str
    old: bytes
    new: bytes | None
    lost: tuple[int, ...]


DAMAGES = (
    Damage("malformed slide", "ppt/slides/slide3.xml", b"<p:cSld>", b"<p:cSld", (3,)),
    Damage("missing slide", "ppt/slides/slide3.xml", b"", None, (3,)),
    Damage("not a slide", "ppt/slides/slide3.xml", b"<p:cSld>", b"<p:cSld/><p:gone>", (3,)),
    Damage("slide without relation", "ppt/_rels/presentation.xml.rels", b"slides/slide3.xml", b"gone.xml", (3,)),
    Damage("slide without any relation", "ppt/presentation.xml", b'id="258" r:id="rId', b'id="258" r:id="gone', (3,)),
    Damage("relations are none", "ppt/slides/_rels/slide3.xml.rels", b"Relationships", b"Rubbish", ()),
    Damage("broken master", "ppt/slideMasters/slideMaster1.xml", b"<p:cSld>", b"<p:cSld", ()),
    Damage("strange layout", "ppt/slideLayouts/slideLayout7.xml", b"sldLayout", b"x", ()),
    Damage("broken core properties", "docProps/core.xml", b"coreProperties", b"x", ()),
    Damage("missing root relations", "_rels/.rels", b"", None, ()),
    Damage("absurd level", "ppt/slides/slide3.xml", b"<a:p>", b'<a:p><a:pPr lvl="99999999999999999999"/>', ()),
    Damage("missing theme", "ppt/theme/theme1.xml", b"", None, ()),
    Damage("missing layout", "ppt/slideLayouts/slideLayout7.xml", b"", None, ()),
    Damage("NULL picture", "ppt/slides/_rels/slide3.xml.rels", b"</Relationships>", b"", ()),
)
NULL = (
    b'<Relationship Id="rId9" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" '
    b'Target="../NULL"/></Relationships>'
)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_p15_a_broken_part_costs_one_slide_at_most(damage: Damage, tmp_path: Path) -> None:
    path = five(tmp_path / "deck.pptx")

    def change(name: str, content: bytes) -> bytes | None:
        if name != damage.part or damage.new is None:
            return None if name == damage.part else content
        return content.replace(damage.old, damage.new or NULL)

    rewrite(path, change)
    parsed = parse(path)
    kept = [number for number in range(1, 6) if number not in damage.lost]
    found = [(str(block.locator), block.text.strip()) for block in parsed.blocks]
    assert found == [(f"P:{n}", f"Slide {n}") for n in kept]
    assert parsed.pages == 5
    if damage.lost or damage.name == "NULL picture":
        assert [dropped.where for dropped in parsed.dropped] == ["P:3"]


def test_p15_a_corrupt_picture_costs_nothing(tmp_path: Path) -> None:
    build = both(say("Text"), lambda slide: slide.shapes.add_picture(dot(), 0, 0, Inches(1)))
    path = write_deck(tmp_path / "deck.pptx", build)
    content = path.read_bytes()
    at = content.index(b"ppt/media/image1.png") + 25
    path.write_bytes(content[:at] + b"\xff" * 10 + content[at + 10 :])
    assert texts(parse(path)) == ["Text"]


def test_tables_are_markdown(tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        table = slide.shapes.add_table(3, 3, Inches(1), Inches(2), Inches(6), Inches(2)).table
        rows = (("配置", "TTFT", "a|b"), ("TP=4", "120 ms", "two\nlines"), ("all of it", "", ""))
        for row, cells in zip(table.rows, rows, strict=True):
            for cell, words in zip(row.cells, cells, strict=True):
                cell.text = words
        table.cell(2, 0).merge(table.cell(2, 2))

    (block,) = parse(write_deck(tmp_path / "deck.pptx", build)).blocks
    assert block.role is Role.TABLE
    assert block.text.splitlines() == [
        "| 配置 | TTFT | a\\|b |",
        "| --- | --- | --- |",
        "| TP=4 | 120 ms | two lines |",
        "| all of it |  |  |",
    ]


def test_charts_give_titles_series_and_values(tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        data = CategoryChartData()
        data.categories = ["A100", "H100"]
        data.add_series("吞吐", (1200, 2400.5))
        data.add_series("TTFT", (80, None))
        box = (Inches(1), Inches(1), Inches(4), Inches(2))
        chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *box, data).chart
        chart.has_title = True
        chart.chart_title.text_frame.text = "Throughput by GPU"
        chart.value_axis.has_title = True
        chart.value_axis.axis_title.text_frame.text = "tokens/s"

    (block,) = parse(write_deck(tmp_path / "deck.pptx", build)).blocks
    assert block.role is Role.TABLE
    assert block.text == (
        "Throughput by GPU\ntokens/s\n\n"
        "|  | 吞吐 | TTFT |\n| --- | --- | --- |\n| A100 | 1200 | 80 |\n| H100 | 2400.5 |  |"
    )


def test_scatter_charts_give_both_coordinates(tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        data = XyChartData()
        series = data.add_series("latency")
        series.add_data_point(1, 10.5)
        series.add_data_point(2, 20)
        slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, 0, 0, Inches(4), Inches(2), data)

    (block,) = parse(write_deck(tmp_path / "deck.pptx", build)).blocks
    assert "| 1 | 10.5 |\n| 2 | 20 |" in block.text


def test_a_broken_chart_costs_the_chart(tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        say("Beside the chart", top=0.2)(slide)
        data = CategoryChartData()
        data.categories = ["A"]
        data.add_series("S", (1,))
        slide.shapes.add_chart(XL_CHART_TYPE.PIE, 0, Inches(2), Inches(4), Inches(2), data)

    path = write_deck(tmp_path / "deck.pptx", build)
    rewrite(path, lambda name, content: b"<broken" if name.startswith("ppt/charts/chart") else content)
    parsed = parse(path)
    assert texts(parsed) == ["Beside the chart"]
    assert parsed.blocks[0].flags == {Flag.UNREAD_GRAPHIC}
    assert {dropped.where for dropped in parsed.dropped} == {"P:1"}


def test_code_boxes_keep_their_lines_in_one_block(tmp_path: Path) -> None:
    code = "def step(self):\n    if not self.waiting:\n        return None\n\n    return self.schedule()"
    parsed = parse(write_deck(tmp_path / "deck.pptx", both(say("The loop", top=1), say(code, font="Consolas"))))
    assert roles(parsed)[1:] == [(Role.CODE, code)]


def test_code_inside_a_text_box_is_cut_out_in_place(tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        frame = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(2)).text_frame
        write(frame, "Start the server:\nvllm serve X\nthen wait.")
        frame.paragraphs[1].runs[0].font.name = "Courier New"

    parsed = parse(write_deck(tmp_path / "deck.pptx", build))
    assert roles(parsed) == [
        (Role.BODY, "Start the server:"),
        (Role.CODE, "vllm serve X"),
        (Role.BODY, "then wait."),
    ]


def test_formulas_are_mathematics_alone_and_text_inside_text(tmp_path: Path) -> None:
    parsed = parse(write_deck(tmp_path / "deck.pptx", formula_box, lambda s: formula_box(s, before="Attention: ")))
    assert roles(parsed)[0] == (Role.MATH, "softmax((QK^T)/(√(d_k)))V")
    assert parsed.blocks[1].text == "Attention: softmax((QK^T)/(√(d_k)))V"
    assert "picture of it" not in " ".join(block.text for block in parsed.blocks)


@dataclass(frozen=True)
class Alternative:
    description: str
    kept: bool


ALTERNATIVES = (
    Alternative("块表把逻辑块映射到物理块", kept=True),
    Alternative("The block table maps logical blocks", kept=True),
    Alternative("image1.png", kept=False),
    Alternative(r"C:\Users\me\screen shot.png", kept=False),
    Alternative("A close up of a logo\n\nDescription automatically generated", kept=False),
    Alternative("Said on the slide", kept=False),
    Alternative("", kept=False),
)


@pytest.mark.parametrize("alternative", ALTERNATIVES, ids=lambda each: each.description or "none")
def test_alternative_text_of_pictures(alternative: Alternative, tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        say("Said on the slide", top=0.5)(slide)
        shape = slide.shapes.add_picture(dot(), 0, Inches(3), Inches(3))
        shape.element.nvPicPr.cNvPr.set("descr", alternative.description)

    said = texts(parse(write_deck(tmp_path / "deck.pptx", build)))
    assert said == ["Said on the slide", *([alternative.description] if alternative.kept else [])]


def test_a_slide_that_is_mostly_a_picture_is_flagged(tmp_path: Path) -> None:
    shown = both(say("Code", top=0.5), lambda slide: slide.shapes.add_picture(dot(), 0, Inches(2), Inches(6)))
    parsed = parse(write_deck(tmp_path / "deck.pptx", shown, say("Code")))
    assert [block.flags for block in parsed.blocks] == [{Flag.UNREAD_GRAPHIC}, set()]
    assert [(dropped.what, dropped.where) for dropped in parsed.dropped] == [("picture", "P:1")]


def test_title_without_a_title_placeholder(tmp_path: Path) -> None:
    large = both(say("Body text\nand more\nof it", top=3, size=18), say("Large at the top", top=0.5, size=32))
    inside = say("Large first line\nfollowed by text\nin one box\nof lines", top=0.5)
    alone = both(say("Alone at the top", top=0.5), say("Body text\nand more\nof it", top=3))

    def first_line(slide: Slide) -> None:
        inside(slide)
        slide.shapes[0].text_frame.paragraphs[0].runs[0].font.size = Inches(0.5)

    none = say("Body text\nand more\nof it")
    parsed = parse(write_deck(tmp_path / "deck.pptx", large, first_line, alone, none))
    titles = [(str(block.locator), block.text) for block in parsed.blocks if block.role is Role.TITLE]
    assert titles == [("P:1", "Large at the top"), ("P:2", "Large first line"), ("P:3", "Alone at the top")]
    assert texts(parsed, 2) == ["Large first line", "followed by text\nin one box\nof lines"]


def test_slide_numbers_are_no_text(tmp_path: Path) -> None:
    def build(slide: Slide) -> None:
        say("Text")(slide)
        say("7", top=7)(slide)
        placeholder = slide.shapes[-1].element.nvSpPr.nvPr
        placeholder.append(placeholder.makeelement(f"{{{placeholder.nsmap['p']}}}ph", {"type": "sldNum", "idx": "12"}))

    assert texts(parse(write_deck(tmp_path / "deck.pptx", build))) == ["Text"]


def test_text_beyond_the_edge_is_read(tmp_path: Path) -> None:
    parsed = parse(write_deck(tmp_path / "deck.pptx", both(say("On it"), say("Beyond it", left=-3, top=-2))))
    assert sorted(texts(parsed)) == ["Beyond it", "On it"]


def test_a_deck_without_text_is_an_error(tmp_path: Path) -> None:
    path = write_deck(tmp_path / "deck.pptx", lambda slide: None, lambda slide: None)
    with pytest.raises(UnreadableSource, match="2 pages hold no text"):
        parse(path)


def test_zip_bombs_are_refused(tmp_path: Path) -> None:
    path = five(tmp_path / "deck.pptx")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ppt/slides/slide99.xml", b" " * (8 * 2**20))
    with pytest.raises(LimitExceeded, match="like a zip bomb"):
        parse(path)


def test_too_many_entries_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.office.archive._ENTRIES", 20)
    with pytest.raises(LimitExceeded, match="more than 20"):
        parse(five(tmp_path / "deck.pptx"))


def test_entities_do_not_expand(tmp_path: Path) -> None:
    path = five(tmp_path / "deck.pptx")
    bomb = b'<!DOCTYPE x [<!ENTITY a "' + b"ha" * 100 + b'"><!ENTITY b "' + b"&a;" * 1000 + b'">]>'

    def change(name: str, content: bytes) -> bytes:
        if name != "ppt/slides/slide2.xml":
            return content
        return content.replace(b"<p:sld ", bomb + b"<p:sld ", 1).replace(b"Slide 2", b"&b;")

    rewrite(path, change)
    parsed = parse(path)
    assert len(parsed.blocks) >= 4
    assert not any("haha" in block.text for block in parsed.blocks)


def test_reading_needs_no_network_and_imports_lazily(tmp_path: Path) -> None:
    path = five(tmp_path / "deck.pptx")
    program = (
        "import sys, socket, pathlib\n"
        "def refuse(*_args, **_kwargs): raise OSError('no network')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from ingest.office.slides import read\n"
        "from ingest.parsed import Reading\n"
        "heavy = {'unstructured', 'pptx', 'spacy', 'pypdfium2', 'PIL'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "from kb.settings import Settings\n"
        f"parsed = read(pathlib.Path({str(path)!r}), Reading(settings=Settings()))\n"
        "assert len(parsed.blocks) == 5\n"
    )
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", program], check=True, cwd=root)


def test_an_unstructured_that_would_download_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unstructured.nlp import tokenize

    path = five(tmp_path / "deck.pptx")
    parse(path)
    monkeypatch.delattr(tokenize, "_load_spacy_model")
    with pytest.raises(MissingDependency, match="would download a language model"):
        parse(path)


@given(
    st.lists(
        st.builds(
            lambda left, top, width, height: Box(left, top, left + width, top + height),
            *(st.integers(-50, 100) for _ in range(2)),
            *(st.integers(0, 60) for _ in range(2)),
        ),
        max_size=25,
    ),
    st.sampled_from([10.0, float("inf")]),
)
@settings(max_examples=100, deadline=None)
def test_reading_order_keeps_each_box_once_and_starts_at_the_top(boxes: list[Box], column: float) -> None:
    above = Box(0, -200, 10, -100)
    order = reading_order([*boxes, above], column)
    assert sorted(order) == list(range(len(boxes) + 1))
    assert order[0] == len(boxes)


@pytest.mark.corpus
def test_quotes_of_the_corpus_deck(corpus: Path) -> None:
    parsed = parse(corpus / "media/decks/zh_stepllm_parallel.pptx")
    assert (parsed.pages, parsed.title) == (31, "MindSpore分布式特性详解")
    for number, quote in (
        (5, "数据并行的问题：\n• 要求单卡可以放下模型"),
        (15, "在编号为0的MicroBatch的正向执行完后立即执行其反向"),
        (26, "内存降低能力与并行数量 成线性比例，通信量 大约有50%的增长"),
    ):
        assert find_quote(quote, "\n".join(texts(parsed, number)))
