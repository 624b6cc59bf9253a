from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from kb.files import path_of, write_whole


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    target = tmp_path / "笔记.json"
    write_whole(target, "旧")
    write_whole(target, "新\n", mode=0o600)
    assert target.read_text("utf-8") == "新\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [target]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.json"
    write_whole(target, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_uri_gives_its_path_back(tmp_path: Path) -> None:
    path = tmp_path / "a b#c?%.md"
    assert path_of(path.as_uri()) == path


def test_nobody_may_read_what_the_umask_keeps_from_them(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_whole(tmp_path / "a.json", "{}")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o600
