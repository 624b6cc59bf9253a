"""What the site needs beyond plain configuration: only curated posts, cards from front matter, a link to the twin page,
and no page that acts.

MkDocs loads this file (`hooks:` in `site/mkdocs.yml`). It stands outside `site/`, which holds no Python.
"""

from __future__ import annotations

import datetime
import logging
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.utils import get_relative_url, meta

POSTS = "posts/"

logging.getLogger("jieba").setLevel(logging.WARNING)  # it tells of its dictionary on each build
_TWIN = {"zh": ("en", "en/"), "en": ("zh", "../")}  # language -> the other one, and its root seen from this root


def on_files(files: Any, config: Any) -> Any:  # noqa: ANN401, ARG001 - MkDocs calls by name
    """Leave out posts that are not marked `curated: true`."""
    for file in list(files.documentation_pages()):
        if file.src_uri.startswith(POSTS) and not _curated(Path(file.abs_src_path)):
            files.remove(file)
    return files


def on_env(env: Any, config: Any, files: Any) -> Any:  # noqa: ANN401, ARG001
    """Give every template `posts`, newest first."""
    pages = [file.page for file in files.documentation_pages() if file.src_uri.startswith(POSTS)]
    env.globals["posts"] = sorted(pages, key=lambda page: (_date(page.meta), page.url), reverse=True)
    return env


def on_page_context(context: Any, page: Any, config: Any, nav: Any) -> Any:  # noqa: ANN401, ARG001
    """Give the page `twin`, the address of the same page in the other language, or of its home page."""
    lang, root = _TWIN[config.theme["language"]]
    twin = Path(config.docs_dir).parent / lang / page.file.src_uri
    there = twin.is_file() and (_curated(twin) or not page.file.src_uri.startswith(POSTS))
    context["twin"] = get_relative_url(".", page.url) + "/" + root + (page.url if there else "")
    context["has_twin"] = there
    page.meta.setdefault("description", page.meta.get("abstract"))
    return context


def on_page_content(html: str, page: Any, config: Any, files: Any) -> None:  # noqa: ANN401, ARG001
    """Refuse a page whose HTML would act: posts come from notes that anyone may have written.

    `kb publish` refuses such Markdown; this holds for what became of it, and for what came another way.

    Raises:
        PluginError: naming the page and what it holds.
    """
    found = _Acting()
    found.feed(html)
    if found.what:
        raise PluginError(f"{page.file.src_uri} holds {', '.join(dict.fromkeys(found.what))}. Take it out of the page")


class _Acting(HTMLParser):
    """Collects scripts, frames, handlers of events and addresses that run or lead to another host's script."""

    _TAGS = frozenset(
        {"script", "iframe", "frame", "object", "embed", "applet", "base", "meta", "link", "style", "form"}
    )
    _ADDRESSES = frozenset({"href", "src", "action", "formaction", "data", "xlink:href", "poster", "srcset"})
    _FOREIGN = re.compile(r"(?:java|vb)script:|data:(?!image/)|file:|//", re.IGNORECASE)

    def __init__(self) -> None:
        super().__init__()
        self.what: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._TAGS:
            self.what.append(f"<{tag}>")
        for name, value in attrs:
            address = re.sub(r"[\x00-\x20]", "", value or "")  # as browsers read it
            if name.startswith("on"):
                self.what.append(f"<{tag} {name}>")
            elif name in self._ADDRESSES and self._FOREIGN.match(address):
                self.what.append(f"an address {address[:40]!r}")
            elif tag in ("img", "audio", "video", "source") and re.match(r"https?:", address, re.IGNORECASE):
                self.what.append(f"a remote {tag}")

    handle_startendtag = handle_starttag


def _curated(path: Path) -> bool:
    _, front = meta.get_data(path.read_text(encoding="utf-8-sig"))
    return front.get("curated") is True


def _date(front: dict[str, Any]) -> datetime.date:
    value = front.get("date")
    return value if isinstance(value, datetime.date) else datetime.date.min
