"""What a person calls a source or a talk."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from kb.errors import BadRequest, NotFound
from kb.files import path_of
from kb.types import SourceEntry, Talk

T = TypeVar("T")
_SHORTEST_ID = 4
_SHOWN = 8


def source(name: str, entries: Sequence[SourceEntry]) -> SourceEntry:
    """By id, uri, path, end of the path, title, or start of the id: the first of these that fits.

    Raises:
        BadRequest: if several sources answer to the name.
        NotFound: if none does.
    """
    wanted = _plain(name)
    absolute = _plain(str(Path(name).absolute())) if "\0" not in name else wanted
    ways: list[Callable[[SourceEntry], bool]] = [
        lambda entry: name in (entry.source.id, entry.source.uri),
        lambda entry: _path(entry.source.uri) == absolute,
        lambda entry: _path(entry.source.uri).endswith("/" + wanted.removeprefix("./").lstrip("/")),
        lambda entry: _plain(entry.source.title).casefold() == wanted.casefold(),
        lambda entry: len(name) >= _SHORTEST_ID and entry.source.id.startswith(name.casefold()),
    ]
    return _resolve("source", wanted, entries, ways, lambda entry: f"{_path(entry.source.uri)} ({entry.source.id[:8]})")


def talk(name: str, talks: Sequence[Talk]) -> Talk:
    """By id, title, or start of the id: the first of these that fits.

    Raises:
        BadRequest: if several talks answer to the name.
        NotFound: if none does.
    """
    wanted = _plain(name)
    ways: list[Callable[[Talk], bool]] = [
        lambda talk: talk.id == wanted,
        lambda talk: _plain(talk.title).casefold() == wanted.casefold(),
        lambda talk: talk.id.startswith(wanted.casefold()),
    ]
    return _resolve("talk", wanted, talks, ways, lambda talk: f"{talk.title} ({talk.id})")


def unknown(what: str, name: str, known: Iterable[str]) -> NotFound:
    """The error for a name that nothing answers to, with the names that come near."""
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    remedy = f"Did you mean {' or '.join(near)}?" if near else "`kb ls` lists what there is"
    return NotFound(f"there is no {what} {name[:200]!r}", remedy=remedy)


def _resolve(
    what: str, name: str, known: Sequence[T], ways: Sequence[Callable[[T], bool]], label: Callable[[T], str]
) -> T:
    if not name:
        raise BadRequest(f"the name of a {what} must not be empty", remedy="`kb ls` lists what there is")
    for way in ways:
        fitting = [item for item in known if way(item)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            shown = ", ".join(label(item) for item in fitting[:_SHOWN]) + (", …" if len(fitting) > _SHOWN else "")
            raise BadRequest(f"{name!r} may be one of {len(fitting)} {what}s: {shown}", remedy="Give more of the name")
    names = {label(item).rpartition("/")[2].rpartition(" (")[0]: label(item) for item in known}
    raise unknown(what, name.rpartition("/")[2], names)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name.strip())


def _path(uri: str) -> str:
    return _plain(str(path_of(uri)))
