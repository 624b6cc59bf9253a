from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from api import middleware
from api.auth import Keys
from api.middleware import MAX_BODY
from api.service import Service
from tests.api.conftest import serving


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "", "localhost."])
@pytest.mark.parametrize("path", ["/", "/v1/sources", "/healthz"])
def test_another_host_name_is_turned_away(client: TestClient, host: str, path: str) -> None:
    response = client.get(path, headers={"Host": host})
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8765", "[::1]:9", "LOCALHOST"])
def test_names_of_this_machine_are_served(client: TestClient, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_cannot_make_it_work(client: TestClient, site: str) -> None:
    refused = client.post("/v1/ask", json={"question": "x"}, headers={"Sec-Fetch-Site": site})
    assert refused.status_code == 400
    assert "access-control-allow-origin" not in refused.headers
    assert client.get("/", headers={"Sec-Fetch-Site": site}).status_code == 200


def test_p39_a_declared_oversize_is_refused(client: TestClient) -> None:
    response = client.post("/v1/ask", content=b"x" * (MAX_BODY + 1))
    assert response.status_code == 413
    assert response.json()["type"].endswith("limit-exceeded")


def test_p39_a_chunked_oversize_is_refused_before_it_is_read_whole(client: TestClient) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(64):
            sent += 1
            yield b"x" * 65536

    response = client.post("/v1/ask", content=endless())
    assert "content-length" not in response.request.headers
    assert response.status_code == 413


def test_a_body_within_the_limit_arrives_whole(client: TestClient) -> None:
    def halves() -> Iterator[bytes]:
        yield b'{"text": "block'
        yield b' size"}'

    response = client.post("/v1/search", content=halves(), headers={"Content-Type": "application/json"})
    assert response.status_code == 200


@pytest.mark.parametrize("path", ["/", "/v1/sources", "/assets/app.css", "/nowhere"])
def test_every_response_is_guarded(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_answers_are_not_kept_by_caches(client: TestClient) -> None:
    assert client.get("/v1/sources").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/v1/facets", "/v1/sources/paging.md", "/assets/app.css", "/nowhere"]
)
def test_head_is_answered_as_get_without_the_body(client: TestClient, path: str) -> None:
    got, asked = client.get(path), client.head(path)
    assert (asked.status_code, asked.content) == (got.status_code, b"")
    assert asked.headers["content-type"] == got.headers["content-type"]
    assert asked.headers["content-length"] == got.headers["content-length"]


# --- over a real socket -----------------------------------------------------------------------------------------


@pytest.fixture
def address(filled: Service) -> Iterator[tuple[str, int]]:
    with serving(filled, Keys(reader=None, owner="o")) as url:
        host, port = url.removeprefix("http://").split(":")
        yield host, int(port)


def _pieces(size: int) -> Iterator[bytes]:
    for _ in range(size // 65536):
        yield b"x" * 65536


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
def test_p39_a_client_that_sends_everything_first_reads_why(address: tuple[str, int], *, chunked: bool) -> None:
    size = 8 * 1024 * 1024
    headers = {} if chunked else {"Content-Length": str(size)}
    connection = http.client.HTTPConnection(*address, timeout=30)
    connection.request("POST", "/v1/ask", body=_pieces(size), headers=headers, encode_chunked=chunked)
    response = connection.getresponse()
    told = json.loads(response.read())
    connection.close()
    assert (response.status, response.headers["Connection"]) == (413, "close")
    assert told["type"].endswith("limit-exceeded")
    assert told["remedy"]


def test_p39_a_client_that_asks_first_sends_nothing(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=30) as connection:
        head = "POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999999999\r\nExpect: 100-continue\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")


def test_p39_a_body_without_end_is_read_to_a_bound(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "MOST_DISCARDED", 1024 * 1024)
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(b"POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(OSError):
            while True:
                connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")  # until it is hung up on


def test_p39_a_body_that_drips_is_not_waited_for(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "_PATIENCE", 0.2)
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(b"POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999999999\r\n\r\nx")
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")
