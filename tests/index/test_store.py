"""One contract for every engine: the embedded one, the client's local mode, a server."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.client import QdrantStore
from index.edge import EdgeStore
from index.points import LEXICAL, PAYLOAD_INDEXES
from index.store import IndexRecipe, Request, Sparse, Store
from kb.errors import BadRequest, IndexMismatch, KBError, LibraryBusy, MissingDependency, StorageFailed
from kb.types import Filters, Kind
from tests.index.corpus import EMBEDDER, RECIPE, lexical, point, source
from tests.index.qdrant_server import Server, qdrant_server

LIVE = os.environ.get("KB_TEST_QDRANT_URL")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with qdrant_server() as running:
        yield running


@pytest.fixture(scope="module")
def engines(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Store]]:
    """Opened once, because creating an index takes longer than any test."""
    made: dict[str, Store] = {
        "edge": EdgeStore(tmp_path_factory.mktemp("index")),
        ":memory:": QdrantStore(":memory:", collection="kb-test"),
        "http": QdrantStore(server.url, collection="kb-test"),
    }
    if LIVE:
        made["live"] = QdrantStore(LIVE, collection=f"kb-test-{os.getpid()}")
    for store in made.values():
        store.ensure(RECIPE)
    yield made
    for store in made.values():
        store.close()


@pytest.fixture(params=["edge", ":memory:", "http", "live"])
def store(request: pytest.FixtureRequest, engines: dict[str, Store]) -> Iterator[Store]:
    if request.param not in engines:
        pytest.skip("KB_TEST_QDRANT_URL names no running Qdrant server")
    yield engines[request.param]
    empty(engines[request.param])


def empty(store: Store) -> None:
    for source_id in store.revisions():
        store.delete(source_id)


NOTE = source("kv.md", day=date(2026, 3, 1), version="0.20.0", talk="kv")
DECK = source("kv.pdf", kind=Kind.DECK, day=date(2026, 9, 1), version="0.33.0", talk="kv", lang="zh")
CLIP = source("moe.mp4", kind=Kind.RECORDING, talk="moe")
POINTS = [
    point(NOTE, "the block pool hashes full blocks", 0),
    point(NOTE, "prefix caching reuses blocks of the pool", 1),
    point(DECK, "块池 的 缓存键 block pool", 0, lang="zh"),
    point(DECK, "the pool of the deck", 1),
    point(CLIP, "experts are routed by the gate", 0),
]


def ids(found: object) -> list[str]:
    return [hit.chunk.id for hit in found]  # type: ignore[attr-defined]


def query(text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return EMBEDDER.embed_query(text)


def test_what_was_written_comes_back_whole(store: Store) -> None:
    store.upsert(POINTS)
    found = store.search(LEXICAL, lexical("block pool"), Filters(), 10)
    by_id = {point.chunk.id: point for point in POINTS}
    assert len(found) >= 3
    for hit in found:
        assert (hit.chunk, hit.source, hit.revision) == (
            by_id[hit.chunk.id].chunk,
            by_id[hit.chunk.id].source,
            "r1",
        )
    assert store.count() == 5
    assert store.revisions() == {source.id: {"r1"} for source in (NOTE, DECK, CLIP)}


def test_lexical_scores_follow_the_inverse_document_frequency(store: Store) -> None:
    store.upsert(POINTS)
    rare, common = (store.search(LEXICAL, lexical(word), Filters(), 1)[0].score for word in ("gate", "pool"))
    assert rare > common > 0
    assert store.search(LEXICAL, lexical("nowhere"), Filters(), 5) == []
    assert store.search(LEXICAL, Sparse((), ()), Filters(), 5) == []


def test_dense_scores_are_cosines(store: Store) -> None:
    store.upsert(POINTS)
    best = store.search("bigrams", query(POINTS[4].chunk.full_text), Filters(), 5)
    assert best[0].chunk == POINTS[4].chunk
    assert best[0].score == pytest.approx(1, abs=1e-5)
    expected = sorted(
        (float(np.dot(p.dense["bigrams"], query(POINTS[4].chunk.full_text))) for p in POINTS), reverse=True
    )
    assert [hit.score for hit in best] == pytest.approx(expected, abs=1e-5)


FILTERS = [
    (Filters(kinds=(Kind.DECK,)), {2, 3}),
    (Filters(kinds=(Kind.DECK, Kind.RECORDING)), {2, 3, 4}),
    (Filters(langs=("zh",)), {2}),
    (Filters(talks=("kv",)), {0, 1, 2, 3}),
    (Filters(sources=(NOTE.id, CLIP.id)), {0, 1, 4}),
    (Filters(versions=("0.33.0",)), {2, 3}),
    (Filters(since=date(2026, 3, 1)), {0, 1, 2, 3}),
    (Filters(since=date(2026, 3, 2)), {2, 3}),
    (Filters(until=date(2026, 3, 1)), {0, 1}),
    (Filters(since=date(2026, 3, 1), until=date(2026, 9, 1)), {0, 1, 2, 3}),
    (Filters(talks=("kv",), kinds=(Kind.DECK,), langs=("en",), since=date(2026, 8, 31)), {3}),
    (Filters(talks=("moe",), versions=("0.33.0",)), set()),
    (Filters(talks=("unknown",)), set()),
]


@pytest.mark.parametrize(("filters", "expected"), FILTERS)
def test_p32_filters_hold_on_every_list(store: Store, filters: Filters, expected: set[int]) -> None:
    store.upsert(POINTS)
    wanted = {POINTS[index].chunk.id for index in expected}
    assert set(ids(store.search("bigrams", query("pool"), filters, 10))) == wanted
    every_word = lexical(" ".join(point.chunk.text for point in POINTS))
    assert set(ids(store.search(LEXICAL, every_word, filters, 10))) == wanted


def test_several_lists_are_searched_in_one_go(store: Store) -> None:
    store.upsert(POINTS)
    requests = [
        Request("bigrams", query("block pool"), Filters(langs=("en",)), 2),
        Request(LEXICAL, lexical("pool gate"), Filters(), 10),
        Request(LEXICAL, lexical("nowhere"), Filters(), 3),
        Request("bigrams", query("gate"), Filters(talks=("kv",)), 4),
        Request(LEXICAL, Sparse((), ()), Filters(), 1),
    ]
    assert store.search_batch(requests) == [store.search(*request) for request in requests]
    assert [len(found) for found in store.search_batch(requests)] == [2, 5, 0, 4, 0]
    assert store.search_batch([]) == []


def test_a_search_shows_what_was_written_last(store: Store) -> None:
    store.upsert(POINTS)
    assert store.search(LEXICAL, lexical("gate"), Filters(), 1)[0].source == CLIP
    renamed = CLIP.model_copy(update={"title": "renamed"})
    store.upsert([replace(POINTS[4], source=renamed)])
    assert store.search(LEXICAL, lexical("gate"), Filters(), 1)[0].source == renamed
    store.delete(CLIP.id)
    assert store.search(LEXICAL, lexical("gate"), Filters(), 1) == []


def test_p32_ties_are_broken_by_chunk_id_also_across_the_limit(store: Store) -> None:
    twins = [point(source(f"{n}.md").model_copy(update={"title": "twin"}), "the same text") for n in range(30)]
    store.upsert(twins)
    ordered = sorted(ids(twins))
    for limit in (1, 7, 29, 30, 40):
        assert ids(store.search("bigrams", query("twin the same text"), Filters(), limit)) == ordered[:limit]
        assert ids(store.search(LEXICAL, lexical("same"), Filters(), limit)) == ordered[:limit]


def test_get_keeps_the_order_asked_and_leaves_out_what_is_missing(store: Store) -> None:
    store.upsert(POINTS)
    asked = [POINTS[3].chunk.id, "00000000-0000-0000-0000-000000000000", POINTS[0].chunk.id]
    found = store.get(asked)
    assert ids(found) == [POINTS[3].chunk.id, POINTS[0].chunk.id]
    assert found[0].score == 0
    assert store.get([]) == []


def test_get_of_very_many(store: Store) -> None:
    many = [point(NOTE, f"line {n}", n) for n in range(600)]
    store.upsert(many)
    assert ids(store.get(ids(many)[::-1])) == ids(many)[::-1]


def test_p31_writing_twice_leaves_one_point(store: Store) -> None:
    store.upsert(POINTS)
    store.upsert(POINTS)
    assert store.count() == 5
    store.upsert([])
    assert store.count() == 5


def test_revisions_live_side_by_side_until_one_is_kept(store: Store) -> None:
    newer = [replace(point, revision="r2") for point in POINTS[:1]]
    store.upsert(POINTS)
    store.upsert(newer)
    assert store.revisions()[NOTE.id] == {"r1", "r2"}
    assert [hit.revision for hit in store.get([POINTS[0].chunk.id])] == ["r1", "r2"]
    store.delete(NOTE.id, keep="r2")
    assert store.revisions() == {NOTE.id: {"r2"}, DECK.id: {"r1"}, CLIP.id: {"r1"}}
    store.delete(NOTE.id)
    assert set(store.revisions()) == {DECK.id, CLIP.id}
    store.delete(NOTE.id)
    assert store.count() == 3


def test_odd_ids_and_texts_survive(store: Store) -> None:
    odd = point(NOTE.model_copy(update={"title": '«’\u2028\x00😀 \\ "', "talk": "a talk / ∀"}), "值 \u200b\t'; DROP")
    store.upsert([odd])
    assert store.search(LEXICAL, lexical("DROP"), Filters(talks=("a talk / ∀",)), 1)[0].chunk == odd.chunk


@pytest.mark.parametrize("size", [0, 127, 129])
def test_a_vector_of_another_dimension_is_a_typed_error(store: Store, size: int) -> None:
    wrong = np.ones(size, dtype=np.float32)
    with pytest.raises(IndexMismatch, match=r"takes 128 numbers.*kb rebuild"):
        store.search("bigrams", wrong, Filters(), 3)
    with pytest.raises(IndexMismatch, match="128"):
        store.upsert([POINTS[0], replace(POINTS[1], dense={"bigrams": wrong})])
    assert store.count() == 0


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_vectors_that_cannot_be_compared_are_refused_before_any_write(store: Store, bad: float) -> None:
    vector = query("text").copy()
    vector[3] = bad
    for call in (
        lambda: store.search("bigrams", vector, Filters(), 3),
        lambda: store.search(LEXICAL, Sparse((1,), (bad,)), Filters(), 3),
        lambda: store.search(LEXICAL, Sparse((1, 1), (1.0, 1.0)), Filters(), 3),
        lambda: store.upsert([POINTS[0], replace(POINTS[1], dense={"bigrams": vector})]),
        lambda: store.upsert([POINTS[0], replace(POINTS[1], lexical=Sparse((1,), (bad,)))]),
    ):
        with pytest.raises(BadRequest):
            call()
    assert store.count() == 0


def test_unknown_and_missing_lists_are_typed_errors(store: Store) -> None:
    with pytest.raises(IndexMismatch, match="is not in this index"):
        store.search("use", query("x"), Filters(), 3)
    with pytest.raises(IndexMismatch, match="bigrams"):
        store.upsert([replace(POINTS[0], dense={})])


OTHERS = [
    IndexRecipe("other/1", RECIPE.dense),
    IndexRecipe(RECIPE.fingerprint, {"bigrams": 64}),
    IndexRecipe(RECIPE.fingerprint, {**RECIPE.dense, "use": 16}),
]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("filled", [False, True])
def test_p29_another_recipe_is_refused_before_any_write(store: Store, other: IndexRecipe, filled: bool) -> None:
    store.upsert(POINTS if filled else [])
    with pytest.raises(IndexMismatch, match=r"the index was built with .*, the settings ask for .*kb rebuild"):
        store.ensure(other)
    store.ensure(RECIPE)
    assert store.count() == (5 if filled else 0)


def test_p29_a_rebuilt_index_is_switched_whole(store: Store) -> None:
    store.upsert(POINTS)
    other = IndexRecipe("other/1", {"wide": 2})
    wide = replace(POINTS[0], dense={"wide": np.array([1, 0], dtype=np.float32)})
    store.rebuild(other, lambda write: write([wide]))
    assert store.count() == 1
    assert ids(store.search("wide", np.array([1, 0], dtype=np.float32), Filters(), 5)) == [POINTS[0].chunk.id]
    store.ensure(other)
    with pytest.raises(IndexMismatch):
        store.ensure(RECIPE)
    store.rebuild(RECIPE, lambda write: None)


def test_a_rebuild_that_fails_leaves_the_old_index(store: Store) -> None:
    store.upsert(POINTS)

    def fill(write: object) -> None:
        raise KeyError("no disk")

    with pytest.raises(KeyError):
        store.rebuild(IndexRecipe("other/1", {"wide": 2}), fill)
    store.ensure(RECIPE)
    assert store.count() == 5


def test_searches_run_while_a_writer_writes(store: Store) -> None:
    store.upsert(POINTS)
    done = threading.Event()

    def read() -> int:
        reads = 0
        while not done.is_set() or not reads:
            assert store.search("bigrams", query("pool"), Filters(talks=("moe",)), 3)[0].chunk == POINTS[4].chunk
            assert store.search(LEXICAL, lexical("gate"), Filters(), 3)
            reads += 1
        return reads

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            for batch in range(20):
                store.upsert([point(NOTE, f"filler {batch} {n}", 100 + n) for n in range(20)])
        finally:
            done.set()
        assert all(reader.result() for reader in readers)
    assert store.count() == 405


TERMS = ["block", "pool", "cache", "key", "gate", "缓存", "块", "expert", "route", "hash"]
WORDS = st.lists(st.sampled_from(TERMS), min_size=1, max_size=6)
FILTER = st.sampled_from([filters for filters, _ in FILTERS] + [Filters()])


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Store]]:
    """The two embedded engines over the same 200 chunks of random words."""
    dice = random.Random(7)
    both = EdgeStore(tmp_path_factory.mktemp("index")), QdrantStore(":memory:", collection="twin")
    points = [
        point(dice.choice([NOTE, DECK, CLIP]), " ".join(dice.choices(TERMS, k=dice.randint(1, 12))), n)
        for n in range(200)
    ]
    for store in both:
        store.ensure(RECIPE)
        store.upsert(points)
    yield both
    for store in both:
        store.close()


@settings(deadline=None)
@given(words=WORDS, filters=FILTER, limit=st.integers(1, 30))
def test_p28_the_engines_give_the_same_answers(
    twins: tuple[Store, Store], words: list[str], filters: Filters, limit: int
) -> None:
    text = " ".join(words)
    for name, vector in (("bigrams", query(text)), (LEXICAL, lexical(text))):
        edge, memory = (store.search(name, vector, filters, limit) for store in twins)
        assert [hit.score for hit in edge] == pytest.approx([hit.score for hit in memory], abs=2e-5)
        if len({round(hit.score, 3) for hit in edge}) == len(edge):
            assert ids(edge) == ids(memory)


def test_scores_after_many_replacements_are_those_of_a_fresh_index(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    store.ensure(RECIPE)
    store.upsert(POINTS)
    fresh = [hit.score for hit in store.search(LEXICAL, lexical("gate pool"), Filters(), 5)]
    for version in range(5):
        store.upsert([replace(POINTS[4], revision=f"v{version}")])
        store.delete(CLIP.id, keep="r1")
    store.optimize()
    assert [hit.score for hit in store.search(LEXICAL, lexical("gate pool"), Filters(), 5)] == fresh
    store.close()


# --- the embedded engine ----------------------------------------------------------------------------------------


def test_the_embedded_index_is_there_after_reopening(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    store.ensure(RECIPE)
    store.upsert(POINTS)
    store.optimize()
    store.close()
    store = EdgeStore(tmp_path)
    store.ensure(RECIPE)
    assert store.count() == 5
    store.close()


def test_p29_the_embedded_recipe_is_checked_on_opening(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    store.ensure(RECIPE)
    store.close()
    for other in OTHERS:
        with pytest.raises(IndexMismatch, match="kb rebuild"):
            EdgeStore(tmp_path).ensure(other)
    (recipe,) = tmp_path.glob("*/recipe.json")
    recipe.write_text("{")
    with pytest.raises(IndexMismatch, match=r"no recipe that can be read.*kb rebuild"):
        EdgeStore(tmp_path).ensure(RECIPE)


def test_p30_the_embedded_index_has_its_payload_indexes(tmp_path: Path) -> None:
    for _ in range(2):
        store = EdgeStore(tmp_path)
        store.ensure(RECIPE)
        assert store._open is not None
        assert set(store._open.shard.info().payload_schema) == set(PAYLOAD_INDEXES)
        store.close()


def test_p27_a_second_owner_of_the_folder_gets_a_clear_message(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path / "index")
    store.ensure(RECIPE)
    with pytest.raises(LibraryBusy, match=r"another process has this library open\. Wait"):
        EdgeStore(tmp_path / "index").ensure(RECIPE)
    code = f"""
