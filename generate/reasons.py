"""Whether a claim gives a reason that its evidence does not give.

A model that explains too readily joins what stands there to what it knows: every word of the fact is there, and the
`because` is its own. The link holds if the evidence gives the part behind it, and joins the two itself: by a word that
links, or in one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from generate.passages import Passage
from generate.polarity import reversals
from generate.relation import anchors, keys
from kb.text import detect_lang, sentences

_BEHIND = re.compile(  # the reason stands behind these
    r"\bbecause(?: of)?\b|\bdue to\b|\bowing to\b|\bthanks to\b|\bas a result of\b|\bcaused by\b|\bgiven that\b"
    r"|\breasons? (?:is|are|being)\b(?: that)?|\bsince (?!v?\d|version|release|then\b)(?=\w+ \w)"
    r"|是?因为|由于|原因(?:是|在于|为)|归因于|得益于|(?<![原成起])因(?![此而为素果子])(?=[^，。；]{2,})",
    re.IGNORECASE,
)
_BEFORE = re.compile(  # … and before these, the result behind them
    r"\btherefore\b|\bthus\b|\bhence\b|\bconsequently\b|\bas a result\b(?! of)|\b(?:which|that|this) is why\b"
    r"|, so (?!that\b|far\b|long\b|much\b|many\b)|\bcaus(?:es|ing)\b|\b(?:leads?|leading) to\b|\bresult(?:s|ing)? in\b"
    r"|因此|因而|所以|从而|故而|于是|以致|导致|使得|造成",
    re.IGNORECASE,
)
_GIVES = re.compile(f"{_BEHIND.pattern}|{_BEFORE.pattern}", re.IGNORECASE)
_LINKS = re.compile(  # what joins two things in the evidence, however loosely
    _GIVES.pattern
    + r"|\bso\b|\bsince\b|\bcaus\w+|\breason\w*|\bwhy\b|\bmak(?:es?|ing)\b|\bmeans?\b|\blets?\b|\bif\b|\bwhen\b"
    r"|\bunless\b|\ballow\w*|\benabl\w*|\bprevent\w*|\bavoid\w*|\bin order to\b"
    r"|因(?![素子])|使(?!用)|让|故(?![障事])|(?<![规原准法])则|以便|以免|为了|避免|防止|意味着|如果|若|引起|带来|取决|决定"
    r"|(?<![相适应])当(?![前然中地下])",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[,，;；。]")
_GIVEN = 0.5  # of the words of a reason that must stand in the evidence


@dataclass(frozen=True)
class _Link:
    """What a claim joins; `given` is the part that answers for the other."""

    word: str
    given: str
    other: str


def added_reasons(claim: str, carried: Sequence[Passage]) -> Iterator[tuple[str, str]]:
    """The rule that a claim breaks by a reason or a result of its own, and a hint for whoever writes it anew."""
    for link in _links(claim):
        if not _is_given(link, carried) or _is_denied(link, carried):
            yield "added-reason", f"The evidence does not say “{link.word} {link.given.strip()[:60]}”; leave it out."
            return


def _links(claim: str) -> Iterator[_Link]:
    for found in _BEHIND.finditer(claim):
        before, behind = claim[: found.start()], claim[found.end() :]
        if keys(before):
            yield _Link(found[0].strip(), behind, before)
        elif end := _CLAUSE_END.search(behind):  # `Because of A, B`
            yield _Link(found[0].strip(), behind[: end.start()], behind[end.end() :])
    for found in _BEFORE.finditer(claim):
        yield _Link(found[0].strip(" ,"), claim[found.end() :], claim[: found.start()])


def _is_given(link: _Link, carried: Sequence[Passage]) -> bool:
    read = "\n".join(passage.in_context for passage in carried)
    is_foreign = detect_lang(link.given) not in (detect_lang(read), "und")
    if is_foreign and _GIVES.search(read):
        return True  # it gives a reason; which one cannot be read by words
    told = anchors if is_foreign else keys
    other = told(link.other)
    given = told(link.given) - other
    is_linked = not is_foreign and bool(_LINKS.search(read))
    if not given:  # nothing that the rest does not say
        return is_linked
    if len(given & keys(read)) < _GIVEN * len(given):
        return False
    return is_linked or any(_joins(text, given, other) for text in _sentences(carried))


def _is_denied(link: _Link, carried: Sequence[Passage]) -> bool:
    """Whether the evidence denies what the claim gives as a reason: `no WGMMA` for `because of WGMMA`."""
    quotes = "\n".join(passage.quote for passage in carried)
    return any(rule == "lost-negation" for rule, _ in reversals(link.given, quotes))


def _joins(text: str, given: frozenset[object], other: frozenset[object]) -> bool:
    held = keys(text)
    return len(given & held) >= _GIVEN * len(given) and (not other or bool(other & held))


def _sentences(carried: Sequence[Passage]) -> Iterator[str]:
    for passage in carried:
        yield from (f"{passage.around}\n{passage.quote[start:end]}" for start, end in sentences(passage.quote))
