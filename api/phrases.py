"""The product's own words around an answer, in the language of its question.

They lie in `web/answer.json`, which the page reads, too: every face says the same.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kb.types import Lang, Mark, Page, Time


def phrase(lang: Lang, key: str, **values: object) -> str:
    """The words for `key`, with `values` in their places; English for a question in neither language."""
    return _phrases()["zh" if lang == "zh" else "en"][key].format(**values)


@cache
def _phrases() -> dict[str, dict[str, str]]:
    read: dict[str, dict[str, str]] = json.loads(files("api").joinpath("web/answer.json").read_text(encoding="utf-8"))
    return read


def versions(lang: Lang, as_of: str) -> str:
    """The versions that an answer speaks of, as a reader sees them: `v0.9, v0.10`."""
    return phrase(lang, "joint").join(shown_version(version) for version in as_of.split(", "))


def shown_version(version: str) -> str:
    return f"v{version.removeprefix('v')}"


def place(locator: Time | Page | Mark, lang: Lang = "en", title: str = "") -> str:
    """A locator as a person reads it; a heading that says what stands before it, the source's title, is left out."""
    if locator.type == "time":
        return f"{_moment(locator.start_ms)}–{_moment(locator.end_ms)}"
    if locator.type == "page":
        return phrase(lang, "page", n=locator.number) + (f" ({locator.label})" if locator.label else "")
    first, last = locator.line_start, locator.line_end
    lines = phrase(lang, "line", n=first) if first == last else phrase(lang, "lines", first=first, last=last)
    headings = [heading for heading in locator.heading_path if heading != title]
    return " › ".join((*headings[-2:], lines))


def _moment(milliseconds: int) -> str:
    minutes, seconds = divmod(milliseconds // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"
