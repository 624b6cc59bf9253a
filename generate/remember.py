"""Replies that were written before: by what was asked and the model that was asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from generate.llm import LanguageModel, Message, Meter, Schema
from kb.files import write_whole
from kb.types import Usage


class RememberingModel:
    """A `LanguageModel` that asks `inner` only once for the same; a reply is kept when it is whole.

    A reply that was to be JSON and is none is not kept: asking again may help. Files can be deleted at any time.

    Args:
        inner: the model.
        folder: one file for each reply lies there.
        recipe: of the model, with the place where it runs: `default` is another model on every server.
    """

    def __init__(self, inner: LanguageModel, folder: Path, recipe: str) -> None:
        self._inner = inner
        self._folder = folder
        self._recipe = recipe

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    @property
    def context_tokens(self) -> int:
        return self._inner.context_tokens

    @property
    def max_tokens(self) -> int:
        return self._inner.max_tokens

    def count_tokens(self, text: str) -> int:
        return self._inner.count_tokens(text)

    def stream(self, message: Message, *, schema: Schema | None = None, meter: Meter | None = None) -> Iterator[str]:
        kept = self._path(message, schema)
        if (text := _read(kept)) is not None:
            _count(meter)
            yield text
            return
        pieces = []
        for piece in self._inner.stream(message, schema=schema, meter=meter):
            pieces.append(piece)
            yield piece
        _keep(kept, "".join(pieces), schema)

    def complete(self, message: Message, *, schema: Schema | None = None, meter: Meter | None = None) -> str:
        kept = self._path(message, schema)
        if (text := _read(kept)) is not None:
            _count(meter)
            return text
        text = self._inner.complete(message, schema=schema, meter=meter)
        _keep(kept, text, schema)
        return text

    def close(self) -> None:
        if callable(close := getattr(self._inner, "close", None)):
            close()

    def _path(self, message: Message, schema: Schema | None) -> Path:
        asked = [message.system, message.user]
        if message.nonce:
            asked = [text.replace(message.nonce, "") for text in asked]
        told = "\x1f".join((self._recipe, *asked, json.dumps(schema, sort_keys=True)))
        return self._folder / f"{hashlib.sha256(told.encode()).hexdigest()}.txt"


def _count(meter: Meter | None) -> None:
    if meter is not None:
        meter.check()
        meter.add(Usage(calls=1, cached=1))


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None


def _keep(path: Path, text: str, schema: Schema | None) -> None:
    if schema is not None and not _is_json(text):
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError:
        return  # it saves time and holds nothing that cannot be written again


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
