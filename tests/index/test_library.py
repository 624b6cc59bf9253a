from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from index.catalog import Catalog
from index.client import QdrantStore
from index.library import Library, Vectors
from index.points import LEXICAL
from index.serving import RunningService, forget_service, record_service, running_service
from index.store import Found, IndexRecipe, Point, Request
from kb.errors import IndexMismatch, LibraryBusy, NotFound, UnreadableSource
from kb.types import Chunk, Filters, Outcome, Progress, Status
from tests.index.corpus import RECIPE, document, embed, lexical, source, split
from tests.index.mortal import NEW, OLD, REBUILT, open_library, put, rebuild_and_die, update_and_die

SOURCE = document(OLD).source
EVERY_LINE = Request(LEXICAL, lexical("line of the block pool"), Filters(), 500)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library(tmp_path, QdrantStore(":memory:", collection="kb"), Catalog.in_folder(tmp_path), RECIPE) as opened:
        yield opened


def texts(library: Library) -> list[str]:
    """What a reader finds, in the order of the source."""
    found = library.search(LEXICAL, lexical("block pool"), Filters(), 500)
    return [hit.chunk.text for hit in sorted(found, key=lambda hit: hit.chunk.order)]


def state(library: Library) -> object:
    """All that a library holds, but for times."""
    files = {
        str(path.relative_to(library.home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((library.home / "sources").rglob("*"))
        if path.is_file()
    }
    return files, library.catalog.entries(), library.store.revisions(), library.store.count(), texts(library)


# --- adding, updating, removing ---------------------------------------------------------------------------------


def test_a_source_is_pending_then_ready_then_current(library: Library) -> None:
    doc = document(OLD)
    library.begin(doc.source)
    assert library.catalog.entry(SOURCE.id).status is Status.PENDING
    assert not library.is_current(SOURCE.id, SOURCE.sha256, "lines/1")
    shares: list[float] = []
    assert library.replace(doc, split(doc), embed, recipe="lines/1", on_progress=shares.append) is Outcome.ADDED
    entry = library.catalog.entry(SOURCE.id)
    assert (entry.status, entry.segments, entry.chunks, entry.error) == (Status.READY, 130, 130, None)
    assert library.is_current(SOURCE.id, SOURCE.sha256, "lines/1")
    assert not library.is_current(SOURCE.id, SOURCE.sha256, "lines/2")
    assert not library.is_current(SOURCE.id, "0" * 64, "lines/1")
    assert library.document(SOURCE.id) == doc
    assert texts(library) == OLD.splitlines()
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_p31_adding_twice_gives_the_same_ids_and_count(library: Library) -> None:
    put(library, OLD)
    before = state(library)
    put(library, OLD)
    assert state(library) == before


def test_p31_of_a_shortened_file_the_old_chunks_are_gone(library: Library) -> None:
    put(library, OLD)
    gone = [chunk.id for chunk in split(document(OLD))][1:]
    put(library, OLD.splitlines()[0])
    assert texts(library) == OLD.splitlines()[:1]
    assert library.get(gone) == []
    assert library.store.count() == 1


def test_embedding_comes_in_batches_and_once_a_chunk(library: Library) -> None:
    sizes: list[int] = []

    def counting(chunks: Sequence[Chunk]) -> list[Vectors]:
        sizes.append(len(chunks))
        return embed(chunks)

    put(library, OLD, counting)
    assert sizes == [64, 64, 2]


def test_a_failed_update_keeps_the_old_version(library: Library) -> None:
    put(library, OLD)
    library.begin(document(NEW).source)
    library.fail(document(NEW).source, "it broke")
    entry = library.catalog.entry(SOURCE.id)
    assert (entry.status, entry.error, entry.chunks) == (Status.FAILED, "it broke", 130)
    assert entry.source.sha256 == SOURCE.sha256
    assert texts(library) == OLD.splitlines()
    assert not library.is_current(SOURCE.id, document(NEW).source.sha256, "lines/1")
    put(library, NEW)
    assert library.catalog.entry(SOURCE.id).error is None
    assert texts(library) == NEW.splitlines()


def test_an_embedder_that_fails_changes_nothing(library: Library) -> None:
    put(library, OLD)
    before = texts(library), library.document(SOURCE.id), library.store.count()

    def broken(chunks: Sequence[Chunk]) -> list[Vectors]:
        raise IndexMismatch("another dimension")

    with pytest.raises(IndexMismatch):
        put(library, NEW, broken)
    assert (texts(library), library.document(SOURCE.id), library.store.count()) == before


def test_a_document_without_chunks_is_an_error(library: Library) -> None:
    with pytest.raises(UnreadableSource, match="no text"):
        library.replace(document(OLD), [], embed, recipe="lines/1")


@pytest.mark.parametrize("status", list(Status))
def test_p47_a_source_can_be_removed_in_any_state(library: Library, status: Status) -> None:
    if status is Status.READY:
        put(library, OLD)
    else:
        library.begin(SOURCE)
    if status is Status.FAILED:
        library.fail(SOURCE, "it broke")
    assert library.remove(SOURCE.id).status is status
    assert library.catalog.entries() == ()
    assert library.store.count() == 0
    assert list((library.home / "sources").iterdir()) == []
    with pytest.raises(NotFound):
        library.document(SOURCE.id)
    with pytest.raises(NotFound):
        library.remove(SOURCE.id)


def test_page_images_belong_to_their_version(library: Library) -> None:
    assert library.page_image(SOURCE.id, 1) is None
    put(library, OLD)
    image = library.page_image(SOURCE.id, 1)
    assert image is not None
    assert image.read_text() == OLD
    put(library, NEW)
    image = library.page_image(SOURCE.id, 1)
    assert image is not None
    assert image.read_text() == NEW
    assert library.page_image(SOURCE.id, 2) is None


def test_a_pending_source_has_no_document_yet(library: Library) -> None:
    library.begin(SOURCE)
    with pytest.raises(NotFound, match="pending"):
        library.document(SOURCE.id)


@pytest.mark.parametrize("damage", [lambda path: path.write_text("{"), lambda path: path.unlink()])
def test_a_damaged_document_is_a_typed_error_and_adding_mends_it(
    library: Library, damage: Callable[[Path], object]
) -> None:
    put(library, OLD)
    (path,) = (library.home / "sources").rglob("document.json")
    damage(path)
    with pytest.raises(UnreadableSource, match=r"document\.json: the stored document is damaged .* add the original"):
        library.document(SOURCE.id)
    put(library, OLD)
    assert library.document(SOURCE.id) == document(OLD)


def test_an_id_cannot_lead_out_of_the_folder(library: Library) -> None:
    with pytest.raises(ValueError, match="no source id"):
        library.begin(SOURCE.model_copy(update={"id": "../catalog.db"}))


# --- readers and writers at once --------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["edge", ":memory:"])
def test_a_reader_sees_the_old_or_the_new_while_a_source_is_switched(tmp_path: Path, engine: str) -> None:
    old, new = (text.splitlines()[:20] for text in (OLD, NEW))
    store = QdrantStore(":memory:", collection="kb") if engine == ":memory:" else open_library(tmp_path).store
    done = threading.Event()

    def read(library: Library) -> int:
        seen = 0
        while not done.is_set():
            first, second = library.search_batch([EVERY_LINE, EVERY_LINE._replace(limit=100)])
            assert {hit.chunk.text for hit in first} == {hit.chunk.text for hit in second}
            assert texts(library) in (old, new)
            assert library.document(SOURCE.id).segments[0].text in (old[0], new[0])
            seen += 1
        return seen

    with Library(tmp_path, store, Catalog.in_folder(tmp_path), RECIPE) as library, ThreadPoolExecutor(2) as pool:
        put(library, "\n".join(old))
        readers = [pool.submit(read, library) for _ in range(2)]
        try:
            for turn in range(12):
                put(library, "\n".join(old if turn % 2 else new))
        finally:
            done.set()
        assert all(reader.result() for reader in readers)


def test_a_switch_between_snapshot_and_search_is_asked_again(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    put(library, OLD)
    search = library.store.search_batch
    switches = [lambda: put(library, NEW)]

    def switch_first(requests: Sequence[Request]) -> list[list[Found]]:
        while switches:
            switches.pop()()
        return search(requests)

    monkeypatch.setattr(library.store, "search_batch", switch_first)
    both = library.search_batch([EVERY_LINE, EVERY_LINE])
    assert [sorted(hit.chunk.text for hit in hits) for hits in both] == [sorted(NEW.splitlines())] * 2


def test_points_of_a_version_that_is_being_written_take_no_places(library: Library) -> None:
    put(library, OLD)
    unfinished = document(NEW)
    library.store.upsert(
        [
            Point(chunk, unfinished.source, "unfinished", vectors.dense, vectors.lexical)
            for chunk, vectors in zip(split(unfinished), embed(split(unfinished)), strict=True)
        ]
    )
    for limit in (1, 10, 100, 130, 300):
        found = library.search(LEXICAL, lexical("new line of the block pool"), Filters(), limit)
        assert len(found) == min(limit, 130)
        assert all(hit.chunk.text.startswith("old") for hit in found)
        both = library.search_batch([EVERY_LINE._replace(limit=limit), EVERY_LINE._replace(limit=1)])
        assert [len(hits) for hits in both] == [min(limit, 130), 1]
    assert library.get([chunk.id for chunk in split(unfinished)]) == []


# --- killed at any moment ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def processes() -> multiprocessing.context.ForkServerContext:
    """Children of a process without threads, which has the modules loaded already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.index.mortal", "qdrant_edge", "sqlalchemy.dialects.sqlite", "index.schema"])
    return context


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed library that holds the old version."""
    home = tmp_path_factory.mktemp("template") / "library"
    with open_library(home) as library:
        put(library, OLD)
    return home


Task = Callable[[Path, int, Path], None]


def copy_sparse(file: str, target: str) -> None:
    """Copy what is written, not the holes: the engine reserves 300 MB of files that are mostly empty."""
    with Path(file).open("rb") as content, Path(target).open("wb") as copy:
        size = os.fstat(content.fileno()).st_size
        copy.truncate(size)
        end = 0
        while end < size:
            try:
                start = os.lseek(content.fileno(), end, os.SEEK_DATA)
            except OSError:  # nothing but a hole is left
                break
            end = os.lseek(content.fileno(), start, os.SEEK_HOLE)
            os.pwrite(copy.fileno(), os.pread(content.fileno(), end - start, start), start)


def die(
    processes: multiprocessing.context.ForkServerContext, task: Task, template: Path, folder: Path, die_at: int
) -> tuple[Path, int]:
    """The home after `task` was killed at a moment, and the moment it came to."""
    home = folder / f"library-{die_at}"
    shutil.copytree(template, home, copy_function=copy_sparse)
    child = processes.Process(target=task, args=(home, die_at, folder / "now"))
    child.start()
    child.join()
    assert child.exitcode == (-signal.SIGKILL if die_at else 0)
    child.close()
    return home, int((folder / "now").read_text())


def test_killed_at_any_moment_a_reader_sees_old_or_new_and_the_next_run_finishes(
    processes: multiprocessing.context.ForkServerContext, template: Path, tmp_path: Path
) -> None:
    home, moments = die(processes, update_and_die, template, tmp_path, 0)
    with open_library(home) as library:
        undisturbed = state(library)
        assert texts(library) == NEW.splitlines()
    assert moments > 10
    seen = set()
    for moment in range(1, moments + 1):
        home, _ = die(processes, update_and_die, template, tmp_path, moment)
        with open_library(home) as library:
            found = "\n".join(texts(library))
            image = library.page_image(SOURCE.id, 1)
            assert image is not None
            assert found in (OLD, NEW)
            assert [segment.text for segment in library.document(SOURCE.id).segments] == found.splitlines()
            assert image.read_text() == found
            assert library.catalog.entry(SOURCE.id).chunks == library.store.count() == len(found.splitlines())
            current = library.is_current(SOURCE.id, document(NEW).source.sha256, "lines/1")
            assert current is (found == NEW)
            put(library, NEW)
            assert state(library) == undisturbed
        seen.add(found)
        shutil.rmtree(home)
    assert seen == {OLD, NEW}


def test_a_rebuild_killed_at_any_moment_leaves_a_whole_index(
    processes: multiprocessing.context.ForkServerContext, template: Path, tmp_path: Path
) -> None:
    _, moments = die(processes, rebuild_and_die, template, tmp_path, 0)
    seen = set()
    for moment in range(1, moments + 1):
        home, _ = die(processes, rebuild_and_die, template, tmp_path, moment)
        library = open_library(home)
        try:
            library.open()
        except IndexMismatch:
            library = open_library(home, REBUILT)
            library.open()
        assert texts(library) == OLD.splitlines()
        assert library.store.count() == 130
        seen.add(library.recipe.fingerprint)
        library.close()
        shutil.rmtree(home)
    assert seen == {RECIPE.fingerprint, REBUILT.fingerprint}


def test_an_interrupted_first_run_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    with open_library(tmp_path) as library:
        pages = library.begin(SOURCE)
        (pages / "0001.webp").write_text("half")
    with open_library(tmp_path) as library:
        entry = library.catalog.entry(SOURCE.id)
        assert (entry.status, entry.error) == (Status.FAILED, "the work on it was interrupted. Add it again")
        assert list((tmp_path / "sources").iterdir()) == []


def test_a_lost_index_is_noticed(tmp_path: Path) -> None:
    with open_library(tmp_path) as library:
        put(library, OLD)
        assert library.is_current(SOURCE.id, SOURCE.sha256, "lines/1")
    shutil.rmtree(tmp_path / "index")
    with open_library(tmp_path) as library:
        assert not library.is_current(SOURCE.id, SOURCE.sha256, "lines/1")
        put(library, OLD)
        assert library.is_current(SOURCE.id, SOURCE.sha256, "lines/1")
        assert texts(library) == OLD.splitlines()


# --- rebuilding -------------------------------------------------------------------------------------------------


def test_p29_rebuilding_by_another_recipe_reads_artefacts_only(tmp_path: Path) -> None:
    with open_library(tmp_path) as library:
        put(library, OLD)
        other = document("a second note of the block pool", "second.md")
        library.begin(other.source)
        library.replace(other, split(other), embed, recipe="lines/1")
    library = open_library(tmp_path, REBUILT)
    with pytest.raises(IndexMismatch, match="kb rebuild"):
        library.open()
    progress: list[Progress] = []
    changes = library.rebuild(lambda doc: split(doc)[:100], embed, on_progress=progress.append)
    assert sorted((change.outcome, change.chunks) for change in changes) == [
        (Outcome.UPDATED, 1),
        (Outcome.UPDATED, 100),
    ]
    assert [(step.done, step.total) for step in progress] == [(0, 2), (1, 2)]
    assert len(texts(library)) == 101
    assert library.catalog.entry(SOURCE.id).chunks == 100
    library.close()
    with open_library(tmp_path, REBUILT) as library:
        assert len(texts(library)) == 101
        assert library.is_current(SOURCE.id, SOURCE.sha256, "lines/1")


def test_a_rebuild_names_the_source_whose_artefact_is_damaged_and_goes_on(library: Library) -> None:
    put(library, OLD)
    other = document("a second note of the block pool", "second.md")
    library.begin(other.source)
    library.replace(other, split(other), embed, recipe="lines/1")
    next((library.home / "sources" / SOURCE.id).rglob("document.json")).write_text("{")
    changes = {change.source_id: change.outcome for change in library.rebuild(split, embed)}
    assert changes == {SOURCE.id: Outcome.FAILED, other.source.id: Outcome.UPDATED}
    assert library.catalog.entry(SOURCE.id).status is Status.FAILED
    assert not library.is_current(SOURCE.id, SOURCE.sha256, "lines/1")
    assert texts(library) == ["a second note of the block pool"]


def test_opening_by_another_recipe_writes_nothing(tmp_path: Path) -> None:
    with open_library(tmp_path) as library:
        put(library, OLD)
    before = sorted(path for path in tmp_path.rglob("*") if path.is_file() and "catalog" not in path.name)
    for other in (REBUILT, IndexRecipe("fake/1", {"bigrams": 64})):
        with pytest.raises(IndexMismatch), open_library(tmp_path, other):
            pass
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file() and "catalog" not in path.name) == before
    with open_library(tmp_path) as library:
        assert texts(library) == OLD.splitlines()


def test_p27_a_second_owner_is_told(tmp_path: Path) -> None:
    told = pytest.raises(LibraryBusy, match="another process has this library open")
    with open_library(tmp_path), told, open_library(tmp_path):
        pass


# --- the service that owns a library ----------------------------------------------------------------------------


def test_the_running_service_is_found(tmp_path: Path) -> None:
    home = tmp_path / "library"
    assert running_service(home) is None
    record_service(home, "http://127.0.0.1:8765", "secret")
    assert running_service(home) == RunningService(url="http://127.0.0.1:8765", token="secret", pid=os.getpid())
    assert (home / "serve.json").stat().st_mode & 0o077 == 0
    forget_service(home)
    assert list(home.iterdir()) == []
    forget_service(home)


def test_a_service_that_died_is_not_found(tmp_path: Path) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    for pid in (int(gone.stdout), 0, -1, 2**70):
        stale = RunningService(url="http://127.0.0.1:1", token=None, pid=pid)
        (tmp_path / "serve.json").write_text(stale.model_dump_json())
        assert running_service(tmp_path) is None
    (tmp_path / "serve.json").write_text("{")
    assert running_service(tmp_path) is None


def test_the_record_of_another_process_stays(tmp_path: Path) -> None:
    other = RunningService(url="http://127.0.0.1:1", token=None, pid=os.getppid())
    (tmp_path / "serve.json").write_text(other.model_dump_json())
    forget_service(tmp_path)
    assert running_service(tmp_path) == other


def test_another_source_is_not_touched(library: Library) -> None:
    other = document("a second note of the block pool", "second.md")
    library.begin(other.source)
    library.replace(other, split(other), embed, recipe="lines/1")
    put(library, OLD)
    put(library, NEW)
    library.remove(SOURCE.id)
    assert texts(library) == ["a second note of the block pool"]
    assert library.catalog.find("second.md").source == source("second.md", text="a second note of the block pool")


@pytest.mark.parametrize(
    "url",
    ["http://203.0.113.9:80", "http://evil.example", "", "http://[::1", "http://127.0.0.1:999999", "ftp://127.0.0.1"],
)
def test_a_record_that_leads_to_another_machine_is_no_service(tmp_path: Path, url: str) -> None:
    record_service(tmp_path, url, "secret")
    assert running_service(tmp_path) is None


def test_a_record_that_cannot_be_read_is_no_service(tmp_path: Path) -> None:
    (tmp_path / "serve.json").mkdir()
    assert running_service(tmp_path) is None
