from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from index.catalog import Catalog
from kb.errors import BadRequest, IndexMismatch, NotFound, StorageFailed
from kb.types import Article, Citation, Document, Dropped, Gap, Kind, Mark, Status, Talk
from tests.index.corpus import document, source

DOCUMENT = document("one\ntwo").model_copy(update={"dropped": (Dropped(what="a", where="b", reason="c"),), "pages": 3})
SOURCE = DOCUMENT.source


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    opened = Catalog.in_folder(tmp_path)
    yield opened
    opened.close()


def publish(catalog: Catalog, doc: Document = DOCUMENT, revision: str = "r1") -> None:
    catalog.publish(doc, revision=revision, recipe="reader/1", chunks=2)


def test_a_published_source_comes_back_whole(catalog: Catalog, tmp_path: Path) -> None:
    publish(catalog)
    entry = catalog.entry(SOURCE.id)
    assert (entry.source, entry.status, entry.segments, entry.chunks) == (SOURCE, Status.READY, 2, 2)
    assert (entry.pages, entry.dropped, entry.error) == (3, DOCUMENT.dropped, None)
    other = Catalog.in_folder(tmp_path)
    assert other.entries() == (entry,)
    assert other.live(SOURCE.id) == "r1"
    other.close()


def test_it_is_in_wal_mode(catalog: Catalog, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "catalog.db") as raw:
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    raw.close()


def test_entries_come_by_title(catalog: Catalog) -> None:
    for name in ("b.md", "A.md", "c.md"):
        catalog.begin(source(name))
    assert [entry.source.title for entry in catalog.entries()] == ["A", "b", "c"]


def test_p44_a_pending_source_is_not_live_and_a_failed_update_keeps_what_was(catalog: Catalog) -> None:
    catalog.begin(SOURCE)
    assert catalog.entry(SOURCE.id).status is Status.PENDING
    assert catalog.live(SOURCE.id) is None
    publish(catalog)
    newer = document("three").source
    for change in (catalog.begin, lambda source: catalog.fail(source, "broken")):
        change(newer)
        assert catalog.live(SOURCE.id) == "r1"
        assert catalog.entry(SOURCE.id).source == SOURCE
        assert not catalog.is_current(SOURCE.id, SOURCE.sha256, "reader/1")
    assert catalog.entry(SOURCE.id).error == "broken"


def test_a_first_version_that_fails_tells_of_its_latest_attempt(catalog: Catalog) -> None:
    catalog.begin(SOURCE)
    catalog.fail(document("three").source, "broken")
    assert catalog.entry(SOURCE.id).source == document("three").source


def test_current_means_these_bytes_read_by_this_recipe(catalog: Catalog) -> None:
    assert not catalog.is_current(SOURCE.id, SOURCE.sha256, "reader/1")
    publish(catalog)
    assert catalog.is_current(SOURCE.id, SOURCE.sha256, "reader/1")
    assert not catalog.is_current(SOURCE.id, SOURCE.sha256, "reader/2")
    assert not catalog.is_current(SOURCE.id, "0" * 64, "reader/1")


def test_live_revisions_follow_each_switch_and_each_removal(catalog: Catalog) -> None:
    assert catalog.live_revisions() == {}
    publish(catalog)
    before = catalog.live_revisions()
    publish(catalog, revision="r2")
    assert (before[SOURCE.id], catalog.live(SOURCE.id)) == ("r1", "r2")
    catalog.remove(SOURCE.id)
    assert catalog.live(SOURCE.id) is None
    with pytest.raises(TypeError):
        before["x"] = "y"  # type: ignore[index]


def test_another_process_switches_and_this_one_sees(catalog: Catalog, tmp_path: Path) -> None:
    assert catalog.live(SOURCE.id) is None
    other = Catalog.in_folder(tmp_path)
    publish(other)
    assert catalog.live_revisions(fresh=True) == {SOURCE.id: "r1"}
    other.close()


# --- names ------------------------------------------------------------------------------------------------------

FILES = [
    "notes/kv-cache.md",
    "slides/kv-cache.pdf",
    "notes/专家并行.md",
    "a/moe.md",
    "b/moe.md",
    "nfd/re\u0301sume\u0301.md",
]


def by_name(catalog: Catalog, name: str) -> str:
    return catalog.find(name).source.uri.removeprefix("file:///corpus/")


