"""What came of one call to a model: pieces, how it ended, tokens, seconds."""

from __future__ import annotations

import time
from typing import Any

from generate.llm import Message, safe_count
from kb.settings import LLMSettings
from kb.types import Usage


class Tally:
    def __init__(self, message: Message) -> None:
        self._message = message
        self._started = time.monotonic()
        self._counts: tuple[int, int] | None = None
        self._written = 0
        self.pieces = 0
        self.finish: str | None = None  # as the server gives it: `stop`, `length`; None if it broke off

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def take(self, response: Any) -> None:  # noqa: ANN401 - LlamaIndex is untyped here
        """Count one `ChatResponse` of a stream."""
        self.pieces += 1
        for choice in getattr(response.raw, "choices", None) or ():
            self.finish = getattr(choice, "finish_reason", None) or self.finish
        thought = (response.additional_kwargs or {}).get("thinking_delta") or ""
        self._written += safe_count(f"{thought}{response.delta or ''}")
        usage = getattr(response.raw, "usage", None)
        read, written = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
        if isinstance(read, int) and isinstance(written, int):
            self._counts = read, written

    def usage(self, settings: LLMSettings) -> Usage:
        """The server's counts, else safe ones; the cost where the settings give prices."""
        read, written = self._counts or (safe_count(f"{self._message.system}\n{self._message.user}"), self._written)
        cost = None
        if settings.price_prompt is not None or settings.price_completion is not None:
            cost = (read * (settings.price_prompt or 0) + written * (settings.price_completion or 0)) / 10**6
        return Usage(calls=1, prompt_tokens=read, completion_tokens=written, cost=cost)
