"""A reviewed draft goes into the site: checked for what must not reach readers, then moved in whole."""

from __future__ import annotations

import html
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from generate.export import FIGURES
from kb.errors import BadRequest, NotFound, UnreadableSource
from kb.text import slug as slugify

_LANGS = ("zh", "en")
_SCHEMES = ("http", "https", "mailto")
_FILE_LINK = re.compile(r"\[([^\]\n]*)\]\(file:[^)\s]*\)")
_SCRIPT_SCHEME = re.compile(r"(?:java|vb)script\s*:|data\s*:\s*text/html", re.IGNORECASE)
_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>]*>)")
_ATTRIBUTE_LIST = re.compile(r"\{[^\n]*\b(?:on\w+|style|href|src)\s*=", re.IGNORECASE)
# What the site's fences surely take. Another info makes the fence text, and the HTML in it HTML.
_FENCE_INFO = re.compile(r'[\w+#.-]*(?: +(?:title="[^"<>{}]*"|hl_lines="[1-9]\d*(?: [1-9]\d*)*"|linenums="[1-9]\d*"))*')
_FORMULA_LINK = re.compile(r"\\(?:href|require)\b")
_STEERING = re.compile(r"[^\S\n\t \u00a0\u3000]|[\x00-\x08\x0e-\x1f\x7f]")  # some parsers end a line there
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})(.*)$")
_CODE_SPAN = re.compile(r"(?<![\\`])(`+)(?!`).+?(?<!`)\1(?!`)")
_INLINE_TARGET = re.compile(r"\]\(\s*<?([^)\s>]*)")
_REFERENCE_TARGET = re.compile(r"\[[^\]^][^\]]*\]:\s*<?([^\s>]+)")
_IMAGE = re.compile(r"!\[[^\]]*\](?:\(\s*<?([^)\s>]*))?")
_REFERENCE = re.compile(r"\[\^([^\]\s]+)\](?!:)")
_DEFINITION = re.compile(r"^\[\^([^\]\s]+)\]:", re.MULTILINE)


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
    problems = [*_front_problems(front), *_problems(body, path.parent)]
    if problems:
        shown = "; ".join(problems[:5]) + (f"; and {len(problems) - 5} more" if len(problems) > 5 else "")
        raise BadRequest(f"{path.name} must not be published: {shown}", where=str(path), remedy="Correct these lines")
    figures = tuple(path.parent / FIGURES / name for name in sorted(set(_figure_names(body))))
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


# --- what must not reach readers --------------------------------------------------------------------------------


def _front_problems(front: dict[str, Any]) -> Iterator[str]:
    for key in ("title", "kicker", "abstract"):
        if not isinstance(front.get(key), str) or not front[key].strip():
            yield f"its front matter has no {key}"
    for key, value in front.items():
        if _TAG.search(str(value)) or _SCRIPT_SCHEME.search(str(value)):
            yield f"its {key} holds HTML"


def _problems(body: str, folder: Path) -> Iterator[str]:
    visible, broken = _without_code(body)
    yield from broken
    for number, line in enumerate(visible.split("\n"), 1):
        yield from (f"line {number} {problem}" for problem in _line_problems(line))
    yield from (f"line {visible.count(chr(10), 0, at) + 1} {problem}" for at, problem in _target_problems(visible))
    if _SCRIPT_SCHEME.search(_bare(visible)):
        yield "it holds a script address"
    defined = set(_DEFINITION.findall(visible))
    for name in dict.fromkeys(_REFERENCE.findall(visible)):
        if name not in defined:
            yield f"footnote {name} is not defined"
    for name in _figure_names(visible):
        if not _is_figure(folder / FIGURES / name, folder):
            yield f"figure {name} is missing"


def _line_problems(line: str) -> Iterator[str]:
    if _TAG.search(line):
        yield f"holds HTML: {line.strip()[:60]}"
    if _STEERING.search(line):
        yield "holds a control character or a blank that no keyboard makes"
    if _FORMULA_LINK.search(line):
        yield "makes a link in a formula"
    if _ATTRIBUTE_LIST.search(line):
        yield "sets attributes of HTML"
    if "--8<--" in line:
        yield "includes a file"


def _target_problems(text: str) -> Iterator[tuple[int, str]]:
    """With their offsets. An address may stand on the line after its bracket."""
    for pattern in (_INLINE_TARGET, _REFERENCE_TARGET):
        for found in pattern.finditer(text):
            if _is_bad(found[1]):
                yield found.start(), f"links to {found[1][:60]}"
    for found in _IMAGE.finditer(text):
        if not (found[1] or "").startswith(f"{FIGURES}/"):
            yield found.start(), f"shows an image that is no figure of this article: {found[0][:60]}"


def _without_code(body: str) -> tuple[str, list[str]]:
    """The text with code blanked out, line by line, and what is wrong with its fences.

    Stricter than any one Markdown parser: what might be code to one of them and text to another counts as text.
    """
    lines: list[str] = []
    problems: list[str] = []
    indent, mark = "", ""
    for number, line in enumerate(body.split("\n"), 1):
        fence = _FENCE.match(line)
        if mark and line.strip() and not line.startswith(indent):
            problems.append(f"line {number} breaks out of a code fence")
            mark = ""
        if mark:
            if fence and fence[2] == mark and not fence[3].strip():
                mark = ""
            lines.append("")
        elif fence:
            if not _FENCE_INFO.fullmatch(fence[3].strip(" ")):
                problems.append(f"line {number} opens a fence with {fence[3].strip()[:40]!r}")
            indent, mark = fence[1], fence[2]
            lines.append("")
        else:
            lines.append(_CODE_SPAN.sub("", line))
    if mark:
        problems.append("a code fence is never closed")
    return "\n".join(lines), problems


def _is_bad(target: str) -> bool:
    plain = _bare(target)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", plain)
    foreign = bool(scheme) and scheme[1].lower() not in _SCHEMES  # type: ignore[index]
    return foreign or plain.startswith(("//", "\\")) or ".." in plain.split("/")


def _bare(text: str) -> str:
    """As a browser reads an address: entities and escapes resolved, blanks and control characters gone."""
    return re.sub(r"[\s\x00-\x1f]", "", html.unescape(unquote(text)))


def _figure_names(body: str) -> list[str]:
    return re.findall(rf"!\[[^\]]*\]\({FIGURES}/([^)\s]+)\)", body)


def _is_figure(path: Path, folder: Path) -> bool:
    inside = path.parent == folder / FIGURES and not path.is_symlink()
    return inside and path.suffix == ".webp" and path.is_file()
