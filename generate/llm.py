"""The seam to a language model: what it is asked, what it gives, and what that took.

`generate.endpoint` fills it with any chat model of LlamaIndex; `generate.remember` keeps what was written before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from kb.types import Usage

Schema = Mapping[str, object]

_WIDE = 1.6  # tokens of a character beyond ASCII: cl100k takes 1.3 to 1.5 for Chinese, newer vocabularies less
_NARROW = 0.4  # tokens of an ASCII character: identifiers and tables break into more pieces than prose


class Abandoned(Exception):
    """Whoever asked has gone: nobody is told, the work just ends."""


@dataclass(frozen=True)
class Message:
    """What is sent: the instructions, which are ours, and the request, which carries fenced evidence.

    `nonce` is what fences it: it changes with every call and changes nothing else, so a cache looks past it.
    """

    system: str
    user: str
    nonce: str = ""


class Meter:
    """What the calls for one answer took, and whether someone still waits for it."""

    def __init__(self, is_abandoned: Callable[[], bool] = lambda: False) -> None:
        self._is_abandoned = is_abandoned
        self.usage = Usage()

    def check(self) -> None:
        """
        Raises:
            Abandoned: if nobody waits any more.
        """
        if self._is_abandoned():
            raise Abandoned

    def add(self, one: Usage) -> None:
        total = self.usage
        costs = [usage.cost for usage in (total, one) if usage.cost is not None]
        self.usage = Usage(
            calls=total.calls + one.calls,
            cached=total.cached + one.cached,
            prompt_tokens=total.prompt_tokens + one.prompt_tokens,
            completion_tokens=total.completion_tokens + one.completion_tokens,
            cost=sum(costs) if costs else None,
        )


class LanguageModel(Protocol):
    """Writes text from instructions. Thread-safe. What it thinks before it writes is never part of the text."""

    @property
    def fingerprint(self) -> str:
        """Names the model and its settings, for the recipe of what it wrote."""
        ...

    @property
    def context_tokens(self) -> int:
        """Tokens that a request and its reply may take together."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens of the longest reply."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of `text`, or more: by the model's own tokenizer where it can be asked, else a safe count."""
        ...

    def stream(self, message: Message, *, schema: Schema | None = None, meter: Meter | None = None) -> Iterator[str]:
        """The reply in pieces, as it is written; JSON by `schema` where the server can promise that.

        Closing the iterator ends the request, and so does an abandoned `meter`, even while no piece comes.

        Raises:
            Truncated: after the last piece, if the reply was cut at the length limit.
            BrokenOff: after some pieces, if the connection broke.
            GenerationFailed: if the endpoint cannot be reached, refuses, stays overloaded or gives nothing.
            Abandoned: if nobody waits any more.
        """
        ...

    def complete(self, message: Message, *, schema: Schema | None = None, meter: Meter | None = None) -> str:
        """As `stream`, whole; a reply that breaks off is asked for again."""
        ...


def safe_count(text: str) -> int:
    """Tokens of `text` by any common tokenizer, or more; Chinese is not taken for Latin letters."""
    narrow = len(text.encode("ascii", "ignore"))
    return int(_NARROW * narrow + _WIDE * (len(text) - narrow)) + 1
