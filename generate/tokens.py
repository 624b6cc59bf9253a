"""Counting with the tokenizer of the server that runs the model, where it offers one: vLLM and llama.cpp do."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from generate.llm import safe_count

if TYPE_CHECKING:
    import httpx

_TIMEOUT = 5.0  # seconds; a count is not worth waiting for


class ServerTokenizer:
    """Counts at `/tokenize` beside `/v1`; by `safe_count` from the first time on that the server gives no count.

    Args:
        client: makes the client; called at the first count.
        address: of the endpoint, with or without `/v1`.
        model: its name there.
    """

    def __init__(self, client: Callable[[], httpx.Client], address: str, model: str) -> None:
        self._client = client
        self._address = address.rstrip("/").removesuffix("/v1") + "/tokenize"
        self._model = model
        self._is_offered = True
        self.count = lru_cache(maxsize=4096)(self._count)

    def _count(self, text: str) -> int:
        counted = self._ask(text) if self._is_offered else None
        self._is_offered = counted is not None
        return safe_count(text) if counted is None else counted

    def _ask(self, text: str) -> int | None:
        import httpx

        body = {"model": self._model, "prompt": text, "content": text, "add_special_tokens": False}
        try:
            response = self._client().post(self._address, json=body, timeout=_TIMEOUT)
            found = response.raise_for_status().json()
        except (httpx.HTTPError, ValueError):
            return None
        if not isinstance(found, dict):
            return None
        counted, tokens = found.get("count"), found.get("tokens")
        if isinstance(counted, int):
            return counted
        return len(tokens) if isinstance(tokens, list) else None
