"""What the site needs beyond plain configuration: only curated posts, cards from front matter, a link to the twin page.

MkDocs loads this file (`hooks:` in `site/mkdocs.yml`). It stands outside `site/`, which holds no Python.
"""

from __future__ import annotations

import datetime
import logging
from pathlib import Path
from typing import Any

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


def _curated(path: Path) -> bool:
    _, front = meta.get_data(path.read_text(encoding="utf-8-sig"))
    return front.get("curated") is True


def _date(front: dict[str, Any]) -> datetime.date:
    value = front.get("date")
    return value if isinstance(value, datetime.date) else datetime.date.min