from pathlib import Path
from index.edge import EdgeStore
from tests.index.corpus import RECIPE
EdgeStore(Path({str(tmp_path / "index")!r})).ensure(RECIPE)
"""
    second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "LibraryBusy" in second.stderr
    store.close()
    store.ensure(RECIPE)
    store.close()


def test_a_damaged_index_names_the_remedy(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    store.ensure(RECIPE)
    store.upsert(POINTS)
    store.close()
    (config,) = tmp_path.glob("*/shard/edge_config.json")
    config.write_text("{")
    with pytest.raises(IndexMismatch, match="kb rebuild"):
        store.ensure(RECIPE)
    store.rebuild(RECIPE, lambda write: write(POINTS))
    assert store.count() == 5
    store.close()


def test_searches_go_on_while_the_embedded_index_is_rebuilt(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    store.ensure(RECIPE)
    store.upsert(POINTS)
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            assert len(store.search(LEXICAL, lexical("gate"), Filters(), 3)) == 1

    with ThreadPoolExecutor(2) as pool:
        reader = pool.submit(read)
        try:
            store.rebuild(RECIPE, lambda write: write(POINTS))
        finally:
            done.set()
        reader.result()
    store.close()
    store.ensure(RECIPE)
    assert len([entry for entry in tmp_path.iterdir() if entry.is_dir()]) == 1
    store.close()


# --- a server ---------------------------------------------------------------------------------------------------


def test_the_requests_to_a_server(server: Server) -> None:
    store = QdrantStore(server.url, collection="shapes")
    server.requests.clear()
    store.ensure(RECIPE)
    created = next(body for method, path, body in server.requests if method == "PUT" and path.count("/") == 2)
    assert created["vectors"] == {"bigrams": {"size": 128, "distance": "Cosine"}}
    assert created["sparse_vectors"] == {"lexical": {"modifier": "idf"}}
    assert created["metadata"] == {"recipe": {"fingerprint": "fake/1", "dense": {"bigrams": 128}}}
    server.requests.clear()
    store.search(LEXICAL, Sparse((7,), (0.5,)), Filters(talks=("kv",), since=date(2026, 1, 1)), 3)
    ((method, path, body),) = server.requests
    assert (method, path) == ("POST", "/collections/shapes/points/query/batch")
    (body,) = body["searches"]
    assert body["query"] in ({"indices": [7], "values": [0.5]}, {"nearest": {"indices": [7], "values": [0.5]}})
    assert body["using"] == "lexical"
    assert body["with_payload"] is False
    assert body["filter"]["must"] == [
        {"key": "talk", "match": {"any": ["kv"]}},
        {"key": "date", "range": {"gte": 739617.0}},
    ]
    store.close()


def test_p30_a_server_gets_every_payload_index_also_after_an_interruption(server: Server) -> None:
    for _ in range(2):
        store = QdrantStore(server.url, collection="indexes")
        store.ensure(RECIPE)
        (name,) = (name for name in server.indexes if name.startswith("indexes-"))
        assert server.indexes[name] == dict(PAYLOAD_INDEXES)
        del server.indexes[name]["date"]
        store.close()


def test_a_rebuild_on_a_server_moves_the_alias_and_removes_the_old_collection(server: Server) -> None:
    store = QdrantStore(server.url, collection="moved")
    store.ensure(RECIPE)
    store.rebuild(RECIPE, lambda write: write(POINTS))
    assert store.count() == 5
    assert sum(item.name.startswith("moved-") for item in server.local.get_collections().collections) == 1
    store.close()


def test_a_collection_of_somebody_else_is_left_alone(server: Server) -> None:
    from qdrant_client import models

    server.local.create_collection("theirs", vectors_config=models.VectorParams(size=4, distance=models.Distance.DOT))
    store = QdrantStore(server.url, collection="theirs")
    with pytest.raises(IndexMismatch):
        store.ensure(RECIPE)
    with pytest.raises(IndexMismatch, match="KB_QDRANT_COLLECTION"):
        store.rebuild(RECIPE, lambda write: None)
    store.close()


def test_a_server_that_is_too_old_is_named(server: Server) -> None:
    server.keeps_metadata = False
    store = QdrantStore(server.url, collection="old")
    with pytest.raises(MissingDependency, match=r"Qdrant 1\.16"):
        store.ensure(RECIPE)
    store.close()
    server.keeps_metadata = True


def test_the_key_is_sent_and_a_refusal_is_a_typed_error(server: Server) -> None:
    server.api_key = "k"
    store = QdrantStore(server.url, collection="locked")
    with pytest.raises(KBError, match=r"refused \(403.*KB_QDRANT_API_KEY"):
        store.ensure(RECIPE)
    store.close()
    server.api_key = None


def test_a_server_that_is_away_is_a_typed_error() -> None:
    store = QdrantStore("http://127.0.0.1:9", collection="x")
    with pytest.raises(MissingDependency, match=r"does not answer.*KB_QDRANT_URL"):
        store.ensure(RECIPE)
    store.close()


def test_points_are_the_same_on_every_machine() -> None:
    from index.points import point_id

    assert point_id(POINTS[0]) == "24b7ac56-db6e-5a8a-b4e7-159c0089d2ed"


def test_a_disk_that_is_nearly_full_is_told_before_the_engine_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine maps its files: on a full disk, a write ends the process with SIGBUS."""
    store = EdgeStore(tmp_path)
    store.ensure(RECIPE)
    store.upsert(POINTS[:1])
    free = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free._replace(free=63 << 20))
    with pytest.raises(StorageFailed, match="too little room on the disk: 63 MiB"):
        store.upsert(POINTS[1:])
    with pytest.raises(StorageFailed):
        store.rebuild(RECIPE, lambda write: write(POINTS))
    store.delete(POINTS[0].source.id)
    assert store.count() == 0
    store.close()
    with pytest.raises(StorageFailed):
        EdgeStore(tmp_path / "new").ensure(RECIPE)
