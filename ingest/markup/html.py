"""Saved web pages: the article without what surrounds it, as blocks with their headings, anchors and lines.

Only words, tables, code, formulas, links and descriptions of pictures are taken. Nothing on the page acts, nothing is
fetched, and what a browser would not show is not read.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.decode import decode, read_text
from ingest.markup.frontmatter import calendar_date, language, web_address
from ingest.markup.html_blocks import Walk
from ingest.markup.html_unseen import is_unseen
from ingest.parsed import Parsed
from kb.errors import UnreadableSource
from kb.text import canonical
from kb.types import Dropped

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?([\w-]+)""", re.IGNORECASE)
_HEAD = 4096  # bytes in which a page declares its encoding; browsers look at 1,024
_TEASER = 5  # a main part is none where the page says so many times more around it
_FEW = 200  # characters


def read(path: Path, where: str) -> Parsed:
    """
    Raises:
        UnreadableSource: if it is nested deeper than any real page, so that a part would be lost.
    """
    page = _parsed(_text(path), where)
    body = page.find("body")
    if body is None:
        return Parsed(())
    root = _main(body)
    walk = Walk(page_level=root is body)
    try:
        walk.block(root)
    except RecursionError as error:
        raise _too_deep(where) from error
    around = sum(len(part.split()) for part in _visible(body)) - sum(len(part.split()) for part in _visible(root))
    dropped = walk.dropped(where)
    if around > 0:
        reason = "around the article: navigation, header, footer"
        dropped = (*dropped, Dropped(what=f"{around} words of the page", where=where, reason=reason))
    return Parsed(
        blocks=tuple(walk.blocks),
        title=walk.title or canonical(" ".join((page.findtext("head/title") or "").split())) or None,
        lang=language(page.get("lang") or ""),
        date=calendar_date(_meta(page, "article:published_time", "date", "dc.date", "last-modified")),
        url=_address(page),
        licence=_licence(page),
        dropped=dropped,
    )


def _text(path: Path) -> str:
    """By the encoding that the page declares, if its bytes are that; else as any text file."""
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    declared = _CHARSET.search(head)
    try:
        encoding = codecs.lookup(declared[1].decode()).name if declared else ""
    except LookupError:
        encoding = ""
    if encoding in ("", "utf-8", "ascii"):
        return read_text(path)
    data = path.read_bytes()
    try:
        return canonical(data.decode("gb18030" if encoding in ("gb2312", "gbk") else encoding))
    except (UnicodeError, LookupError):  # what Python calls an encoding may be no text: rot13, zip
        return decode(data, where=str(path))


def _parsed(text: str, where: str) -> HtmlElement:
    from lxml import etree, html

    parser = html.HTMLParser(huge_tree=True, no_network=True, remove_comments=True, remove_pis=True)
    try:
        page = html.document_fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text), parser=parser)
    except etree.ParserError as error:
        raise UnreadableSource("it holds no text", where=where, remedy="Save the page again") from error
    if any("depth" in entry.message.casefold() for entry in parser.error_log):
        raise _too_deep(where)
    return page


def _too_deep(where: str) -> UnreadableSource:
    what = "its elements are nested too deeply to be read whole"
    return UnreadableSource(what, where=where, remedy="Save the page as text")


def _main(body: HtmlElement) -> HtmlElement:
    """The element of the article: the only `article`, else the main part, else the whole page."""
    for path in (".//article", ".//*[@role='main']", ".//main"):
        found = body.findall(path)
        if len(found) == 1:
            size, whole = (sum(map(len, _visible(each))) for each in (found[0], body))
            if size >= _FEW or whole < _TEASER * size:
                return found[0]
    return body


def _visible(element: HtmlElement) -> list[str]:
    """The texts in it that a browser would show."""
    from lxml import etree

    texts: list[str] = []
    hidden = 0
    for event, one in etree.iterwalk(element, events=("start", "end")):
        out = is_unseen(one)
        if event == "start":
            hidden += out
            texts += [one.text] if one.text and not hidden else []
        else:
            hidden -= out
            texts += [one.tail] if one.tail and not hidden and one is not element else []
    return [text.strip() for text in texts if text.strip()]


def _meta(page: HtmlElement, *names: str) -> str:
    found = {
        (meta.get("property") or meta.get("name") or "").lower(): meta.get("content", "") for meta in page.iter("meta")
    }
    return next((found[name] for name in names if found.get(name)), "")


def _licence(page: HtmlElement) -> str | None:
    links = (link.get("href") or "" for link in page.iter("a", "link") if link.get("rel") == "license")
    return next(filter(None, map(web_address, links)), None)


def _address(page: HtmlElement) -> str | None:
    links = [link.get("href", "") for link in page.iter("link") if link.get("rel") == "canonical"]
    address = next(iter(links), "") or _meta(page, "og:url")
    return web_address(address)
