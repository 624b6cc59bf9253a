"""A reader of the output that goes away, as `head` does, or a disk that is full."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kb.settings import Settings
from tests.api.conftest import open_fake, write_notes

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "What does --block-size set?"
COMMANDS = (
    ("--help",), ("ls",), ("ask", "--stream", QUESTION), ("search", "--json", "block"), ("add", "more"),
    ("sync", "--watch", "watched"),
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("piped")
    with open_fake(Settings(home=folder / "library")) as service:
        assert len(list(service.add([write_notes(folder / "notes")]))) == 3
    for name in ("more", "watched"):
        (folder / name).mkdir()
        (folder / name / "new.md").write_text("# New\n\nA new note about blocks.\n", encoding="utf-8")
    return folder


def start(folder: Path, *arguments: str, out: int, err: int = subprocess.PIPE) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.api.fake_kb", "--home", "library", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=out,
        stderr=err,
        text=True,
    )


def errors_of(process: subprocess.Popen[str]) -> str:
    """What it told on stderr until it ended."""
    try:
        return process.communicate(timeout=60)[1] or ""
    finally:
        process.kill()


def closed_pipe() -> int:
    """The end of a pipe that can be written to, and nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_reader_who_leaves_ends_it_quietly(folder: Path, arguments: tuple[str, ...]) -> None:
    out = closed_pipe()
    with start(folder, *arguments, out=out) as process:
        os.close(out)
        told = errors_of(process)
    assert process.returncode == 141
    assert "Traceback" not in told
    assert "Error" not in told
    assert "BrokenPipe" not in told


def test_nobody_reads_the_errors_either(folder: Path) -> None:
    out = closed_pipe()
    with start(folder, "show", "nothing-of-this-name", out=out, err=out) as process:
        os.close(out)
        errors_of(process)
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_told(folder: Path) -> None:
    out = os.open("/dev/full", os.O_WRONLY)
    with start(folder, "ls", out=out) as process:
        os.close(out)
        told = errors_of(process)
    assert process.returncode == 5
    assert told.startswith("Error: ")
    assert told.count("\n") == 1
