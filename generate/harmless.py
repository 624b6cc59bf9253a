"""What must not reach readers of the site: HTML, scripts, foreign images, lost figures and footnotes.

Stricter than any one Markdown parser, because a page may meet several.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import chain, groupby
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from generate.export import FIGURES

_SCHEMES = ("http", "https", "mailto")
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


def front_problems(front: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the front matter of a post."""
    for key in ("title", "kicker", "abstract"):
        if not isinstance(front.get(key), str) or not front[key].strip():
            yield f"its front matter has no {key}"
    for key, value in front.items():
        if _TAG.search(str(value)) or _SCRIPT_SCHEME.search(str(value)):
            yield f"its {key} holds HTML"


def problems(body: str, folder: Path) -> Iterator[str]:
    """What is wrong with its Markdown; `folder` holds its figures."""
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
    for name in figure_names(visible):
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
            lines.append(line)
    if mark:
        problems.append("a code fence is never closed")
    # A fence, blanked, parts paragraphs as a blank line does.
    parts = (_without_spans(list(part)) for _, part in groupby(lines, lambda line: bool(line.strip())))
    return "\n".join(chain.from_iterable(parts)), problems


def _without_spans(paragraph: list[str]) -> list[str]:
    """Where a backtick is left over, parsers pair them differently, also over lines: then nothing counts as code."""
    plain = [_CODE_SPAN.sub("", line) for line in paragraph]
    return paragraph if any("`" in line for line in plain) else plain


def _is_bad(target: str) -> bool:
    plain = _bare(target)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", plain)
    foreign = bool(scheme) and scheme[1].lower() not in _SCHEMES  # type: ignore[index]
    return foreign or plain.startswith(("//", "\\")) or ".." in plain.split("/")


def _bare(text: str) -> str:
    """As a browser reads an address: entities and escapes resolved, blanks and control characters gone."""
    return re.sub(r"[\s\x00-\x1f]", "", html.unescape(unquote(text)))


def figure_names(body: str) -> list[str]:
    """The files below `figures/` that it shows."""
    return re.findall(rf"!\[[^\]]*\]\({FIGURES}/([^)\s]+)\)", body)


def _is_figure(path: Path, folder: Path) -> bool:
    inside = path.parent == folder / FIGURES and not path.is_symlink()
    return inside and path.suffix == ".webp" and path.is_file()
