"""The door for decks: what a file is, what it is called, its page images."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from pptx.slide import Slide
from pptx.util import Inches
from pytest_socket import disable_socket

from ingest.load import load
from ingest.office.slides import means, read
from ingest.parsed import Reading
from kb.errors import UnreadableSource
from kb.settings import IngestSettings, Settings
from tests.ingest.deck_writer import both, rewrite, say, write_deck
from tests.ingest.docx_writer import heading, write_docx
from tests.ingest.docx_writer import say as paragraph
from tests.ingest.pdf_writer import Sheet, text, write_pdf

pytestmark = pytest.mark.usefixtures("blind")

READING = Reading(settings=Settings())
OLE = bytes.fromhex("d0cf11e0a1b11ae1")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"<html>not found</html>", "neither a PPTX nor a PDF"),
        (OLE + b"\0" * 2000, "a file of another Office program"),
        (OLE + b"\0" * 2000 + "EncryptedPackage".encode("utf-16-le"), "asks for a password"),
        (b"PK\x03\x04 cut off", "no PPTX file"),
    ],
)
def test_what_is_no_deck(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "deck.pptx"
    path.write_bytes(content)
    with pytest.raises(UnreadableSource, match=message) as caught:
        read(path, READING)
    assert (caught.value.where, bool(caught.value.remedy)) == (str(path), True)


def test_another_office_file_is_no_deck(tmp_path: Path) -> None:
    path = write_deck(tmp_path / "deck.pptx", say("Text"))
    rewrite(path, lambda name, content: None if name == "ppt/presentation.xml" else content)
    with pytest.raises(UnreadableSource, match="it holds no presentation"):
        read(path, READING)


def test_the_content_decides_not_the_suffix(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "deck.pdf", [Sheet(text(50, 700, "Text"))]).rename(tmp_path / "deck.pptx")
    assert [block.text for block in read(path, READING).blocks] == ["Text"]


@pytest.mark.parametrize(
    ("declared", "title"),
    [
        ("Paged attention in depth", "Paged attention in depth"),
        ("文本解码原理", "文本解码原理"),
        ("", "First title"),
        ("PowerPoint Presentation", "First title"),
        ("PowerPoint 演示文稿", "First title"),
        ("演示文稿1", "First title"),
        ("幻灯片 1", "First title"),
        ("Microsoft PowerPoint - talk_final.pptx", "First title"),
        ("talk_final_v2.key", "First title"),
        ("Presentation of vLLM", "Presentation of vLLM"),
    ],
)
def test_deck_title(declared: str, title: str, tmp_path: Path) -> None:
    path = write_deck(tmp_path / "deck.pptx", say("First title"), say("Second title"), title=declared)
    assert read(path, READING).title == title


def picture(path: Path) -> Image.Image:
    with Image.open(path) as file:
        return file.convert("RGB")


def test_page_images_of_a_pdf(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "deck.pdf", [Sheet(text(50, 700, "Text")), Sheet("", rotate=90)])
    reading = Reading(settings=Settings(ingest={"page_width": 300}), images=tmp_path / "images")
    assert read(path, reading).dropped[0].what == "page without text"
    assert sorted(file.name for file in (tmp_path / "images").iterdir()) == ["0001.webp", "0002.webp"]
    sizes = [picture(tmp_path / "images" / name).size for name in ("0001.webp", "0002.webp")]
    assert sizes == [(300, 400), (300, 225)]


def test_no_images_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read(write_deck(tmp_path / "deck.pptx", say("Text")), READING).dropped == ()


def fake_libreoffice(folder: Path, script: str) -> None:
    program = folder / "soffice"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (None, "LibreOffice is not installed"),
        ("echo it failed; exit 1", "could not open the deck (it failed)"),
        ('for deck; do :; done; echo "%PDF-1.7 broken" > "${deck%.pptx}.pdf"', "cannot be read (the PDF is broken"),
        ("sleep 60", "LibreOffice took longer than 0 s"),
    ],
)
def test_without_libreoffice_the_deck_is_read_and_says_so(
    script: str | None, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/bin" if script else str(programs))
    if script:
        fake_libreoffice(programs, script)
        monkeypatch.setattr("ingest.pages.images._SECONDS", (0.3, 0) if "sleep" in script else (60, 2))
    parsed = read(
        write_deck(tmp_path / "deck.pptx", say("Text")), Reading(settings=Settings(), images=tmp_path / "images")
    )
    assert [block.text for block in parsed.blocks] == ["Text"]
    (dropped,) = parsed.dropped
    assert (dropped.what, dropped.where) == ("page images", "deck.pptx")
    assert reason in dropped.reason
    assert "apt install libreoffice" in dropped.reason


def test_ctrl_c_ends_libreoffice_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    fake_libreoffice(programs, f'echo $$ > "{tmp_path}/pid"; exec sleep 60')
    monkeypatch.setenv("PATH", f"{programs}:/bin")

    def interrupted(self: subprocess.Popen[bytes], timeout: float) -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert self.poll() is None
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    deck = write_deck(tmp_path / "deck.pptx", say("Text"))
    with pytest.raises(KeyboardInterrupt):
        read(deck, Reading(settings=Settings(), images=tmp_path / "images"))
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_means_name_what_a_deck_owes_to_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    without = means(Settings())
    fake_libreoffice(tmp_path, "exit 0")
    assert means(Settings()) != without
    assert means(Settings(ingest=IngestSettings(page_width=800))) != means(Settings())


def test_what_libreoffice_gets_is_a_copy_that_leads_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(slide: Slide) -> None:
        say("Text")(slide)
        slide.part.relate_to("http://example.invalid/x.png", "http://x/relationships/image", is_external=True)

    programs = tmp_path / "bin"
    programs.mkdir()
    fake_libreoffice(programs, f'for deck; do :; done; cp "$deck" "{tmp_path}/seen.zip"')
    monkeypatch.setenv("PATH", f"{programs}:/bin")
    path = write_deck(tmp_path / "deck.pptx", build)
    assert b"example.invalid" in _inflated(path)
    read(path, Reading(settings=Settings(), images=tmp_path / "images"))
    assert b"example.invalid" not in _inflated(tmp_path / "seen.zip")


def _inflated(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())


def test_slides_through_libreoffice_hidden_ones_included(tmp_path: Path) -> None:
    if not (shutil.which("soffice") or shutil.which("libreoffice")):
        pytest.skip("LibreOffice is not installed")

    def hide(slide: Slide) -> None:
        say("Second")(slide)
        slide.element.set("show", "0")

    def red(slide: Slide) -> None:
        file = BytesIO()
        Image.new("RGB", (4, 4), (255, 0, 0)).save(file, format="PNG")
        slide.shapes.add_picture(file, 0, 0, Inches(10), Inches(7.5))

    path = write_deck(tmp_path / "deck.pptx", say("First"), hide, both(say("Third"), red))
    parsed = read(path, Reading(settings=Settings(), images=tmp_path / "images"))
    images = sorted((tmp_path / "images").iterdir())
    assert [image.name for image in images] == ["0001.webp", "0002.webp", "0003.webp"]
    assert picture(images[2]).size == (1280, 960)
    assert picture(images[2]).getpixel((640, 900)) == pytest.approx((255, 0, 0), abs=8)
    assert not [dropped for dropped in parsed.dropped if dropped.what == "page images"]


@pytest.mark.parametrize("suffix", [".pptx", ".pdf", ".docx"])
def test_p21_no_deck_reaches_for_the_network(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"deck{suffix}"
    if suffix == ".pptx":
        write_deck(path, say("Prefill is bound by compute. Decode is not."))
    elif suffix == ".pdf":
        write_pdf(path, [Sheet(text(50, 700, "Prefill is bound by compute. Decode is not."))])
    else:
        write_docx(path, heading("Two phases", 1), paragraph("Prefill is bound by compute. Decode is not."))
    disable_socket()
    assert "Decode is not." in " ".join(segment.text for segment in load(path, READING).segments)
