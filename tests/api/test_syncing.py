"""`kb sync`: a library made equal to a folder."""

from __future__ import annotations

import pydoc
from pathlib import Path

import pytest

from api.models import Models
from api.service import Service
from index.embed_cache import CachedEmbedder
from ingest.discover import vanished
from ingest.load import load
from kb.errors import NotFound
from kb.settings import Settings
from kb.types import Kind, Outcome, Query, Status
from tests.api.conftest import open_fake
from tests.fakes import FakeEmbedder, FakeTranscriber
from tests.ingest.pdf_writer import Sheet, text, write_pdf


def outcomes(changes: object) -> dict[str, str]:
    return {Path(change.path).name: change.outcome.value for change in changes}  # type: ignore[attr-defined]


@pytest.fixture
def synced(service: Service, notes: Path) -> Service:
    assert set(outcomes(service.sync(notes)).values()) == {"added"}
    return service


def test_a_file_under_another_name_is_renamed_without_a_model(
    synced: Service, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {entry.source.title: entry for entry in synced.sources()}
    hits = synced.search(Query(text="block table"))
    (notes / "deep").mkdir()
    (notes / "paging.md").rename(notes / "deep/paged attention.md")
    monkeypatch.setattr("api.batch.load", lambda *_: pytest.fail("a renamed file was read again"))
    (change,) = [one for one in synced.sync(notes) if one.outcome is not Outcome.UNCHANGED]
    assert change.outcome is Outcome.RENAMED
    assert change.previous == str(notes / "paging.md")
    after = {entry.source.title: entry for entry in synced.sources()}
    assert before.keys() == after.keys()
    moved = after["Paged attention"]
    assert moved.source.id == change.source_id != before["Paged attention"].source.id
    assert moved.source.uri.endswith("/deep/paged%20attention.md")
    assert (moved.segments, moved.chunks) == (before["Paged attention"].segments, before["Paged attention"].chunks)
    again = synced.search(Query(text="block table"))
    assert [hit.quote for hit in again] == [hit.quote for hit in hits]
    assert again[0].source.id == moved.source.id
    assert outcomes(synced.sync(notes)) == {
        "paged attention.md": "unchanged", "前缀缓存.md": "unchanged", "batching.txt": "unchanged",
    }  # fmt: skip


def test_a_name_that_is_the_title_goes_with_the_file_and_no_vector_is_made_anew(
    settings: Settings, notes: Path, tmp_path: Path
) -> None:
    counted = FakeEmbedder()
    remembered = CachedEmbedder(counted, tmp_path / "embeddings.db")
    with open_fake(settings, Models(settings, embedder=remembered, transcriber=FakeTranscriber())) as service:
        list(service.sync(notes))
        made = counted.calls
        (notes / "batching.txt").rename(notes / "continuous batching.txt")
        assert outcomes(service.sync(notes))["continuous batching.txt"] == "renamed"
        assert "continuous batching" in {entry.source.title for entry in service.sources()}
        assert counted.calls == made


def test_a_renamed_deck_keeps_the_pictures_of_its_pages(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "decks"
    folder.mkdir()
    write_pdf(folder / "a.pdf", [Sheet(text(72, 700, "Paged attention")), Sheet(text(72, 700, "Block tables"))])
    list(service.sync(folder))
    before = service.page_image("a.pdf", 2).read_bytes()
    (folder / "a.pdf").rename(folder / "b.pdf")
    assert outcomes(service.sync(folder)) == {"b.pdf": "renamed"}
    assert service.page_image("b.pdf", 2).read_bytes() == before


def test_a_renamed_folder_is_its_files_renamed(synced: Service, notes: Path) -> None:
    (notes / "a/b").mkdir(parents=True)
    (notes / "paging.md").rename(notes / "a/b/paging.md")
    list(synced.sync(notes))
    (notes / "a").rename(notes / "c")
    assert outcomes(synced.sync(notes))["paging.md"] == "renamed"
    assert len(synced.sources()) == 3


def test_a_copy_is_a_source_of_its_own_and_a_changed_file_is_read(synced: Service, notes: Path) -> None:
    (notes / "copy.md").write_bytes((notes / "paging.md").read_bytes())
    assert outcomes(synced.sync(notes))["copy.md"] == "added"
    before = (notes / "paging.md").read_text("utf-8")
    (notes / "paging.md").unlink()
    (notes / "new.md").write_text(before + "\nOne more line.\n", encoding="utf-8")
    told = outcomes(synced.sync(notes))
    assert (told["new.md"], told["paging.md"]) == ("added", "removed")


def test_two_gone_files_of_one_content_follow_one_each(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "twins"
    folder.mkdir()
    for name in ("a.md", "b.md"):
        (folder / name).write_text("# Same\n\nThe same words.\n", encoding="utf-8")
    list(service.sync(folder))
    (folder / "a.md").rename(folder / "c.md")
    (folder / "b.md").rename(folder / "d.md")
    assert outcomes(service.sync(folder)) == {"c.md": "renamed", "d.md": "renamed"}
    assert {Path(entry.source.uri).name for entry in service.sources()} == {"c.md", "d.md"}


def test_a_renamed_talk_keeps_its_sources_together(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "talks"
    (folder / "one").mkdir(parents=True)
    (folder / "one/talk.yaml").write_text("title: A talk\n", encoding="utf-8")
    (folder / "one/notes.md").write_text("# Notes\n\nWords of the talk.\n", encoding="utf-8")
    list(service.sync(folder))
    (folder / "one").rename(folder / "two")
    assert outcomes(service.sync(folder)) == {"notes.md": "renamed"}
    (talk,) = service.talks()
    assert len(talk.sources) == 1


def test_what_a_kbignore_lists_later_is_removed(synced: Service, notes: Path) -> None:
    (notes / ".kbignore").write_text("batch*\n!paging.md\n", encoding="utf-8")
    told = {(Path(change.path).name, change.outcome.value) for change in synced.sync(notes)}
    assert {("batching.txt", "skipped"), ("batching.txt", "removed"), ("paging.md", "unchanged")} <= told
    assert (notes / "batching.txt").exists()
    assert {entry.source.title for entry in synced.sources()} == {"Paged attention", "前缀缓存"}


def test_p47_a_copy_beside_a_decomposed_name_is_no_renaming(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "nfd"
    (folder / "re\u0301sume\u0301").mkdir(parents=True)
    (folder / "re\u0301sume\u0301/cafe\u0301.md").write_text("# Café\n\nOne source.\n", encoding="utf-8")
    list(service.sync(folder))
    (folder / "a.md").write_bytes((folder / "re\u0301sume\u0301/cafe\u0301.md").read_bytes())
    assert outcomes(service.sync(folder)) == {"a.md": "added", "cafe\u0301.md": "unchanged"}


def test_p47_two_files_of_one_name_in_two_forms_are_told(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "both"
    folder.mkdir()
    (folder / "cafe\u0301.md").write_text("# Café\n\nOne.\n", encoding="utf-8")
    (folder / "caf\u00e9.md").write_text("# Café\n\nAnother.\n", encoding="utf-8")
    for first in ("added", "unchanged"):
        changes = list(service.sync(folder))
        assert sorted(change.outcome for change in changes) == sorted([first, "failed"])
        assert "Rename one" in next(change.error or "" for change in changes if change.outcome is Outcome.FAILED)


def test_part2_26_after_an_edit_the_old_fact_is_not_found(synced: Service, notes: Path) -> None:
    path = notes / "paging.md"
    path.write_text(path.read_text("utf-8").replace("16 tokens", "32 tokens"), encoding="utf-8")
    assert outcomes(synced.sync(notes))["paging.md"] == "updated"
    found = " ".join(hit.chunk.text for hit in synced.search(Query(text="blocks of tokens", limit=20)))
    assert "32 tokens" in found
    assert "16 tokens" not in found


def test_an_included_file_that_changed_is_read_again(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "guide.md").write_text('# Guide\n\n--8<-- "run.sh"\n', encoding="utf-8")
    (folder / "run.sh").write_text("vllm serve --old\n", encoding="utf-8")
    list(service.sync(folder))
    (folder / "run.sh").write_text("vllm serve --new\n", encoding="utf-8")
    assert outcomes(service.sync(folder))["guide.md"] == "updated"
    assert "--new" in service.search(Query(text="vllm serve"))[0].chunk.text


def test_a_catalogue_and_its_original_are_one_hit_that_names_its_twin(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    locale = folder / "locale/zh_CN/LC_MESSAGES"
    locale.mkdir(parents=True)
    english = (
        "Prefix caching lets requests that share a prefix reuse the same blocks of the key value cache.",
        "A block is freed when no request uses it any more and another one needs the room.",
    )
    chinese = (
        "前缀缓存让共享前缀的请求复用同样的键值缓存块。",
        "当没有请求再使用某个块并且另一个请求需要空间时，该块被释放。",
    )
    (folder / "caching.md").write_text("# Prefix caching\n\n" + "\n\n".join(english) + "\n", encoding="utf-8")
    entries = [
        f'#: ../../caching.md:{n}\nmsgid "{a}"\nmsgstr "{b}"\n'
        for n, (a, b) in enumerate(zip(english, chinese, strict=True))
    ]
    header = 'msgid ""\nmsgstr ""\n"Language: zh_CN\\n"\n\n'
    (locale / "caching.po").write_text(header + "\n".join(entries), encoding="utf-8")
    list(service.sync(folder))
    ids = {str(entry.source.lang): entry.source.id for entry in service.sources()}
    assert {entry.source.kind for entry in service.sources()} == {Kind.NOTE}
    for question, lang, other in (("reuse blocks of the cache", "en", "zh"), ("缓存 块 cache", "zh", "en")):
        hit, *rest = service.search(Query(text=question))
        assert (hit.source.id, hit.twins) == (ids[lang], (ids[other],))
        assert rest == []


def test_a_vanished_mount_removes_nothing(synced: Service, notes: Path) -> None:
    for path in notes.iterdir():
        path.unlink()
    with pytest.raises(NotFound, match="empty"):
        list(synced.sync(notes))
    assert len(synced.sources()) == 3


def test_a_rename_outlives_the_service(settings: Settings, notes: Path) -> None:
    with open_fake(settings) as service:
        list(service.sync(notes))
        (notes / "paging.md").rename(notes / "other.md")
        list(service.sync(notes))
    with open_fake(settings) as service:
        assert set(outcomes(service.sync(notes)).values()) == {"unchanged"}
        assert service.search(Query(text="block table"))[0].source.uri.endswith("other.md")


def test_a_folder_that_goes_while_it_is_synced_loses_nothing(synced: Service, notes: Path) -> None:
    changes = synced.sync(notes)
    next(changes)
    notes.rename(notes.with_name("unmounted"))
    with pytest.raises(NotFound, match="no such folder"):
        list(changes)
    assert len(synced.sources()) == 3


@pytest.mark.parametrize("stage", ["api.batch.source_of", "api.batch.load"])
def test_a_folder_that_goes_and_comes_back_tells_of_no_failure(
    synced: Service, notes: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    (notes / "zebra.md").write_text("# Zebra\n\nWords.\n", encoding="utf-8")
    real, away = pydoc.locate(stage), notes.with_name("away")
    went: list[Path] = []

    def interrupted(path: Path, *more: object) -> object:
        if path.name != "zebra.md" or went:
            return real(path, *more)  # type: ignore[operator]
        went.append(notes.rename(away))
        try:
            return real(path, *more)  # type: ignore[operator]
        finally:
            away.rename(notes)

    monkeypatch.setattr(stage, interrupted)
    told = outcomes(synced.sync(notes))
    assert went
    assert (told.pop("zebra.md"), set(told.values())) == ("added", {"unchanged"})


def test_a_folder_that_is_gone_while_removals_are_looked_for_removes_nothing(
    synced: Service, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[bool] = []

    def looked(path: Path, error: BaseException | None) -> bool:
        looks.append(not path.exists())
        return vanished(path, error)

    monkeypatch.setattr("api.batch.vanished", looked)
    changes = synced.sync(notes)
    next(changes)
    away = notes.rename(notes.with_name("away"))
    with pytest.raises(NotFound, match="no such folder"):
        list(changes)
    assert looks == [True, True]
    away.rename(notes)
    assert set(outcomes(synced.sync(notes)).values()) == {"unchanged"}
    assert {entry.status for entry in synced.sources()} == {Status.READY}


def test_a_new_file_that_goes_while_it_is_read_leaves_nothing(
    service: Service, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(path: Path, reading: object) -> object:
        path.unlink()
        return load(path, reading)  # type: ignore[arg-type]

    monkeypatch.setattr("api.batch.load", gone)
    assert list(service.add([*notes.iterdir()][:1])) != [], "a name that was given is told"
    assert list(service.add([notes])) == []
    assert service.sources() == []


def test_a_file_that_goes_while_its_folder_is_synced_is_no_failure(synced: Service, notes: Path) -> None:
    (notes / "zebra.md").write_text("# Zebra\n\nWords.\n", encoding="utf-8")
    changes = synced.sync(notes)
    first = next(changes)
    (notes / "zebra.md").unlink()
    assert "zebra.md" not in outcomes([first, *changes])
