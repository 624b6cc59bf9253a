"""The HTTP service: routes, guards and errors put together around one `Service`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from api.auth import Keys
from api.errors import SCHEMA, handle_errors
from api.messages import ProblemDetails
from api.middleware import LOOPBACK_NAMES, BodyLimit, HeadAsGet, SameOrigin, SecurityHeaders
from api.routes import corrections, gaps, health, pages, search, sources, writing
from api.service import Service
from api.workers import Workers

_PROBLEM = {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}}


def create_app(service: Service, keys: Keys, on_stop: Callable[[], None] = lambda: None) -> FastAPI:
    """The application. It closes neither `service` nor anything else of the caller; `on_stop` runs as it shuts down."""
    workers = Workers()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with ExitStack() as ending:  # whatever happens, both, the last one first
            ending.callback(on_stop)
            ending.callback(workers.close)
            warming = asyncio.ensure_future(workers.run(service.warm))
            yield
            await warming

    app = FastAPI(
        title="vLLM Notes KB",
        version=version("vllm-notes-kb"),
        summary="Search, cited answers and articles over talks and notes.",
        openapi_url=SCHEMA,
        docs_url=None,  # the viewers that FastAPI brings load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        responses={"default": {"description": "A problem (RFC 9457)", "model": ProblemDetails, **_PROBLEM}},
    )
    app.state.service, app.state.workers, app.state.keys = service, workers, keys
    for module in (search, gaps, sources, corrections, writing, health, pages):
        app.include_router(module.router)
    app.mount("/assets", StaticFiles(directory=pages.WEB), name="assets")
    handle_errors(app)
    app.add_middleware(HeadAsGet)
    app.add_middleware(BodyLimit)
    app.add_middleware(SameOrigin, hosts=None if keys.reader else LOOPBACK_NAMES)
    app.add_middleware(SecurityHeaders)  # outermost, so that refusals carry the headers, too
    return app
