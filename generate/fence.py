"""What documents say, on its way to a model: in fences that they cannot know, without what a server acts on."""

from __future__ import annotations

import re
import secrets

# Chat templates turn these into the tokens that begin and end a turn, wherever they stand. A mark that is not seen
# breaks them; a quote that a model copies with it still stands verbatim, because `kb.text.fold` looks past it.
_CONTROL = re.compile(
    r"<(?=[|｜])|[|｜](?=>)|\[(?=/?INST\])|<(?=</?SYS>>)"
    r"|<(?=/?(?:s|think|thinking|evidence|quotes|conversation|chapters|start_of_turn|end_of_turn|tool_call|system|im_start)\b)",
    re.IGNORECASE,
)
_UNSEEN = "\u2060"  # word joiner

LANGUAGES = {"zh": "Chinese (简体中文)", "en": "English", "und": "the language of the question"}
"""What a prompt calls a language."""


def nonce() -> str:
    """Names one call's fences. No document can hold it."""
    return secrets.token_hex(8)


def defanged(text: str) -> str:
    """`text` without markers of turns and look-alikes of our fences; every character that is seen stays."""
    return _CONTROL.sub(lambda found: found[0] + _UNSEEN, text)


def one_line(text: str) -> str:
    return " ".join(defanged(text).split())
