"""Addresses behind the words of a page, which its text does not say."""

from __future__ import annotations

from collections.abc import Iterable

from kb.text import canonical

_SCHEMES = ("http://", "https://")
_LONGEST = 2000  # characters; a longer address is data, not a link


def link_text(links: Iterable[tuple[str, str]], said: str) -> str:
    """A line for each link, the words and then the address; without those whose address `said` shows already.

    Args:
        links: the linked words, and the address.
        said: the text of the page.
    """
    lines: dict[str, None] = {}
    for words, address in links:
        address = canonical(address).strip()
        visible = address.partition("://")[2].rstrip("/") or address
        sound = len(address) <= _LONGEST and address.isprintable() and len(address.split()) == 1
        if sound and address.lower().startswith(_SCHEMES) and visible not in said:
            lines[" ".join(f"{words} {address}".split())] = None
    return canonical("\n".join(lines))
