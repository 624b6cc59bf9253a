"""A real library over real notes, with stand-ins only for the models."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from fastapi.testclient import TestClient

from api.app import create_app
from api.auth import Keys
from api.models import Models
from api.service import Service
from index.client import QdrantStore
from index.edge import EdgeStore
from kb.settings import Settings
from tests.fakes import FakeEmbedder, FakeTranscriber

OWNER = "the-owner-token"

NOTES = {
    "paging.md": (
        "---\ntitle: Paged attention\ndate: 2026-05-12\n---\n"
        "# Paged attention\n\n## Blocks\n\n"
        "The KV cache is cut into blocks of 16 tokens. The flag `--block-size` sets the block size.\n\n"
        "A block table maps the blocks of a request to physical memory, so memory is never reserved for nothing.\n"
    ),
    "前缀缓存.md": (
        "# 前缀缓存\n\n## 原理\n\n前缀缓存让相同前缀的请求共用 KV 块。启用它的参数是 `--enable-prefix-caching`。\n\n"
        "缓存键由块的哈希值和组编号组成。\n"
    ),
    "batching.txt": (
        "Continuous batching admits a new request as soon as another one has ended. It keeps the GPU busy.\n"
    ),
}


def write_notes(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_notes(tmp_path / "notes")


@pytest.fixture
def models(settings: Settings) -> Models:
    return Models(settings, embedder=FakeEmbedder(), transcriber=FakeTranscriber())


def open_fake(settings: Settings, models: Models | None = None) -> Service:
    """A library in the embedded engine, which outlives its service."""
    models = models or Models(settings, embedder=FakeEmbedder(), transcriber=FakeTranscriber())
    return Service(settings, EdgeStore(settings.home / "index"), models)


@pytest.fixture
def service(settings: Settings, models: Models) -> Iterator[Service]:
    with Service(settings, QdrantStore(":memory:", collection="notes"), models) as opened:
        yield opened


@pytest.fixture
def filled(service: Service, notes: Path) -> Service:
    assert [change.outcome for change in service.add([notes])] == ["added"] * 3
    return service


@pytest.fixture
def client(filled: Service) -> Iterator[TestClient]:
    app = create_app(filled, Keys(reader=None, owner=OWNER))
    with TestClient(app, base_url="http://127.0.0.1:8765", client=("127.0.0.1", 50000)) as opened:
        yield opened


@pytest.fixture
def owner() -> dict[str, str]:
    return {"Authorization": f"Bearer {OWNER}"}


@contextlib.contextmanager
def serving(service: Service, keys: Keys) -> Iterator[str]:
    """A service on a socket of loopback, by its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(service, keys), log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
