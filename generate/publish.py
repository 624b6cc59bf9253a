"""A reviewed draft goes into the site: checked for what must not reach readers, then moved in whole."""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from generate import harmless
from generate.export import FIGURES
from kb.errors import BadRequest, NotFound, UnreadableSource
from kb.text import slug as slugify

_LANGS = ("zh", "en")
_FILE_LINK = re.compile(r"\[([^\]\n]*)\]\(file:[^)\s]*\)")


@dataclass(frozen=True)
class _Post:
    lang: str
    front: dict[str, Any]
    body: str
    figures: tuple[Path, ...]


def publish(slug: str, folder: Path, site_dir: Path, *, reviewed: bool, anywhere: bool = True) -> tuple[Path, ...]:
    """Copy each reviewed language of an article into `site_dir/docs/<lang>/posts/<slug>.md`, its figures beside it.

    Links to files of this machine become plain text. Nothing is written unless every language passes.

    Args:
        slug: the article's name.
        folder: its folder, with `index.<lang>.md` and `figures/`.
        site_dir: the site, with `docs/<lang>`.
        reviewed: the caller vouches for the review; without it, the front matter must say `curated: true`.
        anywhere: `site_dir` may hold no site yet, and is made where it is not there.

    Returns:
        The posts that were written.

    Raises:
        NotFound: if there is no draft, or no site.
        BadRequest: if no language is reviewed, or one holds HTML, a script, a lost figure or a lost footnote.
        UnreadableSource: if the front matter cannot be read.
    """
    if not slug or slugify(slug) != slug:
        raise BadRequest(f"{slug!r} names no article", remedy="List the articles with `kb ls --articles`")
    drafts = [path for lang in _LANGS if (path := folder / f"index.{lang}.md").is_file()]
    if not drafts:
        raise NotFound(f"there is no draft of {slug}", where=str(folder), remedy="Write it first: kb write TALK")
    posts = [post for path in drafts if (post := _read(path, slug, reviewed=reviewed))]
    if not posts:
        raise BadRequest(
            f"no draft of {slug} is reviewed",
            where=str(drafts[0]),
            remedy="Read and correct it, then set `curated: true` in its front matter, or publish it with --reviewed",
        )
    if not anywhere and not (site_dir / "mkdocs.yml").is_file():
        raise NotFound(
            "there is no site here, with its mkdocs.yml",
            where=str(site_dir),
            remedy="Name a folder with --site, even a new one, or set KB_SITE_DIR to a site",
        )
    return tuple(_place(post, slug, site_dir) for post in posts)


def _read(path: Path, slug: str, *, reviewed: bool) -> _Post | None:
    lang = path.name.split(".")[1]
    front, body = _split(path)
    if not reviewed and front.get("curated") is not True:
        return None
    body = _FILE_LINK.sub(r"\1", body)
    problems = [*harmless.front_problems(front), *harmless.problems(body, path.parent)]
    if problems:
        shown = "; ".join(problems[:5]) + (f"; and {len(problems) - 5} more" if len(problems) > 5 else "")
        raise BadRequest(f"{path.name} must not be published: {shown}", where=str(path), remedy="Correct these lines")
    figures = tuple(path.parent / FIGURES / name for name in sorted(set(harmless.figure_names(body))))
    body = body.replace(f"]({FIGURES}/", f"]({slug}/")
    return _Post(lang, front | {"slug": slug, "lang": lang, "curated": True}, body, figures)


def _split(path: Path) -> tuple[dict[str, Any], str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableSource(f"it is no UTF-8 ({error})", where=str(path), remedy="Save it as UTF-8") from error
    found = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    try:
        front = yaml.safe_load(found[1]) if found else None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date that no calendar has
        raise UnreadableSource(f"its front matter is no YAML: {error}", where=str(path), remedy="Correct it") from error
    if not found or not isinstance(front, dict):
        raise UnreadableSource("it has no front matter", where=str(path), remedy="Write the draft again: kb write TALK")
    return front, text[found.end() :]


def _place(post: _Post, slug: str, site_dir: Path) -> Path:
    """Figures first, then the page, each by one rename: a reader sees the old page or the new one."""
    posts = site_dir / "docs" / post.lang / "posts"
    posts.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=posts, prefix=f".{slug}.") as name:
        staged = Path(name)
        front = yaml.safe_dump(post.front, allow_unicode=True, sort_keys=False, width=1000)
        (staged / "post.md").write_text(f"---\n{front}---\n{post.body}", encoding="utf-8")
        if post.figures:
            (posts / slug).mkdir(exist_ok=True)
        for figure in post.figures:
            shutil.copyfile(figure, staged / figure.name)
            (staged / figure.name).replace(posts / slug / figure.name)
        (staged / "post.md").replace(posts / f"{slug}.md")
    kept = {figure.name for figure in post.figures}
    for old in (posts / slug).glob("*.webp"):
        if old.name not in kept:
            old.unlink()
    return posts / f"{slug}.md"
