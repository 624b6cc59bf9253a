"""Corrections through every face: listed, accepted, rejected, added; nothing is heard again for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from api.app import create_app
from api.auth import Keys
from api.cli import app
from api.corrections import checked
from api.models import Models
from api.service import Service
from index.client import QdrantStore
from ingest.recordings.correct import _known_mishearings
from kb.errors import BadRequest, NotFound
from kb.glossary import Glossary, Term, load_glossary
from kb.settings import Settings
from kb.types import Query, Wording
from tests.api.conftest import OWNER, open_fake
from tests.fakes import FakeEmbedder, FakeTranscriber
from tests.ingest.recordings import write_recording

SAID = ("The KV cash is paged.", "Each block holds sixteen resources.", "Export parallelism is next.")


@pytest.fixture
def transcriber() -> FakeTranscriber:
    return FakeTranscriber(SAID)


@pytest.fixture
def talks(tmp_path: Path) -> list[Path]:
    (tmp_path / "talks").mkdir()
    return [write_recording(tmp_path / "talks" / name) for name in ("one.wav", "two.mp3")]


@pytest.fixture
def service(settings: Settings, talks: list[Path], transcriber: FakeTranscriber) -> Iterator[Service]:
    models = Models(settings, embedder=FakeEmbedder(), transcriber=transcriber)
    with Service(settings, QdrantStore(":memory:", collection="talks"), models) as opened:
        assert [change.outcome for change in opened.add(talks)] == ["added", "added"]
        yield opened


def texts(service: Service, name: str = "one.wav") -> list[str]:
    return [segment.text for segment in service.show(name).segments]


def named(service: Service, heard: str, source: str | None = "one.wav") -> Wording:
    return next(each for each in service.corrections(source) if each.heard == heard)


def test_a_transcript_is_corrected_and_tells_it(service: Service) -> None:
    assert texts(service)[0] == "The KV cache is paged."
    assert service.show("one.wav").segments[0].heard == SAID[0]
    cash = named(service, "KV cash")
    assert (cash.corrected, cash.rule, cash.state, len(cash.places)) == ("KV cache", "glossary", "open", 1)
    (hit, *_) = service.search(Query(text="KV cache paged"))
    assert hit.quote in service.show(hit.source.id).segments[0].text


def test_a_quote_that_nobody_said_tells_what_was_heard(service: Service) -> None:
    (hit, *_) = service.search(Query(text="KV cache paged"))
    assert (hit.quote, hit.heard) == ("The KV cache is paged.", SAID[0])
    answer = service.ask("What is paged?")
    cited = answer.refused.nearest if answer.refused else answer.citations
    told = {each.heard.split("\n")[0] for each in cited if "The KV cache is paged." in each.quote}
    assert told == {SAID[0]}
    assert {each.heard for each in service.search(Query(text="sixteen resources")) if "sixteen" in each.quote} == {""}


def test_what_is_added_for_a_source_changes_it_alone_and_is_found(
    service: Service, transcriber: FakeTranscriber
) -> None:
    calls = transcriber.calls
    (change,) = service.correct("resources", "tokens", "one.wav")
    assert (Path(change.path).name, change.outcome) == ("one.wav", "updated")
    assert texts(service)[1] == "Each block holds sixteen tokens."
    assert texts(service, "two.mp3")[1] == SAID[1]
    assert "sixteen tokens" in service.search(Query(text="sixteen tokens"))[0].quote
    assert transcriber.calls == calls


def test_what_is_added_for_the_library_holds_for_what_comes_later(
    service: Service, talks: list[Path], tmp_path: Path
) -> None:
    assert len(service.correct("resources", "tokens")) == 2
    later = write_recording(tmp_path / "three.flac")
    list(service.add([later]))
    assert texts(service, "three.flac")[1] == "Each block holds sixteen tokens."
    assert {change.outcome for change in service.add(talks)} == {"unchanged"}


def test_a_rejected_correction_never_comes_back(service: Service, talks: list[Path]) -> None:
    wrong = named(service, "Export parallelism")
    assert len(service.judge([wrong.id], "one.wav", accepted=False)) == 1
    assert texts(service)[2] == SAID[2]
    assert texts(service, "two.mp3")[2] == "Expert parallelism is next."
    assert named(service, "Export parallelism").state == "rejected"
    service.correct("resources", "tokens")
    talks[0].write_bytes(talks[1].read_bytes())  # another recording under the same name
    list(service.add(talks))
    assert texts(service)[2] == SAID[2]
    assert len(service.judge([wrong.id], "one.wav", accepted=True)) == 1
    assert texts(service)[2] == "Expert parallelism is next."


def test_an_accepted_correction_stands_and_a_judgement_of_the_library_overrides(service: Service) -> None:
    cash = named(service, "KV cash")
    service.judge([cash.id], "one.wav", accepted=True)
    assert named(service, "KV cash").state == "accepted"
    assert texts(service)[0] == "The KV cache is paged."
    service.judge([cash.id], accepted=False)
    assert texts(service)[0] == texts(service, "two.mp3")[0] == SAID[0]
    assert {each.state for each in service.corrections()} == {"rejected"}


def test_what_is_no_correction_is_refused(service: Service) -> None:
    for heard, corrected in (("", "x"), ("x", " "), ("same", "same"), ("x" * 100, "y"), ("，", "y")):
        with pytest.raises(BadRequest):
            service.correct(heard, corrected)
    with pytest.raises(NotFound, match="no correction 12345678"):
        service.judge(["12345678"], accepted=True)


def test_over_http(service: Service) -> None:
    application = create_app(service, Keys(reader=None, owner=OWNER))
    address = {"base_url": "http://127.0.0.1:8765", "client": ("127.0.0.1", 50000)}
    owner = {"Authorization": f"Bearer {OWNER}"}
    with TestClient(application, **address) as client:  # type: ignore[arg-type]
        body = {"heard": "resources", "corrected": "tokens", "source": "one.wav"}
        assert client.post("/v1/corrections", json=body).status_code == 401
        assert client.post("/v1/corrections", json=body, headers=owner).json()[0]["outcome"] == "updated"
        listed = client.get("/v1/corrections", params={"source": "one.wav"}).json()
        assert {each["heard"] for each in listed} == {"KV cash", "resources", "Export parallelism"}
        judged = {"ids": [listed[0]["id"]], "accepted": False}
        assert len(client.post("/v1/corrections/judge", json=judged, headers=owner).json()) == 2
        assert client.post("/v1/corrections/judge", json={**judged, "ids": ["x"]}, headers=owner).status_code == 404


def test_on_the_command_line(
    settings: Settings, talks: list[Path], transcriber: FakeTranscriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models(settings, embedder=FakeEmbedder(), transcriber=transcriber)
    monkeypatch.setattr("api.service.open_service", lambda settings: open_fake(settings, models))

    def kb(*arguments: str) -> str:
        result = CliRunner().invoke(app, ["--home", str(settings.home), *arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    kb("add", str(talks[0]))
    listed = kb("show", "--corrections", "one.wav").splitlines()
    assert listed[0].split("\t") == ["id", "heard", "corrected", "rule", "state", "where"]
    assert listed[1].split("\t")[1:] == ["KV cash", "KV cache", "glossary", "open", "00:00–00:00"]
    assert "heard: The KV cash is paged." in kb("search", "KV cache paged")
    assert "heard: The KV cash is paged." in kb("ask", "What is paged?")
    kb("corrections", "reject", listed[1].split("\t")[0], "--source", "one.wav")
    assert '"text": "The KV cash is paged."' in kb("show", "one.wav", "--json")
    kb("corrections", "add", "resources", "tokens")
    assert "heard as: Each block holds sixteen resources." in kb("show", "one.wav")
    assert kb("corrections", "list").count("\n") == 3


def test_judging_decides_nothing_where_one_of_the_corrections_is_unknown(service: Service) -> None:
    with pytest.raises(NotFound, match="no correction 12345678"):
        service.judge([named(service, "KV cash").id, "12345678"], "one.wav", accepted=False)
    assert service.corrections() == []


def test_what_was_decided_follows_a_recording_whose_renaming_was_interrupted(
    service: Service, talks: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    service.judge([named(service, "Export parallelism").id], "one.wav", accepted=False)
    talks[0].rename(talks[0].with_name("renamed.wav"))
    with monkeypatch.context() as killed:
        killed.setattr("index.library.Library.remove", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            list(service.sync(talks[0].parent))
    list(service.sync(talks[0].parent))
    assert [entry.source.title for entry in service.sources()] == ["renamed", "two"]
    assert named(service, "Export parallelism", "renamed.wav").state == "rejected"


@pytest.mark.parametrize("following", ["open", "add", "sync", "correct"])
def test_what_was_decided_is_applied_by_the_next_command_where_a_process_was_stopped(
    service: Service, talks: list[Path], monkeypatch: pytest.MonkeyPatch, following: str
) -> None:
    service.judge([named(service, "KV cash").id], "two.mp3", accepted=False)
    with monkeypatch.context() as killed:
        killed.setattr("index.library.Library.replace", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            service.correct("resources", "tokens")
    assert texts(service)[1] == SAID[1]
    commands: dict[str, Callable[[], object]] = {
        "open": service.open,
        "add": lambda: list(service.add(talks[:1])),
        "sync": lambda: list(service.sync(talks[0].parent)),
        "correct": lambda: service.correct("next", "last", "two.mp3"),
    }
    commands[following]()
    assert texts(service)[1] == texts(service, "two.mp3")[1] == "Each block holds sixteen tokens."
    with monkeypatch.context() as once:
        once.setattr("index.library.Library.replace", _interrupted)
        assert {change.outcome for change in service.add(talks)} == {"unchanged"}


def test_improved_rules_and_a_better_glossary_reach_what_was_heard_before(
    service: Service, talks: list[Path], transcriber: FakeTranscriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = transcriber.calls
    better = Glossary((*load_glossary().terms, Term(zh=(), en=("tokens",), heard_as=("resources",))))
    monkeypatch.setattr("ingest.recordings.correct.load_glossary", lambda: better)
    monkeypatch.setattr("ingest.recordings.correct._known_mishearings", _known_mishearings.__wrapped__)
    assert {change.outcome for change in service.add(talks)} == {"updated"}
    assert texts(service)[1] == "Each block holds sixteen tokens."
    assert {change.outcome for change in service.add(talks)} == {"unchanged"}
    monkeypatch.setattr("ingest.recordings.correct._RULES", "better still")
    assert {change.outcome for change in service.add(talks)} == {"updated"}
    assert transcriber.calls == calls


def test_what_was_rejected_for_a_source_is_listed_whatever_is_added_for_the_library(service: Service) -> None:
    wrong = named(service, "Export parallelism")
    service.judge([wrong.id], "one.wav", accepted=False)
    service.correct(wrong.heard, wrong.corrected)
    assert texts(service)[2] == SAID[2]
    assert named(service, "Export parallelism").state == "rejected"
    assert named(service, "Export parallelism", "two.mp3").state == "accepted"


def _interrupted(*_: object, **_named: object) -> None:
    raise KeyboardInterrupt


def test_of_two_corrections_of_the_same_words_the_later_one_holds_and_the_older_is_listed_as_replaced(
    service: Service,
) -> None:
    service.correct("resources", "tokens")
    service.correct("Resources", "blocks", "one.wav")
    service.correct("resources", "slots")
    assert {each.corrected: each.state for each in service.corrections()} == {
        "slots": "accepted", "blocks": "accepted", "tokens": "replaced",
    }  # fmt: skip
    assert texts(service)[1] == "Each block holds sixteen blocks."  # what is decided for a source goes before
    assert texts(service, "two.mp3")[1] == "Each block holds sixteen slots."


def test_control_characters_are_no_part_of_a_correction(service: Service) -> None:
    service.correct("reso\x00urces", "tok\x07ens")
    assert texts(service)[1] == "Each block holds sixteen tokens."
    with pytest.raises(BadRequest):
        service.correct("\x00", "tokens")


def test_words_are_kept_in_the_form_of_transcripts_without_control_characters() -> None:
    assert checked("cafe\u0301  \x1b[31mserver", "a\x1b]0;title\x07b") == ("caf\u00e9 [31mserver", "a]0;titleb")
    with pytest.raises(BadRequest):
        checked("\x1b\x07", "word")
