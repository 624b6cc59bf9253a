"""A talk in a library: slides on the screen, chapters, its transcript, and what changes do to them."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from api.auth import Keys
from api.models import Models
from api.service import Service
from generate.llm import Abandoned, Message, Meter
from kb.errors import BadRequest, NotFound
from kb.settings import Settings
from kb.types import Citation, Filters, Kind, Outcome, Query, Time
from tests.api.conftest import open_fake, serving
from tests.fakes import FakeEmbedder, FakeTranscriber, ScriptedModel
from tests.ingest.lectures import TOPICS
from tests.ingest.pdf_writer import Sheet, text, write_pdf

SHOWN = TOPICS[:4]


def write_talk(folder: Path, *, deck: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "talk.yaml").write_text("title: Serving in practice\nlanguage: en\nurl: https://v.example/w\n", "utf-8")
    cues, at = [], 0
    for topic in SHOWN:
        for sentence in topic.en_speech:
            cues.append(f"{_stamp(at)} --> {_stamp(at + 3500)}\n{sentence}\n")
            at += 4000
    (folder / "talk.vtt").write_text("WEBVTT\n\n" + "\n".join(cues), "utf-8")
    if deck:
        write_deck(folder)
    return folder


def write_deck(folder: Path, order: tuple[int, ...] = (0, 1, 2, 3)) -> None:
    sheets = []
    for topic in (SHOWN[number] for number in order):
        lines = (text(60, 560 - 40 * at, line, size=16) for at, line in enumerate(topic.en_lines))
        sheets.append(Sheet(text(60, 700, topic.en_title, size=30) + "".join(lines)))
    write_pdf(folder / "deck.pdf", sheets, title="Serving")


def _stamp(ms: int) -> str:
    return f"00:{ms // 60000:02}:{ms // 1000 % 60:02}.{ms % 1000:03}"


def pages(service: Service) -> list[int | None]:
    lines = service.transcript("serving-in-practice").lines
    return [line.screen.page if line.screen else None for line in lines]


def truth(order: tuple[int, ...] = (1, 2, 3, 4)) -> list[int | None]:
    return [page for page, topic in zip(order, SHOWN, strict=True) for _ in topic.en_speech]


def test_a_hit_of_speech_shows_the_slide_that_was_on_the_screen(service: Service, tmp_path: Path) -> None:
    list(service.add([write_talk(tmp_path / "talk")]))
    [deck] = [entry.source for entry in service.sources() if entry.source.kind is Kind.DECK]
    hit = service.search(Query(text="block table 16 tokens", filters=Filters(kinds=(Kind.CAPTIONS,))))[0]
    assert isinstance(hit.locator, Time)
    assert hit.thumbnail == f"/v1/sources/{deck.id}/pages/3.webp"
    assert [screen.page for screen in hit.screens if screen.page == 3]
    screen = next(screen for screen in hit.screens if screen.page == 3)
    assert (screen.source_id, screen.title) == (deck.id, "PagedAttention")
    assert screen.href == f"{deck.uri}#page=3"


def test_a_citation_of_speech_carries_page_and_thumbnail(service: Service, tmp_path: Path) -> None:
    """PITFALLS, what users complain of, 11: the page goes from the parser to the citation."""
    list(service.add([write_talk(tmp_path / "talk")]))
    answer = service.ask("How many tokens does each block hold?", Filters(kinds=(Kind.CAPTIONS,)), record=False)
    citations: tuple[Citation, ...] = answer.citations or (answer.refused.nearest if answer.refused else ())
    assert citations
    for citation in citations:
        assert citation.screen is not None
        assert citation.thumbnail == f"/v1/sources/{citation.screen.source_id}/pages/{citation.screen.page}.webp"


def test_the_transcript_is_laid_to_the_slides(service: Service, tmp_path: Path) -> None:
    list(service.add([write_talk(tmp_path / "talk")]))
    right = [want == got for want, got in zip(truth(), pages(service), strict=True)]
    assert sum(right) / len(right) >= 0.95


def test_a_deck_that_comes_later_or_changes_is_laid_without_reading_the_rest_again(
    service: Service, tmp_path: Path
) -> None:
    folder = write_talk(tmp_path / "talk", deck=False)
    list(service.add([folder]))
    assert set(pages(service)) == {None}
    write_deck(folder)
    outcomes = {Path(change.path).name: change.outcome for change in service.add([folder])}
    assert outcomes == {"deck.pdf": "added", "talk.vtt": "unchanged"}
    first = pages(service)
    assert first[0] == 1
    write_deck(folder, (3, 2, 1, 0))
    list(service.add([folder]))
    assert pages(service)[0] in (1, 4), "the deck runs backwards"
    assert pages(service) != first
    service.remove("deck.pdf")
    assert set(pages(service)) == {None}


def test_rebuilding_keeps_the_alignment(service: Service, tmp_path: Path) -> None:
    list(service.add([write_talk(tmp_path / "talk")]))
    before = pages(service)
    stored = service._settings.home / "talks" / "serving-in-practice" / "alignment.json"
    stored.write_text("{}", "utf-8")
    assert set(pages(service)) == {None}, "what cannot be read is no slide"
    list(service.rebuild())
    assert pages(service) == before


def test_chapters_have_short_titles_and_begin_at_zero(service: Service, tmp_path: Path) -> None:
    """PITFALLS, what users complain of, 20: times come from the transcript, never from a model."""
    list(service.add([write_talk(tmp_path / "talk")]))
    made = service.transcript("serving-in-practice")
    assert made.chapters[0].start_ms == 0
    assert 3 <= len(made.chapters) <= 5
    titles = [topic.en_title for topic in SHOWN]
    assert all(any(title.startswith(chapter.title) for title in titles) for chapter in made.chapters)
    assert service.transcript("serving-in-practice", most=2).chapters[-1].end_ms == made.chapters[-1].end_ms


def test_what_cannot_be_is_said(service: Service, tmp_path: Path) -> None:
    folder = write_talk(tmp_path / "talk")
    (folder / "talk.vtt").unlink()
    assert [change.error for change in service.add([folder])] == [None]
    with pytest.raises(NotFound, match="nobody speaks"):
        service.transcript("serving-in-practice")
    with pytest.raises(NotFound, match="no talk"):
        service.transcript("another")
    for length in ({"minutes": 0.0}, {"most": 0}, {"most": 11}, {"minutes": float("nan")}):
        with pytest.raises(BadRequest, match="chapters"):
            service.transcript("serving-in-practice", **length)


def test_an_article_brings_its_transcript(service: Service, tmp_path: Path) -> None:
    list(service.add([write_talk(tmp_path / "talk")]))
    article = service.write("serving-in-practice")
    page = Path(article.path).with_name("transcript.en.md").read_text("utf-8")
    assert "## 00:00 " in page
    assert "(https://v.example/w?t=0)" in page


def test_over_http(service: Service, tmp_path: Path) -> None:
    list(service.add([write_talk(tmp_path / "talk")]))
    app = create_app(service, Keys(reader=None, owner="the-owner-token"))
    with TestClient(app, base_url="http://127.0.0.1:8765", client=("127.0.0.1", 50000)) as client:
        chapters = client.get("/v1/talks/serving-in-practice/chapters", params={"max": 2}).json()
        transcript = client.get("/v1/talks/serving-in-practice/transcript").json()
        wrong = client.get("/v1/talks/serving-in-practice/chapters", params={"max": 20})
        image = client.get(transcript["lines"][0]["screen"]["thumbnail"])
    assert len(chapters) <= 2
    assert transcript["lines"][0]["screen"]["page"] == 1
    assert (wrong.status_code, image.headers["content-type"]) == (400, "image/webp")
    assert json.dumps(transcript)


def test_a_talk_whose_title_has_a_slash_is_found_over_http(service: Service, tmp_path: Path) -> None:
    folder = write_talk(tmp_path / "talk", deck=False)
    (folder / "talk.yaml").write_text("title: A/B in practice\n", "utf-8")
    list(service.add([folder]))
    app = create_app(service, Keys(reader=None, owner="the-owner-token"))
    with TestClient(app, base_url="http://127.0.0.1:8765", client=("127.0.0.1", 50000)) as client:
        assert client.get("/v1/talks/A%2FB%20in%20practice/transcript").json()["talk"]["title"] == "A/B in practice"
        assert client.get("/v1/talks/A%2FB%20in%20practice/chapters").status_code == 200


def test_a_talk_that_cannot_be_laid_to_its_slides_is_skipped_and_fails_no_addition(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("shapes do not fit")

    monkeypatch.setattr("ingest.alignment.align.align", broken)
    changes = list(service.add([write_talk(tmp_path / "talk")]))
    assert [change.outcome for change in changes[:-1]].count(Outcome.ADDED) == 2
    assert (changes[-1].path, changes[-1].outcome) == ("Serving in practice", Outcome.SKIPPED)
    assert changes[-1].error is not None
    assert "ValueError: shapes do not fit" in changes[-1].error
    monkeypatch.undo()
    list(service.add([tmp_path / "talk"]))
    assert set(pages(service)) == {1, 2, 3, 4}


def test_nobody_is_named_chapters_who_has_gone(settings: Settings, tmp_path: Path) -> None:
    model = ScriptedModel(*2 * ['{"titles": []}'])
    models = Models(settings, embedder=FakeEmbedder(), transcriber=FakeTranscriber(), llm=model)
    with open_fake(settings, models) as service:
        list(service.add([write_talk(tmp_path / "talk")]))
        with pytest.raises(Abandoned):
            service.transcript("serving-in-practice", is_abandoned=lambda: True)
        with pytest.raises(Abandoned):
            service.write("serving-in-practice", is_abandoned=lambda: True)
        assert service.articles() == []


def written(service: Service, folder: Path) -> str:
    list(service.add([write_talk(folder)]))
    return service.write("serving-in-practice").slug


def test_without_a_site_nothing_is_published_unless_a_folder_is_named(service: Service, tmp_path: Path) -> None:
    slug = written(service, tmp_path / "talk")
    talking = service._talking
    talking._site = tmp_path / "site"
    with pytest.raises(NotFound, match="--site"):
        service.publish(slug, reviewed=True)
    assert not (tmp_path / "site").exists()
    files = service.publish(slug, reviewed=True, site=tmp_path / "new")
    assert files == [tmp_path / "new" / "docs" / "en" / "posts" / f"{slug}.md"]
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "mkdocs.yml").write_text("site_name: x\n", "utf-8")
    assert service.publish(slug, reviewed=True)[0].is_relative_to(tmp_path / "site")


def test_a_folder_to_publish_to_is_named_from_the_root_over_http(service: Service, tmp_path: Path) -> None:
    slug = written(service, tmp_path / "talk")
    app = create_app(service, Keys(reader=None, owner="the-owner-token"))
    owner = {"Authorization": "Bearer the-owner-token"}
    with TestClient(app, base_url="http://127.0.0.1:8765", client=("127.0.0.1", 50000), headers=owner) as client:
        address = f"/v1/articles/{slug}/publish"
        wrong = client.post(address, json={"reviewed": True, "site": "new"})
        right = client.post(address, json={"reviewed": True, "site": str(tmp_path / "new")})
        none = client.post(address, json={"reviewed": True, "site": str(tmp_path / "other"), "anywhere": False})
    assert (none.status_code, (tmp_path / "other").exists()) == (404, False)
    assert wrong.status_code == 400
    assert right.json()["files"] == [str(tmp_path / "new" / "docs" / "en" / "posts" / f"{slug}.md")]


def test_writing_ends_when_the_caller_has_gone(settings: Settings, tmp_path: Path) -> None:
    """PITFALLS 40: a model that names the chapters of an article writes for nobody."""
    asked, gone = threading.Event(), threading.Event()

    class WaitingModel(ScriptedModel):
        def stream(self, message: Message, *, schema: object = None, meter: Meter | None = None) -> Iterator[str]:
            asked.set()
            assert meter is not None
            try:
                while True:
                    meter.check()
                    gone.wait(0.01)
                    yield " "
            except Abandoned:
                gone.set()
                raise

    models = Models(settings, embedder=FakeEmbedder(), transcriber=FakeTranscriber(), llm=WaitingModel())
    with open_fake(settings, models) as service:
        list(service.add([write_talk(tmp_path / "talk")]))
        with serving(service, Keys(reader=None, owner="the-owner-token")) as url:
            host, port = url.removeprefix("http://").split(":")
            connection = http.client.HTTPConnection(host, int(port), timeout=30)
            headers = {"Authorization": "Bearer the-owner-token", "Content-Type": "application/json"}
            connection.request("POST", "/v1/articles", body='{"talk": "serving-in-practice"}', headers=headers)
            assert asked.wait(30)
            connection.close()
            assert gone.wait(30)
        assert service.articles() == []
