"""The YAML block that may open a note: told apart from a rule, and read key by key so that no line number moves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date as Date  # noqa: N812
from types import MappingProxyType

from kb.types import Dropped, Lang

_KEY_LINE = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_PROSE = ("description", "abstract", "summary", "excerpt")  # keys whose text a reader sees on the page


@dataclass(frozen=True)
class FrontMatter:
    """What the block says. `lines` is how many lines it takes; 0 where the note has none."""

    lines: int = 0
    values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    prose: tuple[tuple[int, int], ...] = ()  # first and last line of every description, counted from 1
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
        return self.values.get("url")

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


def read(lines: Sequence[str], where: str) -> FrontMatter:
    """The front matter of a note given as lines.

    A leading `---` opens front matter only if a closing `---` or `...` follows and keys stand between: otherwise it is
    a rule, and the text below it belongs to the note.
    """
    if not lines or lines[0].rstrip() != "---" or len(lines) < 2 or not lines[1].strip():
        return FrontMatter()
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() in ("---", "...")), None)
    if end is None:
        unclosed = Dropped(what="front matter", where=f"{where}, line 1", reason="it is not closed; read as text")
        return FrontMatter(dropped=(unclosed,) if _KEY_LINE.match(lines[1]) else ())
    return _parse(lines[1:end], end + 1, where)


def _parse(body: Sequence[str], taken: int, where: str) -> FrontMatter:
    import yaml

    try:
        # Composed, not constructed: `version: 0.20` and `date: 2026-03-01` stay the text that was written.
        node = yaml.compose("\n".join(body), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        return _salvage(body, taken, where, error)
    if not isinstance(node, yaml.MappingNode):
        return FrontMatter()
    values: dict[str, str] = {}
    prose: list[tuple[int, int]] = []
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or re.search(r"\s", key.value):
            return FrontMatter()
        if isinstance(value, yaml.ScalarNode) and value.value.strip():
            name = key.value.lower()
            values[name] = value.value.strip()
            if name in _PROSE:
                last = value.end_mark.line - (value.end_mark.column == 0)
                prose.append((key.start_mark.line + 2, max(last, key.start_mark.line) + 2))
    return FrontMatter(taken, values, tuple(prose), _unread_date(values, where))


def _salvage(body: Sequence[str], taken: int, where: str, error: Exception) -> FrontMatter:
    """Keys line by line where YAML gives up, as on `title: vLLM: a tour`; prose that is no YAML is no front matter."""
    if not _KEY_LINE.match(body[0]):
        return FrontMatter()
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 2 if mark else 2
    reason = f"it is not valid YAML ({getattr(error, 'problem', None) or type(error).__name__}); read line by line"
    found = (match for match in map(_KEY_LINE.match, body) if match and match[2])
    values = {match[1].lower(): match[2].strip().strip("\"'") for match in found}
    bad = Dropped(what="front matter", where=f"{where}, line {line}", reason=reason)
    return FrontMatter(taken, values, (), (bad, *_unread_date(values, where)))


def _unread_date(values: Mapping[str, str], where: str) -> tuple[Dropped, ...]:
    date = values.get("date", "")
    if not date or calendar_date(date):
        return ()
    return (Dropped(what=f"date {date!r}", where=f"{where}, front matter", reason="it is not written as 2026-03-01"),)
