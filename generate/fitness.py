"""Whether a passage is the kind of answer that a question wants, and reads on its own."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from generate.passages import Passage
from generate.quantity import quantities
from generate.question import Question, Want
from kb.text import HAN, folded
from kb.types import Page

_REASON = re.compile(
    r"因为|由于|所以|因此|导致|从而|原因|以便|避免|否则|because|due to|since\b|so that|therefore|thus|hence|cause"
    r"|reason|in order|as a result|to avoid",
    re.IGNORECASE,
)
_MANNER = re.compile(
    r"--\w|可以通过|通过|使用|设置|启用|开启|set(?:ting)?\b|use\b|using\b|enable|by \w+ing|pass\b|run\b|add\b",
    re.IGNORECASE,
)
_MEANING = re.compile(
    r"是指|即|指的是|称为|定义|表示|意味着|：|is an?\b|are\b|means?\b|refers? to|i\.e\.|called", re.IGNORECASE
)
_SIGNPOST = re.compile(
    r"\W*(?:welcome|hello|hi,|thanks|in this (?:talk|section|chapter|guide|article|document|video|note)"
    r"|this (?:talk|section|chapter|guide|article|document|page|video|note)\b"
    r"|the following (?:sections?|code|table|examples?)\b|(?:next|first|finally|now),? (?:we|I|let)\b"
    r"|we(?:'ll| will| are going to) (?:look|see|discuss|talk|cover)|let(?:'s| us)\b"
    r"|大家好|欢迎|谢谢|感谢|本[章节文篇页]|这一?[篇章节期]|接下来|下面|随后|今天(?:我|来|要|给)"
    r"|(?:最后|接着|然后|首先|先)(?:来?看|去?了解|介绍)|第[一二三四五]个?点?就是)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[。！？.!?；;]\W*$|[，,：:]")
_LINK = re.compile(r"https?://|\]\(")
_REFERENCE = re.compile(r"^\[\d+\]|\[Online\]|arXiv preprint|^\W*\[[^\]]+\]\([^)]*\)\W*$")
_PROGRAM = re.compile(
    r"^[ \t]*(?:def |class |import |from \w+ import|return |for .+:$|print\()|\w = \w+\(", re.MULTILINE
)
_NUMBER = re.compile(r"\d[\d,.]*")
_NAME = re.compile(r"`[^`]+`|--\w[\w-]+|\b\w+_\w+|\b[A-Z][a-z]+[A-Z]\w+")


def suits(question: Question, passage: Passage) -> float:
    """Whether the passage holds the kind of thing that is asked for, beyond what the question already says."""
    quote, asked = passage.quote, question.text
    bonus = 0.0
    if Want.NUMBER in question.wants:
        bonus += _figure(question, quote)
    if Want.NAME in question.wants:
        bonus += 0.18 * any(name.strip("`") not in asked for name in _NAME.findall(quote))
    if Want.REASON in question.wants:
        bonus += 0.18 * bool(_REASON.search(quote))
    if Want.MANNER in question.wants:
        bonus += 0.10 * bool(_MANNER.search(quote))
    if Want.MEANING in question.wants:
        bonus += 0.06 * bool(_MEANING.search(quote)) + 0.25 * _defines(question, quote)
    if question.versions and passage.hit.source.version:
        bonus += 0.2 * any(passage.hit.source.version.startswith(version) for version in question.versions)
    return bonus


def _figure(question: Question, quote: str) -> float:
    """A number that the question does not give itself; where the unit is known, one with that unit."""
    given = {held.value for held in quantities(question.text)}
    if question.units:
        if any(held.unit in question.units and held.value not in given for held in quantities(quote)):
            return 0.25
        return 0.1 * any(number not in question.text for number in _NUMBER.findall(quote))
    if question.sort and any(held.unit in question.sort and held.value not in given for held in quantities(quote)):
        return 0.25
    return 0.18 * any(number not in question.text for number in _NUMBER.findall(quote))


def _defines(question: Question, quote: str) -> bool:
    """Whether the quote opens with a concept of the question and goes on to say what it is."""
    names = tuple(
        name
        for concept in question.concepts
        for name in (concept.term.names("und") if concept.term else (concept.surface,))
    )
    return bool(names and _definition(names).match(folded(quote[:120]).casefold()))


@lru_cache(maxsize=256)
def _definition(names: tuple[str, ...]) -> re.Pattern[str]:
    spelled = "|".join(re.escape(folded(name).casefold()) for name in names)
    return re.compile(rf"\W*(?:{spelled}).{{0,40}}?(?:是|指|称|为|：|:| is | are | means | refers )")


def is_signpost(quote: str) -> bool:
    """Whether it greets, or says what will be said, rather than saying it."""
    return bool(_SIGNPOST.match(quote))


def readability(passage: Passage) -> float:
    """How readable the quote is on its own."""
    quote = passage.quote
    width = len(quote) + len(HAN.findall(quote))
    end = quote.rstrip("*_ ")
    faults = (
        (width < 16, 0.6),
        (16 <= width < 30, 0.85),
        (width > 500, 0.8),
        (end.endswith(("?", "？")), 0.6),
        (end.endswith((":", "：")), 0.8),
        (passage.form == "code" or bool(_PROGRAM.search(quote)), 0.85),
        (bool(_LINK.search(quote)), 0.8),
        (bool(_REFERENCE.search(quote)), 0.5),
        (is_signpost(quote), 0.6),
        (passage.form == "prose" and isinstance(passage.locator, Page) and not _SENTENCE.search(quote), 0.6),  # a label
        (isinstance(passage.locator, Page) and passage.locator.number == 1, 0.7),  # a cover
    )
    return math.prod(factor for is_so, factor in faults if is_so)
