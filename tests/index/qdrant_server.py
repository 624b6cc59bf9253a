"""A Qdrant server for tests: the REST requests of the real client, checked by the client's own models of the REST
interface, answered by its local mode. What a real server does beyond that, it does not show."""

from __future__ import annotations

import json
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import TypeAdapter
from qdrant_client import QdrantClient, models


class Server:
    """What the handler knows; `requests` lists what came, as (method, path, body)."""

    def __init__(self) -> None:
        self.local = QdrantClient(location=":memory:")
        self.lock = threading.Lock()
        self.requests: list[tuple[str, str, Any]] = []
        self.indexes: dict[str, dict[str, str]] = {}
        self.keeps_metadata = True
        self.api_key: str | None = None
        self.url = ""

    def answer(self, method: str, path: str, body: Any) -> Any:
        self.requests.append((method, path, body))
        for pattern, reply in _ROUTES:
            if found := re.fullmatch(pattern, f"{method} {path}"):
                return reply(self, *found.groups(), body)
        raise LookupError(f"{method} {path}")


def _create(server: Server, name: str, body: Any) -> Any:
    wanted = models.CreateCollection.model_validate(body)
    return server.local.create_collection(
        name,
        vectors_config=wanted.vectors,
        sparse_vectors_config=wanted.sparse_vectors,
        metadata=wanted.metadata if server.keeps_metadata else None,
    )


def _info(server: Server, name: str, _: Any) -> Any:
    info = server.local.get_collection(name).model_dump(mode="json")
    info["payload_schema"] = {
        field: {"data_type": schema, "points": 0} for field, schema in server.indexes.get(name, {}).items()
    }
    return info


def _aliases(server: Server, body: Any) -> Any:
    return server.local.update_collection_aliases(models.ChangeAliasesOperation.model_validate(body).actions)


def _index(server: Server, name: str, body: Any) -> Any:
    wanted = models.CreateFieldIndex.model_validate(body)
    assert isinstance(wanted.field_schema, models.PayloadSchemaType)
    server.indexes.setdefault(name, {})[wanted.field_name] = wanted.field_schema.value
    return {"operation_id": 1, "status": "completed"}


def _upsert(server: Server, name: str, body: Any) -> Any:
    return server.local.upsert(name, models.PointsList.model_validate(body).points)


def _delete(server: Server, name: str, body: Any) -> Any:
    return server.local.delete(name, models.FilterSelector.model_validate(body))


def _query(server: Server, name: str, body: Any) -> Any:
    requests = models.QueryRequestBatch.model_validate(body).searches
    return server.local.query_batch_points(name, requests)


def _retrieve(server: Server, name: str, body: Any) -> Any:
    r = models.PointRequest.model_validate(body)
    return [point.model_dump(mode="json") for point in server.local.retrieve(name, r.ids, with_payload=True)]


def _scroll(server: Server, name: str, body: Any) -> Any:
    s = models.ScrollRequest.model_validate(body)
    points, offset = server.local.scroll(
        name, scroll_filter=s.filter, limit=s.limit or 10, offset=s.offset, with_payload=True
    )
    return {"points": [point.model_dump(mode="json") for point in points], "next_page_offset": offset}


def _facet(server: Server, name: str, body: Any) -> Any:
    f = models.FacetRequest.model_validate(body)
    return server.local.facet(name, f.key, limit=f.limit or 10, exact=bool(f.exact))


_ROUTES: list[tuple[str, Callable[..., Any]]] = [
    (r"GET /collections", lambda server, _: server.local.get_collections()),
    (r"GET /aliases", lambda server, _: server.local.get_aliases()),
    (r"POST /collections/aliases", _aliases),
    (r"GET /collections/([^/]+)/exists", lambda server, name, _: {"exists": server.local.collection_exists(name)}),
    (r"GET /collections/([^/]+)", _info),
    (r"PUT /collections/([^/]+)", _create),
    (r"DELETE /collections/([^/]+)", lambda server, name, _: server.local.delete_collection(name)),
    (r"PUT /collections/([^/]+)/index", _index),
    (r"PUT /collections/([^/]+)/points", _upsert),
    (r"POST /collections/([^/]+)/points/delete", _delete),
    (r"POST /collections/([^/]+)/points", _retrieve),
    (r"POST /collections/([^/]+)/points/query/batch", _query),
    (r"POST /collections/([^/]+)/points/scroll", _scroll),
    (r"POST /collections/([^/]+)/points/count", lambda server, name, _: server.local.count(name)),
    (r"POST /collections/([^/]+)/facet", _facet),
]


@contextmanager
def qdrant_server() -> Iterator[Server]:
    """A server on a free port of loopback, for as long as the block runs."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if state.api_key and self.headers.get("api-key") != state.api_key:
                self._send(403, {"status": {"error": "forbidden"}})
                return
            try:
                with state.lock, warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    result = state.answer(self.command, self.path.partition("?")[0], json.loads(body or "null"))
            except (LookupError, ValueError) as error:
                self._send(400, {"status": {"error": str(error)}})
                return
            self._send(200, {"result": TypeAdapter(Any).dump_python(result, mode="json"), "status": "ok", "time": 0.0})

        do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815

        def _send(self, status: int, answer: Any) -> None:
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        state.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            http.shutdown()
            thread.join()
            state.local.close()
