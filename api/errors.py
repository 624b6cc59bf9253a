"""Errors as `application/problem+json` (RFC 9457): one shape for ours, for validation and for routing."""

from __future__ import annotations

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from api.messages import ProblemDetails
from api.problems import PROBLEMS, TYPE_PREFIX, problem_of
from kb.errors import KBError, LibraryBusy, MissingDependency, StorageFailed, Unauthorized

SCHEMA = "/v1/openapi.json"

_log = structlog.get_logger()


class ProblemResponse(JSONResponse):
    media_type = "application/problem+json"


def details_of(error: KBError) -> ProblemDetails:
    problem = problem_of(error)
    return ProblemDetails(
        type=problem.type,
        title=problem.title,
        status=problem.status,
        detail=error.what,
        where=error.where,
        remedy=error.remedy or problem.remedy,
    )


def problem_response(error: KBError, status: int | None = None, headers: dict[str, str] | None = None) -> JSONResponse:
    details = details_of(error)
    extra = dict(headers or {})
    if isinstance(error, Unauthorized):
        extra["WWW-Authenticate"] = "Bearer"
    if isinstance(error, LibraryBusy | MissingDependency):
        extra["Retry-After"] = "2"
    return ProblemResponse(details.model_dump(mode="json"), status or details.status, extra)


def handle_errors(app: FastAPI) -> None:
    """Teach `app` to answer every error as a problem; what nobody foresaw is logged and told without its inside."""

    @app.exception_handler(KBError)
    async def ours(_: Request, error: KBError) -> JSONResponse:
        return problem_response(error)

    @app.exception_handler(OSError)
    async def storage(request: Request, error: OSError) -> JSONResponse:
        _log.error("storage failed", path=request.url.path, error=repr(error))
        return problem_response(StorageFailed.of(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        faults = tuple(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        title, remedy = "The request does not fit the schema", f"Compare it with the schema at {SCHEMA}"
        return _plain(422, "invalid-request", title, remedy, faults)

    @app.exception_handler(HTTPException)
    async def routing(_: Request, error: HTTPException) -> JSONResponse:
        headers = error.headers or {}
        remedy = f"This address takes {headers['Allow']}" if "Allow" in headers else f"{SCHEMA} lists the addresses"
        response = _plain(error.status_code, f"http-{error.status_code}", str(error.detail), remedy)
        response.headers.update(headers)
        return response

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> JSONResponse:
        _log.error("request failed", path=request.url.path, error=repr(error))
        title = "The service met a fault of its own; its log says more"
        return _plain(500, "error", title, PROBLEMS[KBError].remedy)


def _plain(status: int, slug: str, title: str, remedy: str, errors: tuple[str, ...] = ()) -> JSONResponse:
    details = ProblemDetails(
        type=TYPE_PREFIX + slug,
        title=title,
        status=status,
        detail="; ".join(errors) or title,
        remedy=remedy,
        errors=errors,
    )
    return ProblemResponse(details.model_dump(mode="json"), status)
