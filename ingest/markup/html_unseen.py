"""What of a web page is not text, or not of the article: each kind with the reason why it is left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ingest.markup.unseen import Unseen

if TYPE_CHECKING:
    from lxml.html import HtmlElement


def names(text: str) -> frozenset[str]:
    """Names of elements, written with blanks between."""
    return frozenset(text.split())


_CODE = names("script style template noscript head title")
_CONTROLS = names("button input select textarea")
_EMBEDDED = names("iframe object embed video audio canvas svg")
_SURROUNDING = names("nav footer aside")
_SURROUNDING_ROLES = names("navigation banner contentinfo search")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)

PICTURE = Unseen("picture without a description", "what it shows cannot be read")
UNSHOWN = Unseen("hidden element", "a browser does not show it")
_EMBED = Unseen("embedded part", "players, drawings and other pages are not read")
_SCRIPT = Unseen("script or style sheet", "code of the page, not part of the text")
_CONTROL = Unseen("control", "buttons and fields, not part of the text")
_AROUND = Unseen("part around the text", "a menu, a footer or an aside")


def is_unseen(element: HtmlElement) -> bool:
    """Whether a browser shows nothing of it, or it is code. Formulas of KaTeX stand there twice and are kept once."""
    if element.tag in _CODE and not is_formula(element):
        return True
    return (
        element.get("hidden") is not None
        or "katex-html" in (element.get("class") or "")
        or bool(_HIDDEN.search(element.get("style") or ""))
    )


def is_formula(element: HtmlElement) -> bool:
    """Whether it is a formula as MathJax 2 keeps it."""
    return element.tag == "script" and (element.get("type") or "").startswith("math/tex")


def loss_of(element: HtmlElement, *, page_level: bool) -> Unseen | None:
    """What is lost with an element that is left out; None for one that is read.

    Args:
        page_level: whether the walk began at the body, with the menus and footers of the page inside.
    """
    is_permalink = (
        element.tag == "a" and not re.search(r"\w", element.text_content()) and element.find(".//img") is None
    )
    around = element.tag == "nav" or element.get("role") in _SURROUNDING_ROLES
    kinds = (
        (is_unseen(element) and element.tag in _CODE, _SCRIPT),
        (is_unseen(element) or is_permalink, UNSHOWN),
        (element.tag in _EMBEDDED, _EMBED),
        (element.tag in _CONTROLS, _CONTROL),
        (around or (page_level and element.tag in _SURROUNDING), _AROUND),
    )
    return next((unseen for applies, unseen in kinds if applies), None)
