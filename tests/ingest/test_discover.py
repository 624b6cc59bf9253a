"""Walking folders: the same order everywhere, nothing twice, nothing left out without a word."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ingest.discover import discover, is_ignored
from ingest.identity import source_of
from kb.errors import UnreadableSource
from kb.types import Dropped


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text", encoding="utf-8")


def found(*paths: Path, under: Path) -> list[str]:
    return [path.relative_to(under).as_posix() for path in discover(paths) if isinstance(path, Path)]


def left_out(*paths: Path) -> dict[str, str]:
    return {item.what: item.reason for item in discover(paths) if isinstance(item, Dropped)}


def test_files_come_in_the_order_of_their_names_folders_among_them(tmp_path: Path) -> None:
    write(tmp_path, "z.md", "b/2.md", "b/10.txt", "a.srt", "B.MD", "é.md", "中.pdf")
    assert found(tmp_path, under=tmp_path) == ["B.MD", "a.srt", "b/10.txt", "b/2.md", "z.md", "é.md", "中.pdf"]


def test_other_files_are_counted_with_their_reason(tmp_path: Path) -> None:
    write(tmp_path, "LICENSE", "manifest.jsonl", "x.yaml", "note.md", ".hidden.md", ".git/config.txt")
    assert found(tmp_path, under=tmp_path) == ["note.md"]
    assert left_out(tmp_path) == {
        "LICENSE": "no reader for a file without a suffix",
        "manifest.jsonl": "no reader for .jsonl",
        "x.yaml": "no reader for .yaml",
        ".hidden.md": "hidden",
        ".git": "hidden",
    }


def test_talk_yaml_and_kbignore_are_not_sources_and_not_missing(tmp_path: Path) -> None:
    write(tmp_path, "talk.yaml", ".kbignore", "talk.srt")
    assert found(tmp_path, under=tmp_path) == ["talk.srt"]
    assert not left_out(tmp_path)


def test_kbignore_speaks_the_language_of_gitignore(tmp_path: Path) -> None:
    write(tmp_path, "drafts/a.md", "keep/draft.md", "keep/final.md", "keep/deep/draft.md", "sub/x.txt", "sub/y.txt")
    (tmp_path / ".kbignore").write_text("# not ready\ndrafts/\ndraft.md\n", encoding="utf-8")
    (tmp_path / "keep/deep/.kbignore").write_text("!draft.md\n", encoding="utf-8")
    (tmp_path / "sub/.kbignore").write_text("/x.*\n", encoding="utf-8")
    assert found(tmp_path, under=tmp_path) == ["keep/deep/draft.md", "keep/final.md", "sub/y.txt"]
    assert left_out(tmp_path)["drafts"] == "listed in .kbignore"


def test_links_that_loop_lead_away_or_lead_nowhere(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, "a/note.md")
    write(tmp_path, "secret.md")
    (root / "a/back").symlink_to(root)
    (root / "b").symlink_to(root / "a")
    (root / "self.md").symlink_to(root / "self.md")
    (root / "gone.md").symlink_to(tmp_path / "nothing.md")
    (root / "out.md").symlink_to(tmp_path / "secret.md")
    (root / "z.md").symlink_to(root / "a/note.md")
    assert found(root, under=root) == ["a/note.md"]
    reasons = left_out(root)
    assert reasons["back"] == reasons["b"] == "the same folder as one already read"
    assert reasons["self.md"] == reasons["gone.md"] == "a link that leads nowhere"
    assert reasons["out.md"].startswith("a link that leads out of the folder")
    assert reasons["z.md"] == "the same file as one already read"


def test_a_file_given_twice_comes_once(tmp_path: Path) -> None:
    write(tmp_path, "a/note.md")
    assert found(tmp_path / "a/note.md", tmp_path, tmp_path / "a/../a/note.md", under=tmp_path) == ["a/note.md"]


def test_a_path_that_someone_named_is_left_for_load_to_judge(tmp_path: Path) -> None:
    write(tmp_path, "LICENSE")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    named = [tmp_path / "LICENSE", tmp_path / "nothing.md", tmp_path / "self"]
    assert list(discover(named)) == named


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert left_out(tmp_path) == {"pipe.md": "neither a file nor a folder"}


def test_control_characters_in_a_name_are_shown_as_escapes(tmp_path: Path) -> None:
    write(tmp_path, "a\x1b[31m\n.xyz", "b\x1b.md")
    (item,) = [item for item in discover([tmp_path]) if isinstance(item, Dropped)]
    assert item.what == "a\\x1b[31m\\n.xyz"
    assert item.where.isprintable()
    assert found(tmp_path, under=tmp_path) == ["b\x1b.md"]


@contextmanager
def without_privileges() -> Iterator[Path]:
    """A folder of someone whom permissions bind; root reads everything."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        user = os.geteuid()
        if user == 0:
            os.chown(name, 65534, 65534)
            os.seteuid(65534)
        try:
            yield Path(name)
        finally:
            os.seteuid(user)


