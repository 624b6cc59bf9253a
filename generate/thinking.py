"""What a reasoning model thinks aloud before it replies, taken out while it streams.

Servers that know the model keep its thoughts in a field of their own, which is never read. Others leave them in the
text, between tags, or, where the chat template opens the tag itself, in front of a closing tag alone.
"""

from __future__ import annotations

import re

_TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
}
_CLOSED = re.compile(".*?(?:" + "|".join(map(re.escape, _TAGS.values())) + ")", re.DOTALL)


class Thoughtless:
    """Lets the pieces of a reply through, less the thoughts that it begins with; a tag may be cut anywhere.

    Later in a reply a tag is text: a note may speak of `<think>`.
    """

    def __init__(self) -> None:
        self._held = ""  # of what may yet turn out to be a tag or a thought
        self._closing = ""  # the tag that ends the thought
        self._is_through = False

    def feed(self, piece: str) -> str:
        if self._is_through:
            return piece
        self._held += piece
        while True:
            if self._closing:
                _, tag, rest = self._held.partition(self._closing)
                if not tag:
                    self._held = self._held[-len(self._closing) :]
                    return ""
                self._held, self._closing = rest, ""
            start = self._held.lstrip()
            self._closing = next((closing for tag, closing in _TAGS.items() if start.startswith(tag)), "")
            if not self._closing:
                break
            self._held = start
        if any(tag.startswith(start) for tag in _TAGS):  # nothing but white space, too
            return ""
        self._is_through = True
        return self._held

    def close(self) -> str:
        """What was held back and was no thought."""
        return "" if self._is_through or self._closing else self._held


def after_thoughts(text: str) -> str:
    """A whole reply less thoughts that only a closing tag sets off; one that begins with its JSON has none."""
    if text.lstrip().startswith(("{", "[")):
        return text
    closed = _CLOSED.match(text)
    return after_thoughts(text[closed.end() :]) if closed else text
