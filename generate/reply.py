"""What a language model replies: claims with evidence ids and quotes, read tolerantly, trusted in nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from generate.llm import Schema
from generate.thinking import after_thoughts
from kb.errors import GenerationFailed


class Asked(BaseModel):
    """Base of what else a model is asked for: its schema is closed, as servers demand of strict ones, but what a reply
    has beyond it is passed over."""

    model_config = ConfigDict(frozen=True, json_schema_extra={"additionalProperties": False})


class Supporting(BaseModel):
    """Evidence that carries a sentence. A model is asked for its id alone; one that gives words of it, too, is held to
    them."""

    model_config = ConfigDict(frozen=True)

    id: str
    quote: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_id(cls, value: object) -> object:
        return {"id": value} if isinstance(value, str) else value


class Drafted(BaseModel):
    """A sentence as the model wrote it."""

    model_config = ConfigDict(frozen=True)

    text: str
    support: tuple[Supporting, ...] = ()


class Reply(BaseModel):
    model_config = ConfigDict(frozen=True)

    claims: tuple[Drafted, ...] = Field(default=())


Shape = TypeVar("Shape", bound=BaseModel)

_MOST_CLAIMS = 5  # as the prompt says
_MOST_IDS = 3

_FENCED = re.compile(r"```[a-z]*\s*\n(.*?)```", re.S)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_OPENING = re.compile(r"\s*(?:```[a-z]*\s*)?(?=[{\[])")
_CLAIMS = re.compile(r'"claims"\s*:\s*$')


def parse(text: str) -> Reply:
    """Read a reply of claims that may be fenced, preceded by thoughts or chatter, or end its lists with a comma.

    Raises:
        GenerationFailed: if it holds no such JSON.
    """
    value = _json_of(text, "{[")
    return _validated({"claims": value} if isinstance(value, list) else value, Reply)


def read(text: str, shape: type[Shape]) -> Shape:
    """Read a reply as tolerantly as `parse` does, as the JSON object that `schema_of(shape)` asked for.

    Raises:
        GenerationFailed: if it holds no such JSON.
    """
    return _validated(_json_of(text, "{"), shape)


def schema_of(shape: type[Asked]) -> Schema:
    """The JSON schema of a reply that `read` takes."""
    return shape.model_json_schema()


def _validated(value: object, shape: type[Shape]) -> Shape:
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        raise _unread(_misfit(error)) from error


def _misfit(error: ValidationError) -> str:
    """The first thing that does not fit, and where it stands."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"])) or "the whole"
    what = "is missing" if first["type"] == "missing" else "is not of the kind that was asked for"
    return f"`{place}` {what}"


def _json_of(text: str, brackets: str) -> object:
    """The first JSON value in `text` that begins with one of `brackets`."""
    text = after_thoughts(text)
    fenced = _FENCED.search(text)
    body = fenced[1] if fenced and not text.lstrip().startswith(("{", "[")) else text
    opening = re.search(f"[{re.escape(brackets)}]", body)
    if opening is None:
        raise _unread("no JSON in it")
    try:
        return _first_value(body[opening.start() :])
    except json.JSONDecodeError as error:
        raise _unread(f"it breaks at character {error.pos}") from error


def _unread(reason: str) -> GenerationFailed:
    return GenerationFailed(f"the model's reply is not the JSON that was asked for: {reason}")


def _first_value(text: str) -> object:
    """The JSON value that `text` begins with; commas that should not be there go only where nothing else helps."""
    decoder = json.JSONDecoder(strict=False)
    try:
        return decoder.raw_decode(text)[0]
    except json.JSONDecodeError:
        return decoder.raw_decode(_TRAILING_COMMA.sub(r"\1", text))[0]


class ClaimStream:
    """Reads claims out of a reply while it is being written: each as soon as its last brace is there.

    A reply that does not begin with its JSON is read at its end, because what stands in front may be thoughts.
    """

    def __init__(self) -> None:
        self.text = ""
        self._at = -1  # the next character to look at; -1 until the JSON begins
        self._open: list[str] = []  # brackets around it
        self._start = 0  # of the claim
        self._is_string = self._is_escaped = self._is_in_claims = False
        self._given: list[Drafted] = []
        self._is_broken = False

    def feed(self, piece: str) -> list[Drafted]:
        """The claims that `piece` completes."""
        self.text += piece
        if self._at < 0 and (opening := _OPENING.match(self.text)):
            self._at = opening.end()
        if self._at < 0 or self._is_broken:
            return []
        before = len(self._given)
        while self._at < len(self.text) and not self._is_broken:
            self._look(self.text[self._at])
            self._at += 1
        return self._given[before:]

    def close(self) -> list[Drafted]:
        """The claims that were not given yet.

        Raises:
            GenerationFailed: if the reply as a whole is not what was asked for.
        """
        return list(parse(self.text).claims[len(self._given) :])

    def _look(self, character: str) -> None:
        if self._is_string:
            self._is_string = self._is_escaped or character != '"'
            self._is_escaped = character == "\\" and not self._is_escaped
        elif character == '"':
            self._is_string = True
        elif character in "{[":
            if character == "[" and self._open in ([], ["{"]):
                self._is_in_claims = not self._open or bool(_CLAIMS.search(self.text, 0, self._at))
            elif character == "{" and self._is_claim():
                self._start = self._at
            self._open.append(character)
        elif character in "}]" and self._open:
            self._open.pop()
            if character == "}" and self._is_claim():
                self._give(self.text[self._start : self._at + 1])

    def _is_claim(self) -> bool:
        """Whether a brace here begins or ends a claim."""
        return self._is_in_claims and self._open in (["["], ["{", "["])

    def _give(self, written: str) -> None:
        try:
            self._given.append(Drafted.model_validate(_first_value(written)))
        except (json.JSONDecodeError, ValidationError):
            self._is_broken = True  # `close` tells of it


def schema(ids: Sequence[str], *, quotes: bool = False) -> Schema:
    """The JSON schema of a reply that may cite `ids` and no others, with or without the words that it relies on.

    Lists end, however fond of them a model is.
    """
    named: Schema = {"type": "string", "enum": list(ids)}
    quoting: Schema = {
        "type": "object",
        "properties": {"id": named, "quote": {"type": "string"}},
        "required": ["id", "quote"],
        "additionalProperties": False,
    }
    support = {"type": "array", "items": quoting if quotes else named, "minItems": 1, "maxItems": _MOST_IDS}
    claim = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "support": support},
        "required": ["text", "support"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"claims": {"type": "array", "items": claim, "maxItems": _MOST_CLAIMS}},
        "required": ["claims"],
        "additionalProperties": False,
    }
