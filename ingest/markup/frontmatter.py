"""The front matter that may open a note, as YAML, TOML (`+++`) or JSON: told apart from a rule and from text, and kept
with its lines."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date as Date  # noqa: N812
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from ingest.markup.unseen import line_numbers
from kb.types import Dropped, Lang

_KEY_LINE = re.compile(r"()[\"']?([A-Za-z_][\w-]*)[\"']?[ \t]*:(?:[ \t]+(.*))?$")
_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_FACTS = ("title", "lang", "language", "date", "version", "url", "licence", "license")  # said of the whole note
_PROSE = (  # keys whose text a reader sees on the page
    *("description", "abstract", "summary", "excerpt", "subtitle"),
    *("author", "authors", "tags", "keywords", "categories"),
)


@dataclass(frozen=True)
class FrontMatter:
    """What the block says. `lines` is how many lines it takes; 0 where the note has none."""

    lines: int = 0
    values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    prose: tuple[tuple[int, int], ...] = ()  # first and last line of what readers see, counted from 1
    dropped: tuple[Dropped, ...] = ()

    @property
    def title(self) -> str | None:
        return self.values.get("title")

    @property
    def lang(self) -> Lang | None:
        return language(self.values.get("lang") or self.values.get("language") or "")

    @property
    def date(self) -> Date | None:
        return calendar_date(self.values.get("date", ""))

    @property
    def version(self) -> str | None:
        return self.values.get("version")

    @property
    def url(self) -> str | None:
        return web_address(self.values.get("url", ""))

    @property
    def licence(self) -> str | None:
        return self.values.get("licence") or self.values.get("license")


def language(tag: str) -> Lang | None:
    """`zh-CN`, `zh_Hans` and `zh` as `zh`; None for a language that we do not know."""
    primary = re.split(r"[-_]", tag.strip().lower())[0]
    return "zh" if primary == "zh" else "en" if primary == "en" else None


def calendar_date(text: str) -> Date | None:
    """The day that `text` begins with, in the order year, month, day; None where there is none."""
    found = _DATE.match(text.strip())
    if not found:
        return None
    try:
        return Date(*map(int, found.groups()))
    except ValueError:
        return None


def web_address(text: str) -> str | None:
    """`text` if it names a page on the web: readers are sent there with a click."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    return text if parts.scheme in ("http", "https") and parts.netloc else None


class _Form(NamedTuple):
    """A way to write front matter: its first and last lines, its keys, and its values as text."""

    opening: str
    closing: tuple[str, ...]
    key: re.Pattern[str]
    values: Callable[[Sequence[str]], dict[str, str]]
    inside: bool  # whether the first and last lines belong to what is parsed


class _NoFrontMatter(Exception):
    """What stands between the lines is text."""


def read(lines: Sequence[str], where: str) -> FrontMatter:
    """The front matter of a note given as lines.

    A leading `---` opens front matter only if a closing `---` or `...` follows and keys stand between: otherwise it is
    a rule, and the text below it belongs to the note. `+++` opens TOML, and `{` on a line of its own JSON, as in Hugo.
    """
    form = next((form for form in _FORMS if lines and lines[0].rstrip() == form.opening), None)
    if form is None or len(lines) < 2 or not lines[1].strip():
        return FrontMatter()
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() in form.closing), None)
    if end is None:
        unclosed = Dropped(what="front matter", where=f"{where}, line 1", reason="it is not closed; read as text")
        return FrontMatter(dropped=(unclosed,) if form.key.match(lines[1]) else ())
    body = lines[0 : end + 1] if form.inside else lines[1:end]
    places = _places(lines[1:end], form.key)
    damage: tuple[Dropped, ...] = ()
    try:
        values = form.values(body)
    except _NoFrontMatter:
        return FrontMatter()
    except (ValueError, RecursionError) as error:
        if not places or places[0].first != 2:
            return FrontMatter()
        values = _salvaged(lines[1:end], form.key)
        damage = (_damage(error, where),)
    return FrontMatter(
        lines=end + 1,
        values=values,
        prose=tuple((place.first, place.last) for place in places if place.key in _PROSE),
        dropped=(*damage, *_unread_date(values, where), *_unread_url(values, where), *_settings(places, where)),
    )


