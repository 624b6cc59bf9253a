from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from api.models import Models
from api.service import Service
from kb.errors import BadRequest, IndexMismatch, LibraryBusy, NotFound
from kb.settings import Settings
from kb.types import Outcome, Query
from tests.api.conftest import open_fake
from tests.fakes import FakeEmbedder, FakeTranscriber
from tests.ingest.pdf_writer import Sheet, text, write_pdf


def outcomes(changes: object) -> dict[str, str]:
    return {Path(change.path).name: change.outcome.value for change in changes}  # type: ignore[attr-defined]


def test_unchanged_files_cost_no_model_call(filled: Service, models: Models, notes: Path) -> None:
    calls = models.embedder.calls  # type: ignore[attr-defined]
    assert set(outcomes(filled.add([notes])).values()) == {"unchanged"}
    assert models.embedder.calls == calls  # type: ignore[attr-defined]


def test_a_changed_file_replaces_what_it_said(filled: Service, notes: Path) -> None:
    (notes / "batching.txt").write_text("Speculative decoding drafts several tokens at once.\n", encoding="utf-8")
    assert outcomes(filled.add([notes]))["batching.txt"] == "updated"
    assert "Speculative" in filled.show("batching.txt").segments[0].text
    assert len(filled.sources()) == 3


def test_one_bad_file_does_not_stop_the_others(service: Service, notes: Path) -> None:
    (notes / "empty.md").write_bytes(b"")
    (notes / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (notes / "film.xyz").write_bytes(b"?")
    told = outcomes(service.add([notes, notes / "missing.md"]))
    assert told == {
        "paging.md": "added", "前缀缓存.md": "added", "batching.txt": "added",
        "empty.md": "failed", "broken.pdf": "failed", "missing.md": "failed", "film.xyz": "skipped",
    }  # fmt: skip
    failed = {entry.source.title: entry.error for entry in service.sources() if entry.status == "failed"}
    assert set(failed) == {"empty.md", "broken.pdf"}
    assert all(failed.values())
    with pytest.raises(NotFound, match="empty"):
        service.show("empty.md")


def test_a_file_that_failed_is_tried_again(service: Service, notes: Path) -> None:
    (notes / "late.md").write_bytes(b"")
    assert outcomes(service.add([notes]))["late.md"] == "failed"
    assert outcomes(service.add([notes]))["late.md"] == "failed"
    (notes / "late.md").write_text("# Late\n\nIt has arrived.\n", encoding="utf-8")
    assert outcomes(service.add([notes]))["late.md"] == "added"


def test_a_name_that_is_no_utf8_is_read_and_can_be_told(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / os.fsdecode("你好".encode("gb18030") + b".md")).write_text("# Hi\n\nSixteen tokens.\n", encoding="utf-8")
    (folder / os.fsdecode(b"\xff.md")).write_bytes(b"")
    changes = list(service.add([folder]))
    assert sorted(change.outcome for change in changes) == ["added", "failed"]
    assert all(change.model_dump_json() for change in changes)
    assert outcomes(service.sync(folder)) == {"\ufffd\ufffd\ufffd.md": "unchanged", "\ufffd.md": "failed"}


def test_a_deck_is_read_again_when_the_machine_can_draw_it(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deck = write_pdf(tmp_path / "deck.pdf", [Sheet(text(72, 700, "A deck about paged attention"))])
    assert outcomes(service.add([deck])) == {"deck.pdf": "added"}
    assert outcomes(service.add([deck])) == {"deck.pdf": "unchanged"}
    monkeypatch.setattr("ingest.office.slides.means", lambda _settings: "a new program")
    assert outcomes(service.add([deck])) == {"deck.pdf": "updated"}


def test_a_fault_of_ours_is_one_failed_file(
    service: Service, models: Models, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = Models.split

    def faulty(self: Models, document: object) -> object:
        if document.source.title == "Paged attention":  # type: ignore[attr-defined]
            raise ZeroDivisionError
        return split(self, document)  # type: ignore[arg-type]

    monkeypatch.setattr(Models, "split", faulty)
    told = outcomes(service.add([notes]))
    assert told == {"paging.md": "failed", "前缀缓存.md": "added", "batching.txt": "added"}


def test_sync_removes_what_has_vanished_below_its_folder_only(filled: Service, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.md"
    other.write_text("# Other\n\nElsewhere.\n", encoding="utf-8")
    list(filled.add([other]))
    other.unlink()
    (notes / "paging.md").unlink()
    (notes / "more.md").write_text("# More\n\nNew here.\n", encoding="utf-8")
    told = outcomes(filled.sync(notes))
    assert told == {"paging.md": "removed", "more.md": "added", "前缀缓存.md": "unchanged", "batching.txt": "unchanged"}
    assert "Other" in {entry.source.title for entry in filled.sources()}


def test_sync_removes_a_file_that_became_a_folder(filled: Service, notes: Path) -> None:
    (notes / "paging.md").unlink()
    (notes / "paging.md").mkdir()
    assert outcomes(filled.sync(notes))["paging.md"] == "removed"


def test_sync_of_a_folder_that_is_not_there_removes_nothing(filled: Service, notes: Path) -> None:
    notes.rename(notes.with_name("unmounted"))
    with pytest.raises(NotFound):
        list(filled.sync(notes))
    assert len(filled.sources()) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_sync_of_an_emptied_folder_removes_nothing(filled: Service, notes: Path) -> None:
    for path in notes.iterdir():
        path.unlink()
    with pytest.raises(NotFound, match="empty"):
        list(filled.sync(notes))
    assert len(filled.sources()) == 3


def test_sync_keeps_what_it_may_not_see(filled: Service, notes: Path) -> None:
    notes.chmod(0)
    try:
        assert "removed" not in outcomes(filled.sync(notes)).values()
    finally:
        notes.chmod(0o755)


def test_a_talk_yaml_that_cannot_be_read_stops_only_its_folder(
    service: Service, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "sub").mkdir()
    (notes / "sub/talk.yaml").write_text("title: T\n", encoding="utf-8")
    (notes / "sub/a.md").write_text("# A\n\nText.\n", encoding="utf-8")
    read = Path.read_bytes

    def closed(path: Path) -> bytes:
        if path.name == "talk.yaml":
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", closed)
    told = list(service.add([notes]))
    assert [change.outcome for change in told].count(Outcome.ADDED) == 3
    (failed,) = (change for change in told if change.outcome == Outcome.FAILED)
    assert "talk.yaml: it cannot be read (Permission denied)" in str(failed.error)


def test_an_index_that_was_lost_is_no_empty_result(tmp_path: Path, notes: Path) -> None:
    settings = Settings(home=tmp_path / "lost")
    with open_fake(settings) as service:
        list(service.add([notes]))
    shutil.rmtree(tmp_path / "lost/index")
    with open_fake(settings) as service:
        with pytest.raises(IndexMismatch, match=r"lacks 3 of the sources.*kb rebuild"):
            service.search(Query(text="block size"))
        list(service.rebuild())
        assert service.search(Query(text="block size"))


def test_talks_are_remembered(service: Service, notes: Path) -> None:
    (notes / "talk.yaml").write_text("title: Why paging\ndate: 2026-05-12\nspeakers: [Ann Li]\n", encoding="utf-8")
    list(service.add([notes]))
    (talk,) = service.talks()
    assert (talk.title, talk.speakers, len(talk.sources)) == ("Why paging", ("Ann Li",), 3)
    assert service.facets().talks == (talk,)


def test_a_changed_talk_reads_its_files_again(service: Service, notes: Path) -> None:
    list(service.add([notes]))
    (notes / "talk.yaml").write_text("title: Why paging\n", encoding="utf-8")
    assert set(outcomes(service.add([notes])).values()) == {"updated"}


def talk_folder(folder: Path, title: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "talk.yaml").write_text(f"title: {title}\n", encoding="utf-8")
    (folder / "note.md").write_text(f"# {folder.name}\n\nSaid in {folder.name}.\n", encoding="utf-8")
    return folder


def test_two_talks_of_one_title_do_not_become_one(service: Service, tmp_path: Path) -> None:
    may, june = talk_folder(tmp_path / "may", "Office hours"), talk_folder(tmp_path / "june", "Office hours!")
    first, second = service.add([may, june])
    assert (first.outcome, second.outcome) == ("added", "failed")
    assert str(may) in str(second.error)
    assert str(june) in str(second.error)
    assert "another title" in str(second.error)
    (again,) = service.add([june])  # another batch
    assert again.error == second.error
    assert [len(talk.sources) for talk in service.talks()] == [1]
    assert [change.outcome for change in service.add([may])] == ["unchanged"]
    talk_folder(june, "Office hours, June")
    assert [change.outcome for change in service.add([june])] == ["added"]
    assert [(talk.id, len(talk.sources)) for talk in service.talks()] == [("office-hours", 1), ("office-hours-june", 1)]


def test_a_title_is_free_again_when_the_first_folder_moved_or_gave_it_up(service: Service, tmp_path: Path) -> None:
    may = talk_folder(tmp_path / "may", "Office hours")
    list(service.add([may]))
    moved = may.rename(tmp_path / "moved")
    assert [change.outcome for change in service.add([moved])] == ["added"]
    talk_folder(moved, "Office hours in May")  # and the library has not been told yet
    june = talk_folder(tmp_path / "june", "Office hours")
    assert [change.outcome for change in service.add([june])] == ["added"]


def test_a_talk_reached_through_a_link_is_the_same_talk(service: Service, tmp_path: Path) -> None:
    may = talk_folder(tmp_path / "may", "Office hours")
    list(service.add([may]))
    (tmp_path / "link").symlink_to(may)
    assert [change.outcome for change in service.add([tmp_path / "link" / "note.md"])] == ["unchanged"]


def test_two_batches_exclude_each_other(filled: Service, notes: Path) -> None:
    running = filled.add([notes])
    next(iter(running))
    with pytest.raises(LibraryBusy, match="another command"):
        list(filled.add([notes]))
    assert filled.search(Query(text="block size"))
    running.close()  # type: ignore[attr-defined]
    assert list(filled.add([notes]))


def test_searches_run_beside_a_batch(filled: Service, notes: Path) -> None:
    errors: list[Exception] = []

    def search() -> None:
        try:
            for _ in range(20):
                assert filled.search(Query(text="block size"))
        except Exception as error:  # noqa: BLE001 - a thread has nobody else to tell
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(5):
        (notes / "paging.md").write_text(f"# Paged attention\n\nblock size {number}\n", encoding="utf-8")
        list(filled.add([notes]))
    for thread in threads:
        thread.join()
    assert errors == []


def test_another_recipe_is_refused_until_rebuilt(settings: Settings, notes: Path) -> None:
    with open_fake(settings) as first:
        list(first.add([notes]))

    class Other(FakeEmbedder):
        fingerprint = "another/1"

    models = Models(settings, embedder=Other(), transcriber=FakeTranscriber())
    with open_fake(settings, models) as other:
        with pytest.raises(IndexMismatch, match="rebuild"):
            other.search(Query(text="block size"))
        with pytest.raises(IndexMismatch):
            list(other.add([notes]))
        assert len(other.sources()) == 3
        rebuilt = list(other.rebuild())
        assert {Path(change.path) for change in rebuilt} == set(notes.iterdir())
        assert other.search(Query(text="block size"))


@pytest.mark.parametrize("text", ["", "  \n", "x" * 100_000])
def test_questions_that_cannot_be(filled: Service, text: str) -> None:
    with pytest.raises(BadRequest):
        filled.search(Query(text=text))
    with pytest.raises(BadRequest):
        filled.ask(text)


@pytest.mark.parametrize("name", ["nowhere", "", "../../etc/passwd", "\x00", "%", "*" * 5000])
def test_names_that_name_nothing(filled: Service, name: str) -> None:
    with pytest.raises((NotFound, BadRequest)):
        filled.show(name)
    with pytest.raises((NotFound, BadRequest)):
        filled.remove(name)
    assert len(filled.sources()) == 3


def test_removing_forgets(filled: Service) -> None:
    assert filled.remove("前缀缓存").outcome is Outcome.REMOVED
    assert "前缀缓存" not in {hit.source.title for hit in filled.search(Query(text="前缀缓存"))}


def test_p47_a_decomposed_name_is_the_same_source(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "nfd"
    folder.mkdir()
    (folder / "cafe\u0301.md").write_text("# Café\n\nOne source.\n", encoding="utf-8")
    list(service.sync(folder))
    assert outcomes(service.sync(folder)) == {"cafe\u0301.md": "unchanged"}
    assert len(service.sources()) == 1
