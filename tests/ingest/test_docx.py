"""Word documents: everything that a reader sees comes out, once, in order, below its headings."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest
from docx.document import Document as Word
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from ingest.load import load
from ingest.office.docx import read
from ingest.parsed import Parsed, Reading
from kb.errors import KBError, LimitExceeded, UnreadableSource, UnsupportedSource
from kb.settings import IngestSettings, Settings
from kb.types import Flag, Kind, Mark, Role, parse_locator
from tests.fakes import FakeRecogniser
from tests.ingest.deck_writer import ATTENTION, rewrite
from tests.ingest.docx_writer import NAMESPACES, code, heading, say, table, write_docx, xml

pytestmark = pytest.mark.usefixtures("blind")

READING = Reading(settings=Settings())
WORDS = "<w:r><w:t>{}</w:t></w:r>"


def roles(parsed: Parsed) -> list[tuple[Role, str]]:
    return [(block.role, block.text) for block in parsed.blocks]


def places(parsed: Parsed) -> list[tuple[str, str]]:
    marks = [block.locator for block in parsed.blocks]
    assert all(isinstance(mark, Mark) and parse_locator(str(mark)) == mark for mark in marks)
    return [("/".join(m.heading_path), f"{m.line_start}-{m.line_end}") for m in marks if isinstance(m, Mark)]


def test_headings_texts_and_lists(tmp_path: Path) -> None:
    bullets = [say("first", "List Bullet"), say("second", "List Bullet"), say("deeper", "List Bullet 2")]
    path = write_docx(
        tmp_path / "a.docx",
        *(heading("Paged attention", 0), say("键值缓存由块组成。"), heading("Setup", 1), *bullets),
        *(heading("Flags", 2), say("A short one"), heading("Results", 1), say("Fast.")),
    )
    parsed = read(path, READING)
    assert roles(parsed) == [
        (Role.TITLE, "Paged attention"),
        (Role.BODY, "键值缓存由块组成。"),
        (Role.TITLE, "Setup"),
        (Role.BODY, "first\nsecond\n  deeper"),
        (Role.TITLE, "Flags"),
        (Role.BODY, "A short one"),
        (Role.TITLE, "Results"),
        (Role.BODY, "Fast."),
    ]
    top = "Paged attention"
    paths = [top, top, f"{top}/Setup", f"{top}/Setup", f"{top}/Setup/Flags", f"{top}/Setup/Flags"]
    lines = ["1-1", "2-2", "3-3", "4-6", "7-7", "8-8", "9-9", "10-10"]
    assert places(parsed) == list(zip([*paths, f"{top}/Results", f"{top}/Results"], lines, strict=True))
    document = load(path, READING)
    assert (document.source.kind, document.source.title, document.source.lang) == (Kind.NOTE, top, "en")


def test_tables_are_markdown(tmp_path: Path) -> None:
    rows = (("配置", "TTFT", "a|b"), ("TP=4", "120 ms", "two\nlines"), ("all of it", "", ""))
    (block,) = read(write_docx(tmp_path / "a.docx", table(rows, [(2, 0, 2, 2)])), READING).blocks
    assert block.role is Role.TABLE
    assert block.text.splitlines() == [
        "| 配置 | TTFT | a\\|b |",
        "| --- | --- | --- |",
        "| TP=4 | 120 ms | two lines |",
        "| all of it |  |  |",
    ]


@pytest.mark.parametrize("span", ["9999999", "many"])
def test_a_table_that_claims_millions_of_cells_keeps_its_text_and_says_so(
    span: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write_docx(tmp_path / "a.docx", say("Above"), table((("TTFT", "120 ms"), ("TPOT", "9 ms"))))
    rewrite(
        path,
        lambda _, data: data.replace(b"<w:tcPr>", f'<w:tcPr><w:gridSpan w:val="{span}"/>'.encode(), 1),
    )
    parsed = read(path, READING)
    text = " ".join(block.text for block in parsed.blocks)
    assert all(words in text for words in ("Above", "TTFT", "120 ms", "TPOT", "9 ms"))
    assert [(dropped.what, dropped.where) for dropped in parsed.dropped] == [("layout of a table", "L2")]
    assert (caplog.records, capfd.readouterr().err) == ([], "")


def test_code_is_one_listing_with_its_indents(tmp_path: Path) -> None:
    lines = ("def step(self):", "    if not self.waiting:", "        return None", "", "    return 1")
    parsed = read(write_docx(tmp_path / "a.docx", say("The loop:"), code(*lines), say("ends.")), READING)
    assert roles(parsed) == [(Role.BODY, "The loop:"), (Role.CODE, "\n".join(lines)), (Role.BODY, "ends.")]


def test_what_unstructured_skips_is_read(tmp_path: Path) -> None:
    box = (
        "<w:p>" + WORDS.format("Beside a box") + "<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing>"
        "<wps:txbx><w:txbxContent><w:p>" + WORDS.format("In the box") + "</w:p></w:txbxContent></wps:txbx></w:drawing>"
        "</mc:Choice><mc:Fallback><w:pict><w:txbxContent><w:p>" + WORDS.format("In the box") + "</w:p></w:txbxContent>"
        "</w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )
    control = "<w:sdt><w:sdtContent><w:p>" + WORDS.format("In a control") + "</w:p></w:sdtContent></w:sdt>"
    tracked = (
        "<w:p><w:ins>"
        + WORDS.format("Inserted")
        + "</w:ins><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>"
    )
    inline = "<w:p>" + WORDS.format("Attention: ") + ATTENTION + "</w:p>"
    alone = f"<w:p><m:oMathPara>{ATTENTION}</m:oMathPara></w:p>"
    broken = "<w:p>" + WORDS.format("Before ") + "<w:r><w:lastRenderedPageBreak/><w:t>and after</w:t></w:r></w:p>"
    parsed = read(write_docx(tmp_path / "a.docx", *map(xml, (box, control, tracked, inline, alone, broken))), READING)
    formula = "softmax((QK^T)/(√(d_k)))V"
    assert roles(parsed) == [
        (Role.BODY, "Beside a box"),
        (Role.BODY, "In the box"),
        (Role.BODY, "In a control"),
        (Role.BODY, "Inserted"),
        (Role.BODY, f"Attention: {formula}"),
        (Role.MATH, formula),
        (Role.BODY, "Before and after"),
    ]


def test_links_and_margins(tmp_path: Path) -> None:
    def build(document: Word) -> None:
        paragraph = document.add_paragraph("Read the ")
        relation = document.part.relate_to("https://docs.vllm.ai/x", RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
        namespace = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
        xml(f"<w:hyperlink xmlns:r='{namespace}' r:id='{relation}'>{WORDS.format('docs')}</w:hyperlink>")(document)
        paragraph._p.append(document.element.body[-2])
        document.sections[0].header.paragraphs[0].text = "Draft of May"
        document.add_section()

    assert roles(read(write_docx(tmp_path / "a.docx", build, say("End.")), READING)) == [
        (Role.BODY, "Draft of May"),
        (Role.BODY, "Read the docs"),
        (Role.BODY, "docs https://docs.vllm.ai/x"),
        (Role.BODY, "End."),
    ]


def test_footnotes_come_at_the_end(tmp_path: Path) -> None:
    path = write_docx(
        tmp_path / "a.docx",
        xml(f"<w:p>{WORDS.format('Said')}<w:r><w:footnoteReference w:id='2'/></w:r></w:p>"),
        say("More."),
    )
    notes = (
        '<w:footnotes xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:footnote w:id="2"><w:p>'
        "<w:r><w:t>By whom</w:t></w:r></w:p></w:footnote></w:footnotes>"
    )
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("word/footnotes.xml", notes)
    assert [block.text for block in read(path, READING).blocks] == ["Said[1]", "More.", "[1] By whom"]


def picture(document: Word) -> None:
    file = BytesIO()
    Image.new("RGB", (200, 100), "white").save(file, format="PNG")
    file.seek(0)
    document.add_picture(file)


def test_pictures_are_read_and_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.pages.ocr._engine", lambda _threads: FakeRecogniser(("GPU memory", 0.95)))
    path = write_docx(tmp_path / "a.docx", say("Look:"), picture, say("End."))
    parsed = read(path, READING)
    assert [(b.text, set(b.flags), b.confidence) for b in parsed.blocks] == [
        ("Look:", set(), None),
        ("GPU memory", {Flag.OCR}, 0.95),
        ("End.", set(), None),
    ]
    off = read(path, Reading(Settings(ingest=IngestSettings(ocr=False))))
    assert [block.text for block in off.blocks] == ["Look:", "End."]
    assert "KB_INGEST_OCR" in off.dropped[0].reason
    rewrite(path, lambda name, content: b"no picture" if name.startswith("word/media") else content)
    assert read(path, READING).dropped[0].reason == "its file cannot be read"


def test_p15_a_missing_picture_costs_nothing_else(tmp_path: Path) -> None:
    path = write_docx(tmp_path / "a.docx", say("Look:"), picture, say("End."))
    rewrite(path, lambda name, content: None if name.startswith("word/media") else content)
    assert [block.text for block in read(path, READING).blocks] == ["Look:", "End."]


def test_what_is_no_document(tmp_path: Path) -> None:
    path = write_docx(tmp_path / "a.docx", say("Text"))
    rewrite(
        path,
        lambda name, content: content.replace(b"<w:body>", b"<w:body") if name.endswith("document.xml") else content,
    )
    cases = {
        "its XML is malformed": path.read_bytes(),
        "it holds no text": write_docx(tmp_path / "empty.docx").read_bytes(),
        "the file is empty": b"",
        "this is no DOCX": b"{\\rtf1 text}",
        "asks for a password": bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le"),
        "this is no DOCX file": b"PK\x03\x04 cut off",
    }
    for message, content in cases.items():
        path.write_bytes(content)
        with pytest.raises(UnreadableSource, match=message) as caught:
            read(path, READING)
        assert caught.value.remedy


def test_zip_bombs_are_refused(tmp_path: Path) -> None:
    path = write_docx(tmp_path / "a.docx", say("Text"))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/bomb.xml", b" " * (8 * 2**20))
    with pytest.raises(LimitExceeded, match="like a zip bomb"):
        read(path, READING)


@pytest.mark.parametrize(("suffix", "advice"), [(".key", "File > Export To"), (".doc", r"Save it as \.docx")])
def test_other_formats_say_what_to_export(suffix: str, advice: str, tmp_path: Path) -> None:
    path = tmp_path / f"talk{suffix}"
    path.write_bytes(b"something")
    with pytest.raises(UnsupportedSource, match=advice):
        load(path, READING)


@given(cut=st.integers(0, 20_000), noise=st.binary(max_size=20))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_document_is_read_or_a_typed_error(cut: int, noise: bytes, tmp_path: Path) -> None:
    path = write_docx(tmp_path / "a.docx", heading("Title", 1), say("Text"))
    content = path.read_bytes()
    at = cut % len(content)
    path.write_bytes(content[:at] + noise + content[at + len(noise) :] if noise else content[:at])
    with suppress(KBError):
        load(path, READING)


CHART = """<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"><c:chart><c:plotArea><c:barChart>
<c:ser><c:cat><c:strRef><c:strCache><c:pt idx="{idx}"><c:v>vLLM</c:v></c:pt></c:strCache></c:strRef></c:cat>
<c:val><c:numRef><c:numCache><c:pt idx="0"><c:v>24</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser>
</c:barChart></c:plotArea></c:chart></c:chartSpace>"""


def chart(idx: str) -> Callable[[Word], None]:
    def build(document: Word) -> None:
        name = PackURI(f"/word/charts/chart{idx}.xml")
        part = Part(name, CONTENT_TYPE.DML_CHART, CHART.format(idx=idx).encode(), document.part.package)
        relation = document.part.relate_to(part, RELATIONSHIP_TYPE.CHART)
        run = document.add_paragraph().add_run()
        run._r.append(
            parse_xml(
                f'<w:drawing {NAMESPACES}><c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
                'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
                f'r:id="{relation}"/></w:drawing>'
            )
        )

    return build


def test_a_chart_whose_points_have_no_number_costs_nothing_else(tmp_path: Path) -> None:
    path = write_docx(tmp_path / "a.docx", say("Look:"), chart("0"), chart("first"), say("End."))
    parsed = read(path, READING)
    assert [(block.role, "24" in block.text) for block in parsed.blocks] == [
        (Role.BODY, False),
        (Role.TABLE, True),
        (Role.BODY, False),
    ]
    assert [(item.what, item.reason) for item in parsed.dropped] == [("chart", "its values cannot be read")]