@pytest.mark.parametrize("mode", [0o000, 0o444, 0o111], ids=["closed", "listed only", "entered only"])
def test_a_folder_without_permission_is_an_error_and_the_rest_is_read(mode: int) -> None:
    with without_privileges() as folder:
        write(folder, "closed/a.md", "open/b.md")
        (folder / "closed").chmod(mode)
        items = list(discover([folder]))
        with pytest.raises(UnreadableSource, match=r"closed: no right to read it.*chmod"):
            source_of(folder / "closed")
        (folder / "closed").chmod(0o755)
    assert items == [folder / "closed", folder / "open/b.md"]


def test_a_name_below_a_closed_folder_is_left_to_load() -> None:
    with without_privileges() as folder:
        write(folder, "closed/a.md")
        (folder / "closed").chmod(0)
        items = list(discover([folder / "closed/a.md", folder / ("x" * 300 + ".md")]))
        (folder / "closed").chmod(0o755)
    assert items == [folder / "closed/a.md", folder / ("x" * 300 + ".md")]


def test_what_is_wrong_with_a_kbignore_stops_nothing(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md", "sub/c.md")
    (tmp_path / ".kbignore").write_text("b.md\n!\n", encoding="utf-8")
    (tmp_path / "sub/.kbignore").mkdir()
    assert found(tmp_path, under=tmp_path) == ["a.md", "sub/c.md"]
    assert left_out(tmp_path)[".kbignore"] == "line 2 is no pattern and leaves nothing out"


def test_a_folder_whose_kbignore_is_closed_is_left_out() -> None:
    with without_privileges() as folder:
        write(folder, "private/a.md", "private/.kbignore", "b.md")
        (folder / "private/.kbignore").chmod(0)
        assert found(folder, under=folder) == ["b.md"]
        assert "Permission denied" in left_out(folder)["private"]


@pytest.mark.corpus
def test_the_corpus(corpus: Path) -> None:
    items = list(discover([corpus]))
    assert [item.what for item in items if isinstance(item, Dropped)] == ["manifest.jsonl"]
    assert len(items) > 80


def test_a_range_that_runs_backwards_is_no_pattern(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    (tmp_path / ".kbignore").write_text("[z-a]\n", encoding="utf-8")
    found = list(discover([tmp_path]))
    assert tmp_path / "a.md" in found
    assert any(isinstance(item, Dropped) and "line 1 is no pattern" in item.reason for item in found)


def test_a_library_is_not_read_as_sources(tmp_path: Path) -> None:
    write(tmp_path, "note.md", "team.kb/articles/t/index.zh.md", "team.kb/catalog.db", "team.kb/writer.lock")
    write(tmp_path, "plain/catalog.db", "plain/a.md")
    assert found(tmp_path, under=tmp_path) == ["note.md", "plain/a.md"]
    assert "library" in left_out(tmp_path)["team.kb"]
    assert list(discover([tmp_path / "team.kb"])) != []
    assert not any(isinstance(item, Path) for item in discover([tmp_path / "team.kb"]))


def test_marks_of_office_programs_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, "~$deck.pptx", "deck.md")
    assert found(tmp_path, under=tmp_path) == ["deck.md"]
    assert "office program" in left_out(tmp_path)["~$deck.pptx"]


def test_whether_a_path_is_ignored_now(tmp_path: Path) -> None:
    write(tmp_path, "drafts/a.md", "keep/draft.md", "keep/final.md", "keep/deep/draft.md")
    (tmp_path / ".kbignore").write_text("drafts/\ndraft.md\n", encoding="utf-8")
    (tmp_path / "keep/deep/.kbignore").write_text("!draft.md\n", encoding="utf-8")
    names = ("drafts/a.md", "keep/draft.md", "keep/final.md", "keep/deep/draft.md", "drafts/gone.md")
    assert [is_ignored(tmp_path / name, tmp_path) for name in names] == [True, True, False, False, True]