@pytest.fixture
def filled(catalog: Catalog) -> Catalog:
    for name in FILES:
        catalog.begin(source(name).model_copy(update={"title": f"On {Path(name).name}"}))
    catalog.begin(source("x/titled.md").model_copy(update={"title": "KV cache, explained"}))
    return catalog


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("/corpus/notes/kv-cache.md", "notes/kv-cache.md"),
        ("kv-cache.pdf", "slides/kv-cache.pdf"),
        ("notes/kv-cache.md", "notes/kv-cache.md"),
        ("./notes/kv-cache.md", "notes/kv-cache.md"),
        ("  专家并行.md ", "notes/%E4%B8%93%E5%AE%B6%E5%B9%B6%E8%A1%8C.md"),
        ("a/moe.md", "a/moe.md"),
        ("r\u00e9sum\u00e9.md", "nfd/re%CC%81sume%CC%81.md"),
        ("kv CACHE, explained", "x/titled.md"),
        ("file:///corpus/b/moe.md", "b/moe.md"),
        (source("b/moe.md").id, "b/moe.md"),
        (source("b/moe.md").id[:8].upper(), "b/moe.md"),
    ],
)
def test_a_source_is_found_by_what_a_person_calls_it(filled: Catalog, name: str, uri: str) -> None:
    assert by_name(filled, name) == uri


