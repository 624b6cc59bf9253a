"""`kb sync --watch`, as a process of its own: what a person sees, and how it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from api import watching
from api.watching import News, Watch
from kb.errors import LibraryBusy, NotFound
from kb.types import Change, Outcome
from tests.api.conftest import write_notes

ROOT = Path(__file__).resolve().parents[2]


class Watcher:
    """`kb sync --watch --json` in a process; its lines as they come."""

    def __init__(self, home: Path, folder: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "tests.api.fake_kb",
            "--home",
            str(home),
            "sync",
            str(folder),
            "--watch",
            "--json",
        ]
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
        try:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        finally:
            signal.signal(signal.SIGINT, before)

    def told(self, count: int) -> dict[str, str]:
        """The next `count` changes, by name."""
        assert self.process.stdout
        lines = [Change.model_validate_json(self.process.stdout.readline()) for _ in range(count)]
        return {Path(change.path).name: change.outcome.value for change in lines}

    def end(self, number: int) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@pytest.fixture
def watcher(tmp_path: Path) -> Iterator[Watcher]:
    started = Watcher(tmp_path / "home", write_notes(tmp_path / "notes"))
    yield started
    started.process.kill()
    started.process.communicate()


def test_each_change_is_a_line_and_ctrl_c_ends_well(watcher: Watcher, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    assert set(watcher.told(3).values()) == {"added"}
    (notes / "new.md").write_text("# New\n\nWords.\n", encoding="utf-8")
    (notes / "paging.md").rename(notes / "pages.md")
    (notes / "batching.txt").unlink()
    (notes / ".new.md.swp").write_text("an editor's own")
    (notes / "~$open.pptx").write_text("an office program's own")
    (notes / "x.log").write_text("a file without a reader")
    assert watcher.told(4) == {
        "new.md": "added", "pages.md": "renamed", "batching.txt": "removed", "x.log": "skipped",
    }  # fmt: skip
    saved = notes / "new.md.tmp"  # as editors save: beside, then over it
    saved.write_text("# New\n\nOther words.\n", encoding="utf-8")
    saved.replace(notes / "new.md")
    assert watcher.told(1) == {"new.md": "updated"}
    shutil.move(notes, tmp_path / "away")
    (tmp_path / "away/late.md").write_text("# Late\n\nWords.\n", encoding="utf-8")
    shutil.move(tmp_path / "away", notes)
    assert watcher.told(1) == {"late.md": "added"}
    code, out, err = watcher.end(signal.SIGINT)
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        f"Watching {notes}; Ctrl-C ends it. What is there comes first, once the models are loaded.",
        "What was there has been looked at; changes follow.",
        "Stopped watching.",
    ]


@pytest.mark.server
def test_a_watch_goes_through_the_service_that_runs(tmp_path: Path) -> None:
    home, notes = tmp_path / "home", write_notes(tmp_path / "notes")
    command = [sys.executable, "-m", "tests.api.fake_kb", "--home", str(home), "serve", "--port", "0"]
    service = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        _served(home)
        watcher = Watcher(home, notes)
        assert set(watcher.told(3).values()) == {"added"}
        (notes / "new.md").write_text("# New\n\nWords.\n", encoding="utf-8")
        assert watcher.told(1) == {"new.md": "added"}
        assert watcher.end(signal.SIGTERM)[0] == 0
    finally:
        service.terminate()
        service.communicate(timeout=30)


def _served(home: Path) -> None:
    deadline = time.monotonic() + 60
    while not (home / "serve.json").exists():
        assert time.monotonic() < deadline
        os.sched_yield()


def test_a_folder_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such folder"):
        Watch(tmp_path / "nowhere", tmp_path)


def test_a_library_that_is_busy_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_QUIET_MS", 10)
    monkeypatch.setattr(watching, "_RETRY_S", 0.0)
    tries: list[int] = []
    shown: list[str] = []
    noted: list[str] = []

    def sync() -> Iterator[Change]:
        tries.append(1)
        if len(tries) < 3:
            raise LibraryBusy("another command is changing the library")
        yield Change(path="a.md", outcome=Outcome.ADDED)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watching.follow(
            Watch(tmp_path, tmp_path / "home"), sync, lambda change: shown.append(change.path), noted.append
        )
    assert (len(tries), shown, noted) == (3, ["a.md"], ["another command is changing the library (trying again)"])


def test_our_own_writing_and_files_of_editors_bring_no_moment(tmp_path: Path) -> None:
    watch = Watch(tmp_path, tmp_path / "team.kb")
    matters = {
        name: watch.matters(tmp_path / name)
        for name in ("team.kb/catalog.db", ".git/index", "a.md~", "#a.md#", "a.md.part", "sub/.x.md")
    }
    assert set(matters.values()) == {False}
    assert all(watch.matters(tmp_path / name) for name in ("a.md", "sub", ".kbignore", "sub/talk.yaml", "docs_0.33.0"))


def test_news_is_told_once() -> None:
    shown: list[str] = []
    news = News(lambda change: shown.append(f"{change.path} {change.outcome.value}"))
    passed = Change(path="x.py", outcome=Outcome.SKIPPED, error="no reader")
    for change in (passed, passed, Change(path="a.md", outcome=Outcome.UNCHANGED)):
        news.tell(change)
    failed = Change(path="a.md", outcome=Outcome.FAILED, error="empty")
    for change in (failed, failed, Change(path="a.md", outcome=Outcome.UPDATED), failed):
        news.tell(change)
    assert shown == ["x.py skipped", "a.md failed", "a.md updated", "a.md failed"]


def moments(watch: Watch, monkeypatch: pytest.MonkeyPatch, events: list[set[tuple[int, str]]]) -> list[int]:
    """After how many events each moment comes."""
    seen: list[int] = []

    def watched(*_: object, **__: object) -> Iterator[set[tuple[int, str]]]:
        for number, event in enumerate(events):
            seen.append(number)
            yield event
        raise KeyboardInterrupt

    monkeypatch.setattr("watchfiles.watch", watched)
    came: list[int] = []
    with suppress(KeyboardInterrupt):
        came.extend(len(seen) - 1 for _ in watch.moments())
    return came


def test_a_file_that_is_being_written_waits_until_it_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = {(2, str(tmp_path / "talk.mp4"))}
    other = {(2, str(tmp_path / ".talk.swp"))}
    quiet: set[tuple[int, str]] = set()
    watch = Watch(tmp_path, tmp_path / "home")
    assert moments(watch, monkeypatch, [quiet, quiet, written, written, written, quiet, quiet, other, quiet]) == [0, 5]


def test_a_file_that_is_written_for_ever_does_not_keep_the_others_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_PATIENCE", -1.0)
    written = {(2, str(tmp_path / "log.md"))}
    assert moments(Watch(tmp_path, tmp_path / "home"), monkeypatch, [set(), written, written]) == [0, 1, 2]
