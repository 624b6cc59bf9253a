"""What a language model replies: claims with evidence ids and quotes, read tolerantly, trusted in nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from generate.llm import Schema
from kb.errors import GenerationFailed


class Supporting(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: str
    quote: str


class Drafted(BaseModel):
    """A sentence as the model wrote it."""

    model_config = ConfigDict(frozen=True)

    text: str
    support: tuple[Supporting, ...] = ()


class Reply(BaseModel):
    model_config = ConfigDict(frozen=True)

    claims: tuple[Drafted, ...] = Field(default=())


_FENCED = re.compile(r"```[a-z]*\s*\n(.*?)```", re.S)
_THOUGHT = re.compile(r"<think>.*?</think>", re.S)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


def parse(text: str) -> Reply:
    """Read a reply that may be fenced, preceded by thoughts or chatter, or end its lists with a comma.

    Raises:
        GenerationFailed: if it holds no such JSON.
    """
    text = _THOUGHT.sub("", text)
    fenced = _FENCED.search(text)
    body = fenced[1] if fenced else text
    error: Exception = ValueError("no JSON object in it")
    for opening in re.finditer(r"[{\[]", body):
        try:
            value, _ = json.JSONDecoder(strict=False).raw_decode(_TRAILING_COMMA.sub(r"\1", body[opening.start() :]))
            return Reply.model_validate({"claims": value} if isinstance(value, list) else value)
        except (json.JSONDecodeError, ValidationError) as problem:
            error = problem
            break
    raise GenerationFailed(f"the model's reply is not the JSON that was asked for: {error}")


def schema(ids: Sequence[str]) -> Schema:
    """The JSON schema of a reply that may cite `ids` and no others."""
    support = {
        "type": "object",
        "properties": {"id": {"type": "string", "enum": list(ids)}, "quote": {"type": "string"}},
        "required": ["id", "quote"],
        "additionalProperties": False,
    }
    claim = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "support": {"type": "array", "items": support}},
        "required": ["text", "support"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"claims": {"type": "array", "items": claim}},
        "required": ["claims"],
        "additionalProperties": False,
    }
