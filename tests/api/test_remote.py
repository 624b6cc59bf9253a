"""The same library through a real server on loopback, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.base import KnowledgeBase
from api.remote import RemoteLibrary, connect
from api.service import Service
from api.stream import answer_events, json_lines
from index.serving import record_service
from kb.errors import BadRequest, LibraryBusy, NotFound
from kb.settings import Settings
from kb.types import Feedback, Filters, Progress, Query
from tests.api.conftest import open_fake, write_notes
from tests.ingest.recordings import write_recording

ROOT = Path(__file__).resolve().parents[2]
KB = [sys.executable, "-m", "tests.api.fake_kb"]

pytestmark = pytest.mark.server


def kb(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*KB, "--home", str(home), *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=120, env=os.environ | environment,
    )  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    folder = tmp_path_factory.mktemp("served")
    write_notes(folder / "notes")
    assert kb(folder / "library", "add", str(folder / "notes")).returncode == 0
    with subprocess.Popen(
        [*KB, "--home", str(folder / "library"), "serve", "--port", "0"], cwd=ROOT, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert "Serving" in process.stderr.readline()
        yield folder, process
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert not (folder / "library" / "serve.json").exists()


@pytest.fixture
def remote(served: tuple[Path, subprocess.Popen[str]]) -> Iterator[KnowledgeBase]:
    library = connect(Settings(home=served[0] / "library"))
    assert isinstance(library, RemoteLibrary)
    yield library
    library.close()


def test_a_file_whose_name_is_no_utf8_is_added(
    remote: KnowledgeBase, served: tuple[Path, object], tmp_path: Path
) -> None:
    path = tmp_path / os.fsdecode(b"n\xff.md")
    try:
        path.write_text("# Odd\n\nA note under an odd name.\n", encoding="utf-8")
    except OSError:
        pytest.skip("this file system takes names in UTF-8 alone")
    (change,) = remote.add([path])
    assert change.outcome == "added"
    assert change.source_id
    remote.remove(change.source_id)
    with pytest.raises(NotFound):
        remote.transcript(os.fsdecode(b"\xff"))
    with pytest.raises(BadRequest, match="no text in UTF-8"):
        remote.search(Query(text="block", filters=Filters(versions=(os.fsdecode(b"\xff"),))))


def test_every_method_goes_through(remote: KnowledgeBase, served: tuple[Path, object]) -> None:
    assert len(remote.sources()) == 3
    assert remote.search(Query(text="block size"))[0].marks
    assert remote.ask("What does --block-size set?", Filters(langs=("en",))).citations
    assert remote.ask("午饭吃了什么菜？").refused
    assert remote.gaps()[0].question == "午饭吃了什么菜？"
    remote.rate(Feedback(question="What does --block-size set?", good=False))
    assert {gap.origin for group in remote.gaps() for gap in group.gaps} == {"refused", "rated"}
    assert remote.recheck_gaps() == []
    assert remote.gaps(closed=True) == []
    assert remote.show("paging.md").segments
    assert remote.show(str(served[0] / "notes" / "paging.md")).source.title == "Paged attention"
    assert remote.talks() == []
    assert remote.articles() == []


def test_adding_streams_progress_and_changes(remote: KnowledgeBase, served: tuple[Path, object]) -> None:
    extra = served[0] / "extra.md"
    extra.write_text("# Extra\n\nOne\u2028more.\n", encoding="utf-8")
    seen: list[Progress] = []
    (change,) = remote.add([extra], seen.append)
    assert change.outcome == "added"
    assert seen[0].total == 1
    assert remote.remove("extra.md").outcome == "removed"
    extra.unlink()


def test_syncing_and_rebuilding(remote: KnowledgeBase, served: tuple[Path, object]) -> None:
    assert {change.outcome for change in remote.sync(served[0] / "notes")} == {"unchanged"}
    assert len(list(remote.rebuild())) == 3
    assert remote.search(Query(text="block size"))


def test_errors_come_back_as_they_were(remote: KnowledgeBase, served: tuple[Path, object]) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        remote.show("nowhere")
    with pytest.raises(BadRequest, match="empty"):
        remote.search(Query(text=" "))
    with pytest.raises(NotFound, match="no such folder"):
        list(remote.sync(served[0] / "nowhere"))
    with pytest.raises(NotFound, match="no talk"):
        remote.transcript("nothing", minutes=5, lang="zh")
    with pytest.raises(BadRequest, match="chapters"):
        remote.transcript("nothing", most=11)


def test_the_command_goes_through_the_service(served: tuple[Path, object]) -> None:
    told = kb(served[0] / "library", "search", "--json", "block size")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)[0]["source"]["title"] == "Paged attention"
    assert kb(served[0] / "library", "ask", "午饭吃了什么菜？").returncode == 3
    assert kb(served[0] / "library", "show", "nowhere").returncode == 4


def test_the_token_is_for_the_owners_eyes(served: tuple[Path, object]) -> None:
    assert (served[0] / "library" / "serve.json").stat().st_mode & 0o077 == 0


def test_a_second_service_is_refused(served: tuple[Path, object]) -> None:
    told = kb(served[0] / "library", "serve", "--port", "0")
    assert told.returncode == 5
    assert "Traceback" not in told.stderr


def test_a_relative_name_means_the_callers_folder(
    remote: KnowledgeBase, served: tuple[Path, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.md").write_text(f"# Same\n\nThe word of this one is {name}.\n", encoding="utf-8")
    list(remote.add([tmp_path / "one", tmp_path / "two"]))
    monkeypatch.chdir(tmp_path / "two")
    assert "two" in remote.show("same.md").segments[-1].text
    hits = remote.search(Query(text="word", filters=Filters(sources=("same.md",))))
    assert {hit.source.uri for hit in hits} == {(tmp_path / "two/same.md").as_uri()}
    assert remote.remove("same.md").path == str(tmp_path / "two/same.md")
    assert remote.remove("same.md").path == str(tmp_path / "one/same.md")


def test_a_record_of_a_service_that_died_is_passed_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        record_service(tmp_path, f"http://127.0.0.1:{closed.getsockname()[1]}", "token")
        monkeypatch.setattr("api.service.open_service", open_fake)
        library = connect(Settings(home=tmp_path))
    assert isinstance(library, Service)
    library.close()


def test_a_service_that_hangs_up_is_a_busy_library() -> None:
    library = RemoteLibrary("http://127.0.0.1:9", "token", Path("site"))
    with pytest.raises(LibraryBusy, match="does not answer"):
        library.sources()
    library.close()


def test_an_unsafe_address_is_refused(tmp_path: Path) -> None:
    told = kb(tmp_path / "library", "serve", "--host", "0.0.0.0", KB_SERVE_API_KEY="")
    assert told.returncode == 5
    assert "KB_SERVE_API_KEY" in told.stderr


def test_a_killed_add_is_finished_by_the_next(tmp_path: Path) -> None:
    notes = write_notes(tmp_path / "notes")
    gate = tmp_path / "gate"
    with open_fake(Settings(home=tmp_path / "whole")) as service:
        assert len(list(service.add([notes]))) == 3
    gate.touch()
    with subprocess.Popen(
        [*KB, "--home", str(tmp_path / "killed"), "add", str(notes)],
        cwd=ROOT, stdout=subprocess.DEVNULL, env=os.environ | {"KB_TEST_SLOW": str(gate)},
    ) as process:  # fmt: skip
        pending = tmp_path / "killed" / "sources"
        while not (pending.is_dir() and any(pending.iterdir())):
            assert process.poll() is None
        process.kill()
    gate.unlink()
    assert kb(tmp_path / "killed", "add", str(notes)).returncode == 0
    assert told_by(tmp_path / "killed") == told_by(tmp_path / "whole")


def test_a_service_that_is_stopped_in_a_batch_ends_with_the_current_file(tmp_path: Path) -> None:
    notes, home, gate = write_notes(tmp_path / "notes"), tmp_path / "library", tmp_path / "gate"
    gate.touch()
    with subprocess.Popen(
        [*KB, "--home", str(home), "serve", "--port", "0"],
        cwd=ROOT, stderr=subprocess.PIPE, text=True, env=os.environ | {"KB_TEST_SLOW": str(gate)},
    ) as process:  # fmt: skip
        assert process.stderr is not None
        assert "Serving" in process.stderr.readline()
        assert "is empty: add files" in process.stderr.readline()
        adding = subprocess.Popen(
            [*KB, "--home", str(home), "add", str(notes)], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        while not ((home / "sources").is_dir() and any((home / "sources").iterdir())):
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert any("timeout graceful shutdown exceeded" in line for line in process.stderr)
        gate.unlink()
        assert process.wait(30) == 0
        _, told = adding.communicate(timeout=30)
    assert adding.returncode != 0
    assert b"Traceback" not in told
    with open_fake(Settings(home=home)) as service:
        assert [entry.status for entry in service.sources()] == ["ready"]


def told_by(home: Path) -> list[object]:
    with open_fake(Settings(home=home)) as service:
        found = [service.search(Query(text=text)) for text in ("block size", "前缀缓存", "continuous batching")]
        entries = service.sources()
        return [found, entries, [service.show(entry.source.id) for entry in entries]]


def test_it_is_the_callers_site_that_is_published_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def call(_: RemoteLibrary, method: str, path: str, body: object = None) -> bytes:
        asked.append(body)
        return b'{"files": []}'

    monkeypatch.setattr(RemoteLibrary, "_call", call)
    monkeypatch.chdir(tmp_path)
    library = RemoteLibrary("http://127.0.0.1:9", "token", Path("site"))
    library.publish("slug", reviewed=True)
    library.publish("slug", site=Path("new"))
    library.close()
    assert asked == [
        {"reviewed": True, "site": str(tmp_path / "site"), "anywhere": False},
        {"reviewed": False, "site": str(tmp_path / "new"), "anywhere": True},
    ]


def test_p45_a_line_ends_at_a_newline_alone() -> None:
    pieces = ['{"a": "x\u2028y\x85z"}\n{"b"'.encode(), b": 1}\n", b"{}"]
    assert list(json_lines(iter(pieces))) == ['{"a": "x\u2028y\x85z"}'.encode(), b'{"b": 1}', b"{}"]


def test_httpx_trusts_no_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    library = RemoteLibrary("http://127.0.0.1:9", "token", Path("site"))
    with pytest.raises(LibraryBusy) as caught:
        library.sources()
    assert isinstance(caught.value.__cause__, httpx.ConnectError)
    library.close()


def test_an_answer_streams_through_the_service(remote: KnowledgeBase) -> None:
    *events, done = remote.ask_events("What does --block-size set?", Filters(langs=("en",)))
    assert done.event == "done"
    assert done.answer == remote.ask("What does --block-size set?", Filters(langs=("en",)))
    assert "".join(event.text for event in events if event.event == "sentence") == done.answer.text
    with pytest.raises(BadRequest):
        list(remote.ask_events(" "))


def test_an_answer_that_breaks_off_is_told() -> None:
    with pytest.raises(EOFError):
        list(answer_events([b": nothing\n\n"]))


def test_transcripts_are_corrected_through_the_service(remote: KnowledgeBase, tmp_path: Path) -> None:
    (added,) = remote.add([write_recording(tmp_path / "talk.wav")])
    assert added.outcome == "added"
    (changed,) = remote.correct("Blocks", "Pages", "talk.wav")
    assert changed.source_id == added.source_id
    (wording,) = remote.corrections("talk.wav")
    assert (wording.heard, wording.state, remote.corrections()) == ("Blocks", "accepted", [
        wording.model_copy(update={"places": ()})
    ])  # fmt: skip
    assert remote.show("talk.wav").segments[1].text == "Pages are shared."
    assert len(remote.judge([wording.id], "talk.wav", accepted=False)) == 1
    assert remote.show("talk.wav").segments[1].text == "Blocks are shared."
    with pytest.raises(NotFound, match="no correction"):
        remote.judge(["00000000"], accepted=True)
    remote.remove("talk.wav")
