"""Hostile text into Markdown that shows it as it stands, and nothing else: no HTML, no foreign links, no images."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|$~^!&]")
_OPENING = re.compile(r"(\d{1,9})([.)])(?=\s|$)|[-+:=](?=\s|[-+:=]|$)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_IMAGE = re.compile(r"!(?=\[)")
_LINK = re.compile(r"\[([^\[\]\n]*)\](?:\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\[\]\n]*\])")
_DEFINITION = re.compile(r"^([ \t>]*)\[(?=[^\]\n]+\]:)", re.MULTILINE)
# Where a backslash does not do: the site's parser shows the backslash, too.
_ENTITIES = {
    "<": "&lt;",
    ">": "&gt;",
    "&": "&amp;",
    "{": "&#123;",
    "^": "&#94;",
    "~": "&#126;",
    "=": "&#61;",
    ":": "&#58;",
}
_CODE = re.compile(  # a fence, or a span on one line
    r"^(?P<fence>`{3,})[^`\n]*\n(?s:.*?)\n(?P=fence)`*[ \t]*$|(?<![\\`])(?P<marks>`+)(?!`).+?(?<!`)(?P=marks)(?!`)",
    re.MULTILINE,
)
_INFO = re.compile(r"[\w+#.-]{0,30}")


def escape(text: str) -> str:
    """Plain text on one line, every character shown as it is."""
    text = _SPECIAL.sub(_shown, " ".join(text.split())).replace("://", ":&#47;&#47;")
    return _OPENING.sub(_not_opening, text, count=1) if _OPENING.match(text) else text


def _not_opening(found: re.Match[str]) -> str:
    """What would open a list, a heading or a definition, as a character."""
    if found[1]:
        return f"{found[1]}\\{found[2]}"
    return _ENTITIES.get(found[0], f"\\{found[0]}")


def _shown(found: re.Match[str]) -> str:
    return _ENTITIES.get(found[0], f"\\{found[0]}")


def disarm(text: str) -> str:
    """Markdown of a note, with its emphasis, code and tables, but without HTML, images or links.

    Fenced code and code on one line stays as it is. A link keeps its text.
    """
    parts: list[str] = []
    end = 0
    for code in _CODE.finditer(text):
        parts += [_disarmed(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _disarmed(text[end:])])


def _disarmed(text: str) -> str:
    text = _LINK.sub(lambda found: found[1], _IMAGE.sub("", text))
    text = _DEFINITION.sub(r"\1\\[", text).replace("&#", "&amp;#")
    text = re.sub(r"\\?`", "&#96;", text)  # so that no parser finds other code than was found here
    text = text.replace("](", "]&#40;")  # of links around links, around code or over several lines
    return _TAG.sub("&lt;", text).replace("{:", "&#123;:").replace("--8<--", "&#45;-8&lt;--")


def fence(code: str, info: str = "") -> str:
    """A fenced block that `code` cannot leave."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    marks = "`" * (longest + 1)
    return f"{marks}{info if _INFO.fullmatch(info) else ''}\n{code.rstrip()}\n{marks}"


def unfence(text: str) -> tuple[str, str]:
    """Code and info of a text that is one fenced block; `(text, "")` where it is none."""
    found = re.fullmatch(r"\s*(`{3,}|~{3,})([^\n`]*)\n(.*?)\n?[ \t]*\1[`~]*\s*", text, re.S)
    if not found:
        return text, ""
    info = found[2].split()
    return found[3], info[0] if info else ""


def math(formula: str) -> str:
    """A formula in which no `<` begins a tag; TeX does not mind the blank."""
    return re.sub(r"<(?=[A-Za-z/!?])", "< ", formula)


def block_quote(text: str) -> str:
    return "\n".join(f"> {line}" if line.strip() else ">" for line in text.splitlines())


def href(url: str) -> str | None:
    """The URL as a link's target, or None if it is no web or file address."""
    try:
        scheme = urlsplit(url).scheme.lower()
    except ValueError:
        return None
    if scheme not in ("http", "https", "file"):
        return None
    return re.sub(r"[\s<>()\"'\\`]", lambda found: f"%{ord(found[0]):02X}", url)
