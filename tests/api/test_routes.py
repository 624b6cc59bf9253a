from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from api.service import Service
from kb.types import Answer, Document, SourceEntry

ROOT = Path(__file__).resolve().parents[2]


def test_search_finds_and_marks(client: TestClient) -> None:
    hits = client.get("/v1/search", params={"q": "block size flag", "limit": 3}).json()
    assert hits[0]["source"]["title"] == "Paged attention"
    marked = [hits[0]["quote"][start:end] for start, end in hits[0]["marks"]]
    assert any("block" in word.lower() for word in marked)


def test_get_and_post_say_the_same(client: TestClient) -> None:
    by_address = client.get("/v1/search", params={"q": "前缀缓存", "lang": ["zh", "en"], "kind": "note"}).json()
    body = {"text": "前缀缓存", "filters": {"langs": ["zh", "en"], "kinds": ["note"]}}
    assert by_address == client.post("/v1/search", json=body).json()
    assert by_address[0]["source"]["lang"] == "zh"


def test_a_quote_comes_with_what_stands_around_it(client: TestClient) -> None:
    hit = client.get("/v1/search", params={"q": "block size flag", "limit": 1, "context": 1}).json()[0]
    assert hit["around"]["before"] == "The KV cache is cut into blocks of 16 tokens."
    assert hit["around"]["after"].startswith("A block table maps")


def test_filters_hold(client: TestClient) -> None:
    hits = client.get("/v1/search", params={"q": "KV cache blocks", "source": "batching.txt"}).json()
    assert {hit["source"]["title"] for hit in hits} <= {"batching"}
    assert client.get("/v1/search", params={"q": "blocks", "kind": "deck"}).json() == []


def test_ask_answers_with_citations_or_refuses(client: TestClient, filled: Service) -> None:
    answer = Answer.model_validate(client.post("/v1/ask", json={"question": "What does --block-size set?"}).json())
    assert answer.citations
    refused = Answer.model_validate(client.post("/v1/ask", json={"question": "午饭吃了什么菜？"}).json())
    assert refused.refused
    assert [gap.question for gap in filled.gaps()] == ["午饭吃了什么菜？"]
    assert client.get("/v1/gaps").json()[0]["gaps"][0]["question"] == "午饭吃了什么菜？"
    assert filled.gaps()[0].nearest == filled.ask("午饭吃了什么菜？").refused.nearest  # type: ignore[union-attr]


def test_a_question_can_stay_out_of_the_gaps(client: TestClient, filled: Service) -> None:
    client.post("/v1/ask", json={"question": "午饭吃了什么菜？", "record": False})
    assert filled.gaps() == []


def test_sources(client: TestClient, owner: dict[str, str]) -> None:
    entries = [SourceEntry.model_validate(entry) for entry in client.get("/v1/sources").json()]
    assert len(entries) == 3
    document = Document.model_validate(client.get(f"/v1/sources/{entries[0].source.id}").json())
    assert document.segments
    assert client.delete("/v1/sources/paging.md", headers=owner).json()["outcome"] == "removed"
    assert client.get("/v1/sources/paging.md").status_code == 404
    assert client.get("/v1/facets").json()["sources"] == 2


def test_adding_streams_one_line_per_event(client: TestClient, owner: dict[str, str], notes: Path) -> None:
    (notes / "new.md").write_text("# New\n\nSomething\u2028new.\n", encoding="utf-8")
    response = client.post("/v1/sources", json={"paths": [str(notes)]}, headers=owner)
    events = [json.loads(line) for line in response.content.split(b"\n") if line]
    changes = [event["change"]["outcome"] for event in events if "change" in event]
    assert sorted(changes) == ["added", "unchanged", "unchanged", "unchanged"]


@pytest.mark.parametrize("path", ["notes", "../etc", "", "a\x00b", "~/notes"])
def test_only_absolute_paths_are_added(client: TestClient, owner: dict[str, str], path: str) -> None:
    assert client.post("/v1/sources", json={"paths": [path]}, headers=owner).status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "slug"),
    [
        ("GET", "/v1/search", None, 422, "invalid-request"),
        ("GET", "/v1/search?q=%20%20", None, 400, "bad-request"),
        ("GET", f"/v1/search?q={'x' * 5000}", None, 400, "bad-request"),
        ("POST", "/v1/search", {"text": "x" * 100_000}, 400, "bad-request"),
        ("POST", "/v1/ask", {"question": "字" * 80_000}, 400, "bad-request"),
        ("POST", "/v1/ask", {"question": ""}, 400, "bad-request"),
        ("POST", "/v1/ask", {"question": "x", "surprise": 1}, 422, "invalid-request"),
        ("GET", "/v1/search?q=x&limit=0", None, 422, "invalid-request"),
        ("GET", "/v1/search?q=x&kind=film", None, 422, "invalid-request"),
        ("GET", "/v1/search?q=x&source=nowhere", None, 404, "not-found"),
        ("GET", "/v1/sources/nowhere", None, 404, "not-found"),
        ("GET", "/v1/sources/paging.md/pages/1.webp", None, 404, "not-found"),
        ("GET", "/v1/sources/paging.md/pages/0.webp", None, 422, "invalid-request"),
        ("GET", "/v1/sources/..%2F..%2Fetc%2Fpasswd", None, 404, "not-found"),
        ("GET", "/v1/sources/..%2F..%2Fcatalog.db/pages/1.webp", None, 404, "not-found"),
        ("GET", "/assets/..%2F..%2Fcli.py", None, 404, "http-404"),
        ("GET", "/assets/%2e%2e/app.py", None, 404, "http-404"),
        ("GET", "/nowhere", None, 404, "http-404"),
        ("PUT", "/v1/ask", {}, 405, "http-405"),
    ],
)
def test_every_error_is_a_problem(
    client: TestClient, method: str, path: str, body: object, status: int, slug: str
) -> None:
    response = client.request(method, path, json=body)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["type"] == f"urn:vllm-notes-kb:problem:{slug}"
    assert problem["status"] == status
    assert problem["detail"]
    assert problem["remedy"]


