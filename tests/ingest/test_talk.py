"""A folder with a `talk.yaml` is a talk."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.talk import talk_id, talk_of
from kb.errors import UnreadableSource
from kb.text import slug
from kb.types import Talk

FULL = """# the May meet-up
title: "Paged attention: step by step"
date: 2026-05-12
speakers: [Ann Li, 王伟]
version: 0.20
url: https://example.org/watch?v=1
language: zh-CN
"""


def talk(tmp_path: Path, content: str | bytes, name: str = "talk.srt") -> Talk | None:
    (tmp_path / "talk.yaml").write_bytes(content.encode() if isinstance(content, str) else content)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("x", encoding="utf-8")
    return talk_of(tmp_path / name)


@pytest.mark.parametrize("content", [FULL, FULL.replace("\n", "\r\n"), FULL.encode("utf-8-sig"), FULL.encode("utf-16")])
def test_all_fields(tmp_path: Path, content: str | bytes) -> None:
    assert talk(tmp_path, content) == Talk(
        id="paged-attention-step-by-step",
        title="Paged attention: step by step",
        date=date(2026, 5, 12),
        speakers=("Ann Li", "王伟"),
        version="0.20",  # not the number 0.2
        url="https://example.org/watch?v=1",
        lang="zh",
    )


def test_a_title_is_enough_and_empty_fields_are_no_fields(tmp_path: Path) -> None:
    assert talk(tmp_path, "title: 推理系统\nurl:\ndate: ~\nspeakers: Ann\n") == Talk(
        id="推理系统", title="推理系统", speakers=("Ann",)
    )


def test_folders_inside_belong_to_the_talk_and_others_do_not(tmp_path: Path) -> None:
    assert talk(tmp_path / "", FULL, "slides/deck.pdf") is not None
    assert talk_of(tmp_path.parent / "note.md") is None


def test_media_names_what_belongs_to_the_talk(tmp_path: Path) -> None:
    assert talk(tmp_path, "title: T\nmedia: [talk.srt]\n")
    (tmp_path / "note.md").write_text("x", encoding="utf-8")
    assert talk_of(tmp_path / "note.md") is None


@pytest.mark.parametrize("tag", ["zh", "zh-CN", "zh_Hans", "ZH"])
def test_a_language_is_told_by_any_tag(tmp_path: Path, tag: str) -> None:
    found = talk(tmp_path, f"title: T\nlanguage: {tag}\n")
    assert found is not None
    assert found.lang == "zh"


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("title: [broken\n", 2, "YAML"),
        ("title: T\n\ttab: x\n", 2, "YAML"),
        ("just text\n", None, "no list of fields"),
        ("- title\n", None, "no list of fields"),
        ("", None, "no list of fields"),
        ("date: 2026-05-12\n", None, "title: a talk needs one"),
        ("title: T\nspeeker: Ann\n", 2, "speeker: no such field; there are title, date"),
        ("title: T\ndate: May\n", 2, "date"),
        ("title: T\nlanguage: tlh\n", 2, "zh or en"),
        ("title: T\nurl: javascript:alert(1)\n", 2, "https"),
        ("title: T\nurl: //example.org\n", 2, "https"),
        ("title: T\nspeakers: {a: b}\n", 2, "speakers"),
        ("title: T\n\ntitle: U\n", 3, "second time"),
        ("title: T\nmedia: [../secret.md]\n", 2, "outside"),
        ("title: T\nmedia: [/etc/passwd]\n", 2, "outside"),
        ("title: T\nmedia: [gone.mp4]\n", None, "gone.mp4"),
        ('title: T\nmedia: ["a\\0b.mp4"]\n', 2, "outside"),
        ("title: '!?'\n", 1, "no letter"),
        ("title: " + "[" * 3000, None, "YAML"),
        ("? [a]\n: b\ntitle: T\n", 1, "no such field"),
        ("title: !!python/object/apply:os.system [ls]\n", 1, "title"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, content: str, line: int | None, reason: str) -> None:
    with pytest.raises(UnreadableSource) as caught:
        talk(tmp_path, content)
    assert reason in caught.value.what
    assert caught.value.where == f"{tmp_path / 'talk.yaml'}" + (f" line {line}" if line else "")


# --- names of talks -------------------------------------------------------------------------------------------------


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_an_id_is_a_slug_that_names_a_folder(title: str) -> None:
    named = talk_id(title)
    assert len(named.encode()) <= 80
    assert slug(named) == named
    assert named == slug(title) or len(slug(title).encode()) > 80


def test_long_titles_that_begin_alike_keep_their_own_ids(tmp_path: Path) -> None:
    first, second = (talk(tmp_path, f"title: {'推理系统的内存管理' * 20}{part}\n") for part in ("上", "下"))
    assert first is not None
    assert second is not None
    assert first.id != second.id
    assert first.id.startswith("推理系统的内存管理推理系统")
    (tmp_path / first.id).mkdir()