def test_a_path_is_taken_from_here(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("one", "two"):
        uri = (tmp_path / folder / "same.md").as_uri()
        catalog.begin(source(folder).model_copy(update={"uri": uri}))
    monkeypatch.chdir(tmp_path / "..")
    assert catalog.find(f"{tmp_path.name}/two/same.md").source.title == "two"
    (tmp_path / "one").mkdir()
    monkeypatch.chdir(tmp_path / "one")
    assert catalog.find("same.md").source.title == "one"


def test_an_ambiguous_name_lists_its_candidates(filled: Catalog) -> None:
    with pytest.raises(
        BadRequest, match=r"'moe\.md' may be one of 2 sources: .*/b/moe\.md.*Give more of the name"
    ) as told:
        filled.find("moe.md")
    assert "/corpus/a/moe.md" in str(told.value)


@pytest.mark.parametrize("name", ["kv-cahce.md", "/elsewhere/kv-cache.mdx"])
def test_an_unknown_name_gets_near_names(filled: Catalog, name: str) -> None:
    with pytest.raises(NotFound, match=r"Did you mean .*kv-cache\.md"):
        filled.find(name)


@pytest.mark.parametrize("name", ["zzz", "\0", "%", "../..", "x" * 100_000])
def test_a_name_of_nothing_points_to_the_list(filled: Catalog, name: str) -> None:
    with pytest.raises(NotFound, match=r"kb ls") as told:
        filled.find(name)
    assert len(str(told.value)) < 500


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_is_a_bad_request(filled: Catalog, name: str) -> None:
    with pytest.raises(BadRequest):
        filled.find(name)


# --- talks ------------------------------------------------------------------------------------------------------

TALK = Talk(id="kv-cache-深入", title="KV Cache 深入", speakers=("Ann",), date=date(2026, 3, 1), sources=("ignored",))


def test_a_talk_knows_its_sources_and_goes_with_the_last(catalog: Catalog) -> None:
    catalog.put_talk(TALK)
    parts = [document(name, name) for name in ("talk.srt", "talk.pptx")]
    for part in parts:
        tied = part.source.model_copy(update={"talk": TALK.id})
        publish(catalog, part.model_copy(update={"source": tied}))
    ids = tuple(sorted(part.source.id for part in parts))
    assert catalog.talks() == (TALK.model_copy(update={"sources": ids}),)
    catalog.remove(ids[0])
    assert catalog.find_talk(TALK.id).sources == ids[1:]
    catalog.remove(ids[1])
    assert catalog.talks() == ()


def test_a_talk_is_found_by_id_title_and_start(catalog: Catalog) -> None:
    catalog.put_talk(TALK)
    catalog.put_talk(TALK.model_copy(update={"speakers": ("Bea",)}))
    catalog.put_talk(Talk(id="kv-transfer", title="KV transfer"))
    for name in (TALK.id, "kv cache 深入", "kv-c"):
        assert catalog.find_talk(name).speakers == ("Bea",)
    with pytest.raises(BadRequest, match="2 talks"):
        catalog.find_talk("kv-")
    with pytest.raises(NotFound, match="Did you mean"):
        catalog.find_talk("KV transfers")


# --- articles and gaps ------------------------------------------------------------------------------------------


def test_articles_are_kept_by_slug_and_language(catalog: Catalog) -> None:
    zh = Article(slug="kv", lang="zh", title="键值缓存", talk="t", path="a.md", evidence=3, gaps=0, recipe="r")
    en = zh.model_copy(update={"lang": "en", "title": "KV cache"})
    for article in (zh, en, en.model_copy(update={"curated": True})):
        catalog.put_article(article)
    assert catalog.articles() == (en.model_copy(update={"curated": True}), zh)
    assert catalog.article("kv", "zh") == zh
    with pytest.raises(NotFound, match=r"Did you mean kv \(en\)"):
        catalog.article("kv2", "en")


def gap(question: str, minute: int = 0) -> Gap:
    cited = Citation(
        n=1, evidence_id="e", source_id="s", title="t", kind=Kind.NOTE, locator=Mark(line_start=1, line_end=2),
        quote="q", href="h",
    )  # fmt: skip
    at = datetime(2026, 11, 30, 12, minute, tzinfo=UTC)
    return Gap(question=question, lang="en", reason="nothing near", asked_at=at, nearest=(cited,))


def test_a_refused_question_is_counted_not_repeated(catalog: Catalog) -> None:
    for filed in (gap("What is X?"), gap("Why Y?", 1), gap(" what is x? ", 2), gap("How Z?", 3)):
        catalog.add_gap(filed)
    assert [(found.question, found.times) for found in catalog.gaps()] == [
        (" what is x? ", 2),
        ("How Z?", 1),
        ("Why Y?", 1),
    ]
    assert catalog.gaps()[1] == gap("How Z?", 3)


def test_gaps_are_sorted_by_time_over_time_zones(catalog: Catalog) -> None:
    east = datetime(2026, 11, 30, 20, 30, tzinfo=timezone(timedelta(hours=8)))
    catalog.add_gap(gap("later").model_copy(update={"asked_at": east}))
    catalog.add_gap(gap("earlier", 29))
    assert [found.question for found in catalog.gaps()] == ["later", "earlier"]


# --- the database -----------------------------------------------------------------------------------------------


def test_another_schema_is_refused(tmp_path: Path) -> None:
    Catalog.in_folder(tmp_path).close()
    with sqlite3.connect(tmp_path / "catalog.db") as raw:
        raw.execute("UPDATE meta SET value = 2 WHERE key = 'schema'")
    raw.close()
    with pytest.raises(IndexMismatch, match=r"catalog\.db: the catalog has the schema 2, .* knows 1"):
        Catalog.in_folder(tmp_path)


def test_a_file_that_is_no_database_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_text("no database, " * 100)
    with pytest.raises(StorageFailed, match=r"catalog\.db: the catalog cannot be read .*backup"):
        Catalog.in_folder(tmp_path)


def test_a_folder_with_odd_characters_is_a_folder(tmp_path: Path) -> None:
    home = tmp_path / "a b%20?#库"
    catalog = Catalog.in_folder(home)
    catalog.close()
    assert (home / "catalog.db").is_file()


def test_many_open_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        for catalog in list(pool.map(lambda _: Catalog.in_folder(tmp_path), range(8))):
            catalog.close()


def test_readers_and_writers_from_threads_and_connections(catalog: Catalog, tmp_path: Path) -> None:
    other = Catalog.in_folder(tmp_path)
    done = threading.Event()

    def read() -> int:
        reads = 0
        while not done.is_set():
            for entry in catalog.entries():
                assert (entry.chunks, entry.segments) in ((0, 0), (2, 1))
                assert entry.chunks or entry.status is Status.PENDING
            reads += 1
        return reads

    def write(which: Catalog, worker: int) -> None:
        for n in range(10):
            doc = document(f"text {n}", f"{worker}-{n % 3}.md")
            which.begin(doc.source)
            publish(which, doc, f"{worker}-{n}")
            which.add_gap(gap("the same question"))

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        writers = [pool.submit(write, which, n) for n, which in enumerate((catalog, catalog, other, other))]
        try:
            for writer in writers:
                writer.result()
        finally:
            done.set()
        assert all(reader.result() for reader in readers)
    assert catalog.gaps()[0].times == 40
    assert len(catalog.live_revisions(fresh=True)) == 12
    other.close()


def test_what_hinders_the_catalog_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").mkdir()
    with pytest.raises(StorageFailed, match=r"catalog\.db: the catalog cannot be used .*grant the right"):
        Catalog.in_folder(tmp_path)


def test_damage_that_shows_later_is_told_too(tmp_path: Path) -> None:
    catalog = Catalog.in_folder(tmp_path)
    with sqlite3.connect(tmp_path / "catalog.db") as raw:
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute("UPDATE sqlite_master SET rootpage = 9999 WHERE name = 'gaps'")
    raw.close()
    catalog.close()
    with pytest.raises(StorageFailed, match="backup"):
        Catalog.in_folder(tmp_path).gaps()