def test_a_broken_body_is_a_problem(client: TestClient) -> None:
    response = client.post("/v1/ask", content=b"{", headers={"Content-Type": "application/json"})
    assert (response.status_code, response.headers["content-type"]) == (422, "application/problem+json")


def test_ready_when_the_models_are(client: TestClient, filled: Service) -> None:
    filled.warm()
    assert client.get("/readyz").json()["status"] == "ready"
    filled.unready = "the weights are missing"
    response = client.get("/readyz")
    assert (response.status_code, response.json()["detail"]) == (503, "the weights are missing")


def test_operation_ids_are_stable_and_documented(client: TestClient) -> None:
    paths = client.get("/v1/openapi.json").json()["paths"]
    operations = sorted(op["operationId"] for methods in paths.values() for op in methods.values())
    documented = re.findall(
        r"^\| `(\w+)` \| `(?:GET|POST|DELETE) ", (ROOT / "docs" / "http.md").read_text("utf-8"), re.M
    )
    assert operations == sorted(documented)


@pytest.mark.parametrize("path", ["/v1/ask", "/v1/search"])
def test_half_a_character_is_a_bad_request(client: TestClient, path: str) -> None:
    body = b'{"question": "\\ud800 what is a block?"}' if path == "/v1/ask" else b'{"text": "\\ud800 block"}'
    answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["type"].endswith(":bad-request")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/ask", {"question": "And blocks?", "history": [{"question": "Paging?", "answer": "\ud800"}]}),
        ("/v1/ask", {"question": "What is a block?", "filters": {"versions": ["\ud800"]}}),
        ("/v1/corrections", {"heard": "page", "corrected": "\ud800"}),
        ("/v1/sources", {"paths": ["/\ud800"]}),
        ("/v1/sources/sync", {"folder": "/\ud800"}),
    ],
)
def test_half_a_character_in_a_body_is_a_bad_request(
    client: TestClient, owner: dict[str, str], path: str, body: dict[str, object]
) -> None:
    response = client.post(path, content=json.dumps(body), headers=owner | {"Content-Type": "application/json"})
    assert (response.status_code, response.headers["content-type"]) == (400, "application/problem+json")


def test_half_a_character_names_no_correction(client: TestClient, owner: dict[str, str]) -> None:
    body, headers = json.dumps({"ids": ["\ud800"], "accepted": True}), owner | {"Content-Type": "application/json"}
    assert client.post("/v1/corrections/judge", content=body, headers=headers).status_code == 404


CONTROL = "\x00\x1b\x7f"


def test_control_characters_are_taken_out_of_questions_and_filters(client: TestClient) -> None:
    plain = client.post("/v1/search", json={"text": "block size"}).json()
    assert client.post("/v1/search", json={"text": f"blo{CONTROL}ck size"}).json() == plain
    assert client.get("/v1/search", params={"q": f"blo{CONTROL}ck size"}).json() == plain
    answer = client.post("/v1/ask", json={"question": f"What does --block{CONTROL}-size set?"}).json()
    assert (answer["question"], answer["refused"]) == ("What does --block-size set?", None)
    history = [{"question": CONTROL, "answer": CONTROL}]
    assert client.post("/v1/ask", json={"question": "What is paged?", "history": history}).status_code == 200
    rated = client.post("/v1/feedback", json={"question": f"Wh{CONTROL}y?", "good": False})
    assert rated.status_code == 200
    assert "Why?" in [gap["gaps"][0]["question"] for gap in client.get("/v1/gaps").json()]
    for filters in ({"versions": [f"1{CONTROL}.0"]}, {"versions": [CONTROL]}):
        assert client.post("/v1/search", json={"text": "block", "filters": filters}).json() == []


@pytest.mark.parametrize("filters", [{"sources": [CONTROL]}, {"talks": [f"a{CONTROL}"]}])
def test_a_name_of_control_characters_names_nothing(client: TestClient, filters: object) -> None:
    response = client.post("/v1/search", json={"text": "block", "filters": filters})
    assert response.status_code in (400, 404)
    assert not set(CONTROL) & set(response.json()["detail"])


def test_a_question_of_nothing_but_control_characters_is_empty(client: TestClient) -> None:
    assert client.post("/v1/ask", json={"question": CONTROL}).status_code == 400