def _yaml(body: Sequence[str]) -> dict[str, str]:
    import yaml

    try:
        # Composed, not constructed: `version: 0.20` and `date: 2026-03-01` stay the text that was written.
        node = yaml.compose("\n".join(body), Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(getattr(error, "problem", None) or type(error).__name__, _line_of(error)) from error
    if not isinstance(node, yaml.MappingNode):
        raise _NoFrontMatter
    if any(not isinstance(key, yaml.ScalarNode) or re.search(r"\s", key.value) for key, _ in node.value):
        raise _NoFrontMatter
    return {
        key.value.lower(): value.value.strip()
        for key, value in node.value
        if isinstance(value, yaml.ScalarNode) and value.value.strip()
    }


def _line_of(error: Exception) -> int:
    mark = getattr(error, "problem_mark", None)
    return mark.line + 2 if mark else 2


def _toml(body: Sequence[str]) -> dict[str, str]:
    return _scalars(tomllib.loads("\n".join(body), parse_float=str))


def _json(body: Sequence[str]) -> dict[str, str]:
    return _scalars(json.loads("\n".join(body), parse_float=str, parse_int=str))


def _scalars(values: Mapping[str, object]) -> dict[str, str]:
    return {key.lower(): str(value).strip() for key, value in values.items() if not isinstance(value, dict | list)}


_FORMS = (
    _Form("---", ("---", "..."), _KEY_LINE, _yaml, inside=False),
    _Form("+++", ("+++",), re.compile(r"()\[*\"?([A-Za-z_][\w.-]*)\"?\]*[ \t]*(?:=[ \t]*(.*))?$"), _toml, inside=False),
    _Form("{", ("}",), re.compile(r"([ \t]*)\"([A-Za-z_][\w-]*)\"[ \t]*:[ \t]*(.*)$"), _json, inside=True),
)


class _Place(NamedTuple):
    """A key and its first and last line, counted from 1."""

    key: str
    first: int
    last: int


def _places(body: Sequence[str], key: re.Pattern[str]) -> list[_Place]:
    """The keys of the outermost level, each up to the next one."""
    found = [(number, match) for number, line in enumerate(body) if (match := key.match(line))]
    outermost = found[0][1][1] if found else ""
    starts = [(number, match[2].lower()) for number, match in found if match[1] == outermost]
    ends = [*(number for number, _ in starts[1:]), len(body)]
    return [_Place(name, start + 2, end + 1) for (start, name), end in zip(starts, ends, strict=False)]


def _salvaged(body: Sequence[str], key: re.Pattern[str]) -> dict[str, str]:
    """Keys line by line where the parser gives up, as on `title: vLLM: a tour`."""
    found = (match for match in map(key.match, body) if match and match[3])
    return {match[2].lower(): match[3].strip().rstrip(",").strip("\"'") for match in found}


def _damage(error: Exception, where: str) -> Dropped:
    problem, line = (*error.args, 2)[:2] if len(error.args) == 2 else (str(error) or type(error).__name__, 2)
    reason = f"it is not valid ({problem}); read line by line"
    return Dropped(what="front matter", where=f"{where}, line {line}", reason=reason)


def _settings(places: Sequence[_Place], where: str) -> tuple[Dropped, ...]:
    rest = [place for place in places if place.key not in (*_FACTS, *_PROSE)]
    if not rest:
        return ()
    keys = ", ".join(dict.fromkeys(place.key for place in rest))
    lines = line_numbers([(place.first, place.last) for place in rest])
    reason = "settings of the site, not part of the text"
    return (Dropped(what=f"front matter: {keys}", where=f"{where}, {lines}", reason=reason),)


def _unread_date(values: Mapping[str, str], where: str) -> tuple[Dropped, ...]:
    date = values.get("date", "")
    if not date or calendar_date(date):
        return ()
    return (Dropped(what=f"date {date!r}", where=f"{where}, front matter", reason="it is not written as 2026-03-01"),)


def _unread_url(values: Mapping[str, str], where: str) -> tuple[Dropped, ...]:
    url = values.get("url", "")
    if not url or web_address(url):
        return ()
    return (Dropped(what=f"url {url!r}", where=f"{where}, front matter", reason="it does not begin with https://"),)
