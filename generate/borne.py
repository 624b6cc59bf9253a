"""Whether the numbers, versions and identifiers of a text stand in its evidence, to the letter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from generate.passages import Passage
from generate.quantity import quantities, spelled_out, supported
from kb.glossary import load_glossary
from kb.text import folded

_IDENTIFIER = re.compile(
    r"`([^`]+)`|(?<![\w-])(--?[A-Za-z][\w-]*)|\b([A-Za-z]\w*_\w+)\b|\b([A-Za-z]+[A-Z0-9]\w*(?:[-.]\w+)*)\b"
    r"|\b(?!e\.g\b|i\.e\b|etc\b|vs\b)([A-Za-z]\w*(?:\.\w+)+\b)"
)
_VERSION = re.compile(r"\bv\d+(?:\.\d+)*\b|\b\d+\.\d+\.\d+\b")


def identifiers(text: str) -> Iterator[str]:
    """Code, flags, variables and names of software in `text`."""
    for found in _IDENTIFIER.finditer(text):
        yield folded(next(filter(None, found.groups())))


def unborne_by(carried: Sequence[Passage], text: str) -> Iterator[tuple[str, str]]:
    """What the cited evidence does not bear out.

    Numbers, versions and flags must stand in the quotes, with the headings and table header above them; other
    identifiers may also stand elsewhere in the cited chunk, because a claim names what its paragraph is about.
    """
    quotes = "\n".join(f"{p.in_context}\n{p.hit.source.version or ''}" for p in carried)
    chunks = "\n".join(f"{p.hit.source.title}\n{p.hit.chunk.full_text}\n{quotes}" for p in carried)
    return unborne(text, quotes, chunks)


def unborne(text: str, evidence: str, around: str) -> Iterator[tuple[str, str]]:
    """Versions and numbers with their units that `evidence` does not hold, identifiers that `around` does not: the rule
    that `text` breaks, and a hint for whoever writes it anew."""
    versions, names = _VERSION.findall(text), list(identifiers(text))
    held = folded(evidence) if versions else ""
    known = folded(around).casefold() if names else ""
    quoted = folded(evidence).casefold() if names else ""
    for version in versions:
        if not re.search(rf"(?<![\d.]){re.escape(version.lstrip('v'))}(?!\d)", held):
            yield "unsupported-version", f"{version} does not stand in the cited evidence."
    for quantity in (*quantities(text), *spelled_out(text)):
        if not supported(quantity, evidence):
            yield "unsupported-number", f"{quantity.written} does not stand in the cited evidence."
    for name in names:
        if not _stands(name, text, quoted if name.startswith("--") else known):
            yield "unsupported-identifier", f"{name} does not stand in the cited evidence."


def _stands(name: str, claim: str, evidence: str) -> bool:
    """Whether the evidence, folded and in small letters, has this identifier, or its term under another name."""
    if has_identifier(name, evidence):
        return True
    names = (term.names("und") for term in load_glossary().find(claim))
    spelled = name.casefold()
    terms = (all_ for all_ in names if any(spelled in re.split(r"[\s-]", one.casefold()) for one in all_))
    return any(other.casefold() in evidence for all_ in terms for other in all_)


def has_identifier(name: str, text: str) -> bool:
    """Whether `text`, folded and in small letters, has `name` or several of it (`GPUs`), and not merely something
    longer that begins or ends like it."""
    if name.endswith("s") and name[:-1].isupper() and has_identifier(name[:-1], text):
        return True
    joined = "_" in name or name.startswith("-")
    before = r"(?<![A-Za-z0-9_])" if name[0].isalnum() else ""
    after = r"(?![A-Za-z0-9_-])" if joined else r"s?(?![A-Za-z0-9_])"
    return bool(re.search(before + re.escape(name.casefold()) + (after if name[-1].isalnum() else ""), text))
