from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from api.app import create_app
from api.auth import Keys, check_bind, is_loopback
from api.service import Service
from kb.errors import UnsafeSettings
from kb.settings import ServeSettings

KEY = "a-key-of-sufficient-length"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True), ("127.9.9.9", True), ("localhost", True), ("::1", True), ("[::1]", True),
        ("0.0.0.0", False), ("::", False), ("192.168.1.2", False), ("example.org", False), ("127.0.0.1.evil", False),
    ],
)  # fmt: skip
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "kb.example.org"])
def test_beyond_loopback_only_with_a_key(host: str) -> None:
    with pytest.raises(UnsafeSettings, match="KB_SERVE_API_KEY"):
        check_bind(ServeSettings(host=host))
    check_bind(ServeSettings(host=host, api_key=SecretStr(KEY)))


@pytest.mark.parametrize("key", ["", "short"])
def test_a_weak_key_guards_nothing(key: str) -> None:
    with pytest.raises(UnsafeSettings, match="too short"):
        check_bind(ServeSettings(api_key=SecretStr(key)))


@pytest.fixture
def guarded(filled: Service) -> Iterator[TestClient]:
    app = create_app(filled, Keys(reader=KEY, owner="owner-token"))
    with TestClient(app, base_url="http://kb.example.org", client=("203.0.113.5", 50000)) as client:
        yield client


@pytest.mark.parametrize("header", [None, "Bearer", "Bearer wrong", f"Basic {KEY}", f"Bearer {KEY}x", "Bearer ключ"])
def test_reading_needs_the_key(guarded: TestClient, header: str | None) -> None:
    headers = {b"Authorization": header.encode()} if header else {}
    response = guarded.get("/v1/sources", headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["type"].endswith("unauthorized")


def test_the_key_opens_reading_and_no_more(guarded: TestClient) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    assert guarded.get("/v1/sources", headers=headers).status_code == 200
    assert guarded.delete("/v1/sources/paging.md", headers=headers).status_code == 401


def test_the_owners_token_counts_on_this_machine_only(guarded: TestClient) -> None:
    headers = {"Authorization": "Bearer owner-token"}
    assert guarded.delete("/v1/sources/paging.md", headers=headers).status_code == 401


def test_the_page_and_health_need_no_key(guarded: TestClient) -> None:
    assert guarded.get("/").status_code == 200
    assert guarded.get("/healthz").json() == {"status": "ok", "detail": ""}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/sources", {"paths": ["/etc"]}),
        ("POST", "/v1/sources/sync", {"folder": "/etc"}),
        ("POST", "/v1/sources/rebuild", None),
        ("DELETE", "/v1/sources/paging.md", None),
        ("POST", "/v1/articles", {"talk": "x"}),
        ("POST", "/v1/articles/x/publish", {}),
    ],
)
def test_changing_needs_the_owners_token(client: TestClient, method: str, path: str, body: object) -> None:
    assert client.request(method, path, json=body).status_code == 401


@pytest.mark.parametrize(("caller", "status"), [("192.0.2.2", 404), ("192.0.2.3", 401)])
def test_the_owner_may_call_an_address_of_this_machine(service: Service, caller: str, status: int) -> None:
    app = create_app(service, Keys(reader=KEY, owner="owner-token"))
    client = TestClient(app, base_url="http://192.0.2.2:8765", client=(caller, 50000))
    assert client.delete("/v1/sources/x", headers={"Authorization": "Bearer owner-token"}).status_code == status
