"""What `kb` says of a command line that cannot be read, and of what could not be read at all."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from api import cli, progress, results
from kb.types import Change, Kind, Outcome, Progress, Source, SourceEntry, Status


def said(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(sys, "argv", ["kb", *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    return " ".join(capfd.readouterr().err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("command", "named"),
    [(("ls",), "ls"), (("search", "KV"), "search"), (("corrections", "list"), "corrections list")],
)
def test_home_after_the_command_is_told_where_it_belongs(
    command: tuple[str, ...], named: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    told = said([*command, "--home", "team.kb"], monkeypatch, capfd)
    assert f"--home stands before the command: kb --home FOLDER {named}" in told
    assert "No such option" not in told


@pytest.mark.parametrize(
    "arguments",
    [("search", "KV", "--lang", "de"), ("ask", "Why?", "--since", "2026/1/1"), ("chapters", "t", "--format", "x")],
)
def test_a_wrong_value_is_told_in_words_of_kb_alone(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    told = said([*arguments], monkeypatch, capfd)
    assert "Invalid value for" in told
    assert "Value error" not in told


def test_another_unknown_option_keeps_its_suggestion(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert "No such option: --limt (Possible options: --limit)" in said(
        ["search", "x", "--limt", "3"], monkeypatch, capfd
    )


def test_a_failed_file_is_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(Path.cwd() / "notes" / "broken.pdf")
    progress.show_change(Change(path=path, outcome=Outcome.FAILED, error=f"{path}: this is no PDF file"))
    assert capsys.readouterr().out.split() == ["failed", "notes/broken.pdf", "this", "is", "no", "PDF", "file"]


def test_warnings_tell_why_a_source_failed(capsys: pytest.CaptureFixture[str]) -> None:
    source = Source(id="s", kind=Kind.DECK, uri=Path("/broken.pdf").as_uri(), sha256="", title="broken.pdf")
    results.show_warnings([SourceEntry(source=source, status=Status.FAILED, error="/broken.pdf: this is no PDF file")])
    assert capsys.readouterr().out.split("\n")[1:3] == ["broken.pdf: failed", "    /broken.pdf: this is no PDF file"]


def test_the_bar_tells_apart_what_has_passed_and_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    screen = Console(file=io.StringIO(), force_terminal=True, width=120, color_system=None, _environ={"TERM": "xterm"})
    monkeypatch.setattr(progress, "err", screen)
    with progress.bar("Adding") as report:
        report(Progress(path="/talk.mp4", stage="hearing", done=1, total=4, share=0.5))
    assert re.search(r"1/4 files 0:00:\d\d elapsed, +\S* left hearing talk.mp4 50%", screen.file.getvalue())  # type: ignore[attr-defined]
