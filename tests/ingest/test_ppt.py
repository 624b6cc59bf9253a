"""Old PowerPoint decks, through LibreOffice where it is there; and how LibreOffice is run."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from pptx.slide import Slide

from ingest.load import load
from ingest.office.libreoffice import PDF, convert
from ingest.office.slides import read
from ingest.parsed import Reading
from kb.errors import MissingDependency, UnreadableSource
from kb.settings import Settings
from kb.types import Kind, Role
from tests.fakes import FakeRecogniser
from tests.ingest.deck_writer import both, say, write_deck
from tests.ingest.test_slides import OLE, fake_libreoffice

READING = Reading(settings=Settings())
INSTALLED = shutil.which("soffice") or shutil.which("libreoffice")


def old(path: Path) -> Path:
    path.write_bytes(OLE + b"\0" * 2000 + "PowerPoint Document".encode("utf-16-le"))
    return path


def test_without_libreoffice_an_old_deck_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependency, match="old PowerPoint format") as caught:
        load(old(tmp_path / "deck.ppt"), READING)
    assert "Save it as .pptx" in caught.value.remedy
    assert "apt install libreoffice" in caught.value.remedy


def test_an_old_deck_that_libreoffice_cannot_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_libreoffice(tmp_path, "echo cannot; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    with pytest.raises(UnreadableSource, match=r"could not open the deck \(cannot\).*save it as \.pptx"):
        load(old(tmp_path / "deck.ppt"), READING)


def test_an_old_deck_is_read_as_what_libreoffice_makes_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blind: FakeRecogniser
) -> None:
    made = write_deck(tmp_path / "made.pptx", say("Slide one"), say("Slide two"))
    fake_libreoffice(tmp_path, f'for deck; do :; done; cp "{made}" "${{deck%.ppt}}.pptx"')
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    document = load(old(tmp_path / "deck.ppt"), READING)
    assert [(str(s.locator), s.text) for s in document.segments] == [("P:1", "Slide one"), ("P:2", "Slide two")]
    assert document.source.kind is Kind.DECK


@pytest.mark.skipif(not INSTALLED, reason="LibreOffice is not installed")
def test_a_real_old_deck(tmp_path: Path, blind: FakeRecogniser) -> None:
    def noted(slide: Slide) -> None:
        both(say("Paged attention", top=0.5, size=32), say("键值缓存由块组成\nand blocks are shared", top=3))(slide)
        slide.notes_slide.notes_text_frame.text = "Explain it."

    pptx = write_deck(tmp_path / "deck.pptx", noted)
    command = ["soffice", f"-env:UserInstallation=file://{tmp_path}/p", "--headless", "--convert-to", "ppt", "--outdir"]
    subprocess.run([*command, str(tmp_path), str(pptx)], check=True, capture_output=True, timeout=120)
    parsed = read(tmp_path / "deck.ppt", READING)
    assert [(block.role, block.text) for block in parsed.blocks] == [
        (Role.TITLE, "Paged attention"),
        (Role.BODY, "键值缓存由块组成\nand blocks are shared"),
        (Role.NOTES, "Explain it."),
    ]


def test_libreoffice_gets_a_profile_without_macros_and_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    fake_libreoffice(programs, f'env > "{tmp_path}/env"; for deck; do :; done; echo "$@" > "${{deck%.pptx}}.pdf"')
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("KB_LLM_API_KEY", "secret")
    made = convert(write_deck(tmp_path / "deck.pptx", say("Text")), PDF, seconds=20, on_wait=lambda: None)
    assert f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}" in made.read_text("utf-8")
    profile = (tmp_path / "profile/user/registrymodifications.xcu").read_text("utf-8")
    assert "DisableMacrosExecution" in profile
    assert "BlockUntrustedRefererLinks" in profile
    surroundings = (tmp_path / "env").read_text("utf-8")
    assert f"HOME={tmp_path}" in surroundings
    assert "https_proxy=http://127.0.0.1:9" in surroundings
    assert "secret" not in surroundings


def test_whoever_stops_the_reading_stops_libreoffice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_libreoffice(tmp_path, f'echo $$ > "{tmp_path}/pid"; exec sleep 60')
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr("ingest.office.libreoffice._POLL", 0.05)

    class Cancelled(Exception):
        pass

    def stop() -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            raise Cancelled

    started = time.monotonic()
    with pytest.raises(Cancelled):
        convert(write_deck(tmp_path / "deck.pptx", say("Text")), PDF, seconds=20, on_wait=stop)
    assert time.monotonic() - started < 30
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_what_libreoffice_started_ends_with_it_and_what_is_cut_off_is_no_deck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f'for deck; do :; done; echo %PDF > "${{deck%.pptx}}.pdf"; sleep 60 & echo $! > "{tmp_path}/pid"'
    fake_libreoffice(tmp_path, script)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr("ingest.office.libreoffice._POLL", 0.05)
    with pytest.raises(UnreadableSource, match="took longer than"):
        convert(write_deck(tmp_path / "deck.pptx", say("Text")), PDF, seconds=0.3, on_wait=lambda: None)
    with suppress(ProcessLookupError):
        assert select.select([os.pidfd_open(int((tmp_path / "pid").read_text()))], [], [], 10)[0]
