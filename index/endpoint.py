"""An OpenAI-compatible endpoint that embeds, such as vLLM's `/v1/embeddings`."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np
import tenacity
from numpy.typing import NDArray

from index.embed import estimate_tokens, normalised
from kb.errors import GenerationFailed, LimitExceeded

_ATTEMPTS = 5
_BACKOFF = tenacity.wait_random_exponential(max=20)
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_TOO_LONG = re.compile(r"maximum|too long|context length|max_model_len", re.IGNORECASE)
_DEFAULT_MAX_TOKENS = 512  # where the server does not say


class _Passing(Exception):
    """A failure that may be over soon."""


class EndpointEmbedder:
    """Facts that are not given are asked of the server: the dimension by one call, the longest text by its model card.

    Texts are sent whole; a server that finds one too long says so, and that is `LimitExceeded` here.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        batch_size: int = 16,
        transport: httpx.BaseTransport | None = None,
        wait: tenacity.wait.wait_base = _BACKOFF,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._model = model
        self._query_prefix = query_prefix
        self._passage_prefix = passage_prefix
        self._batch_size = batch_size
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            timeout=httpx.Timeout(60, connect=10),
            transport=transport,
        )
        self._retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type((httpx.TransportError, _Passing)),
            stop=tenacity.stop_after_attempt(_ATTEMPTS),
            wait=wait,
            reraise=True,
        )

    @property
    def fingerprint(self) -> str:
        return f"{self._model} query={self._query_prefix!r} document={self._passage_prefix!r} endpoint normalised"

    @functools.cached_property
    def dimension(self) -> int:
        return int(self._embed(["dimension"]).shape[1])

    @functools.cached_property
    def max_tokens(self) -> int:
        cards = self._call("GET", "/models").get("data", [])
        lengths = [card.get("max_model_len") for card in cards if card.get("id") == self._model]
        return int(lengths[0]) if lengths and lengths[0] else _DEFAULT_MAX_TOKENS

    def count_tokens(self, text: str) -> int:
        """An estimate: the server's tokenizer is unknown."""
        return estimate_tokens(self._passage_prefix + text)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._embed([self._query_prefix + text])[0]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        batches = [texts[start : start + self._batch_size] for start in range(0, len(texts), self._batch_size)]
        rows = [self._embed([self._passage_prefix + text for text in batch]) for batch in batches]
        return np.concatenate(rows) if rows else np.zeros((0, self.dimension), dtype=np.float32)

    def close(self) -> None:
        """Let go of the connections to the endpoint; it cannot be asked after that."""
        self._http.close()

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        answer = self._call("POST", "/embeddings", {"model": self._model, "input": texts, "encoding_format": "float"})
        try:
            data = sorted(answer["data"], key=lambda item: item["index"])
            rows = np.array([item["embedding"] for item in data], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise self._failed(f"an answer without embeddings ({error!r})") from error
        if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
            raise self._failed(f"{len(data)} embeddings of uneven length or not finite for {len(texts)} texts")
        return normalised(rows)

    def _call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        try:
            return self._retrying(self._once, method, path, body)
        except (httpx.HTTPError, _Passing) as error:
            raise self._failed(str(error) or type(error).__name__) from error

    def _once(self, method: str, path: str, body: object) -> dict[str, Any]:
        response = self._http.request(method, self._base_url + path, json=body)
        if response.status_code in _PASSING:
            raise _Passing(f"status {response.status_code}")
        if response.status_code == httpx.codes.BAD_REQUEST and _TOO_LONG.search(response.text):
            raise LimitExceeded(
                "a text is longer than the endpoint's model reads",
                where=self._model,
                remedy="lower KB_INGEST_CHUNK_TOKENS",
            )
        if response.is_error:
            raise self._failed(f"status {response.status_code}: {response.text[:200]}")
        try:
            answer: dict[str, Any] = response.json()
        except ValueError as error:
            raise self._failed("an answer that is no JSON") from error
        return answer

    def _failed(self, why: str) -> GenerationFailed:
        return GenerationFailed(
            f"the embedding endpoint did not answer as it should: {why}",
            where=self._model,
            remedy="check KB_EMBED_BASE_URL, KB_EMBED_MODEL and KB_EMBED_API_KEY, and that the server runs",
            endpoint=self._base_url,
        )
