"""How an endpoint fails: what passes by itself, how long to wait, and what a person is told."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tenacity

_LONGEST = 30.0  # seconds between two attempts, whatever the server asks for
_NAMES = {
    "schema": ("response_format", "json_schema", "schema", "guided", "grammar"),
    "usage": ("stream_options", "include_usage"),
}


def is_transient(error: BaseException) -> bool:
    import httpx
    import openai

    if isinstance(error, openai.APITimeoutError | httpx.TimeoutException):
        return False  # it has waited long enough
    passing = openai.APIConnectionError | openai.RateLimitError | openai.InternalServerError | httpx.TransportError
    return isinstance(error, passing)


def pause(state: tenacity.RetryCallState) -> float:
    """Seconds until the next attempt: as long as the server asks, else half a second, doubled each time; with jitter,
    so that callers that were turned away together do not come back together."""
    error = state.outcome.exception() if state.outcome else None
    asked = getattr(getattr(error, "response", None), "headers", {}).get("retry-after", "")
    backoff = 0.5 * 2 ** (state.attempt_number - 1)
    wait = float(asked) if asked.isdecimal() else backoff
    return min(wait, _LONGEST) + random.uniform(0, backoff)  # noqa: S311 - no secret


def unknown_option(error: Exception, sent: set[str]) -> str | None:
    """Which of the options that were sent the server says it does not know."""
    said = str(error).lower()
    return next((option for option in sorted(sent, reverse=True) if any(name in said for name in _NAMES[option])), None)


def explain(error: Exception) -> tuple[str, str]:
    """What happened, and what to do."""
    import httpx
    import openai

    match error:
        case httpx.HTTPError():
            return "the endpoint broke off", "Look at the server's log"
        case openai.APITimeoutError():
            return "no answer in time", "Raise KB_LLM_TIMEOUT, or use a faster model"
        case openai.APIConnectionError():
            return "the endpoint cannot be reached or broke off", "Start the server, or correct KB_LLM_BASE_URL"
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return "the endpoint refused the key", "Set KB_LLM_API_KEY to a key that may use this model"
        case openai.NotFoundError():
            return "the endpoint knows no such model", "Set KB_LLM_MODEL to a name that its /v1/models lists"
        case openai.RateLimitError():
            return "the endpoint is rate limited", "Wait, or use another endpoint"
        case openai.BadRequestError() | openai.UnprocessableEntityError():
            return f"the endpoint refused the request: {error}", "Check KB_LLM_CONTEXT_TOKENS against the server"
        case openai.APIStatusError(status_code=status):
            return f"the endpoint failed with status {status}", "Look at the server's log"
        case _:
            return f"the endpoint failed: {error}", "Look at the server's log"
