"""This product, measured as its peers are."""

from __future__ import annotations

import tempfile
from pathlib import Path
from urllib.parse import unquote

from api.service import open_service
from kb.settings import Settings
from kb.types import Query
from tests.bench.peers.protocol import TOP, Found, Search, measure


def ingest(paths: list[Path], _model: str) -> Search:
    service = open_service(Settings(home=Path(tempfile.mkdtemp()) / "library"))
    list(service.add(paths))
    return lambda text: [
        Found(unquote(hit.source.uri.removeprefix("file://")), hit.chunk.text)
        for hit in service.search(Query(text=text, limit=TOP))
    ]


if __name__ == "__main__":
    measure(ingest)
