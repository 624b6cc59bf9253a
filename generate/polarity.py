"""Whether a claim turns its evidence round: a `not` too many or too few, the other direction, sides exchanged.

Words alone cannot prove that a claim follows. They can show that it does not: these checks find reversals that leave
every word and number in place. Where both sides hold both directions they see nothing; they rather miss than invent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from generate.naming import stems
from generate.question import content_terms

_NOT = re.compile(
    r"\b(?:not(?! only)|no(?! more than| less than| later than)|never|neither|nor|without|cannot|\w+n['’]t)\b"
    r"|不(?!同|仅|断|少|过|管|论|但|久|妨|一定|止)|没|未(?!来|必)|无(?!论|数|疑|缝)|并非|而非",
    re.IGNORECASE,
)
_WEAK_NOT = re.compile(
    r"\b(?:unless|only|fail\w*|lack\w*|disabl\w*|except\w*|instead|rather|unable|avoid\w*|prevent\w*|stop\w*|skip\w*"
    r"|ignor\w*|reject\w*|un\w+ed|deprecat\w*|remov\w*|false|off|none|n/a|non-?\w*|in\w+ible)\b"
    r"|[✗✘❌×]|禁|关闭|仅|只|拒|避免|防止|缺|失败|跳过|忽略|取消|移除|停|免|否|废弃|非(?!常)",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|never|cannot|\w+n['’]t|no|without)\s+(?:\w+ly\s+|be\s+|been\s+|yet\s+|currently\s+|any\s+)*(?P<en>[A-Za-z]{4,})"
    r"|(?:不会|不能|不可|不再|不|没有|并未|尚未|未|无法|无需|无)(?P<zh>[\u4e00-\u9fff]{2})",
    re.IGNORECASE,
)


def _pairs(*pairs: tuple[str, str]) -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    return tuple((re.compile(up, re.IGNORECASE), re.compile(down, re.IGNORECASE)) for up, down in pairs)


_WAYS = _pairs(
    (
        r"\b(?:increas|rais|grow|higher|rise|rising)\w*|提高|提升|增加|增大|升高|上升|增长|更高|变高|变大|拉高",
        r"\b(?:decreas|reduc|lower|shrink|shrunk|declin)\w*|降低|减少|减小|下降|缩短|缩小|更低|变低|变小|拉低",
    ),
    (
        r"\b(?:faster|quicker|accelerat\w*|speeds? up)\b|更快|加快|加速|变快",
        r"\b(?:slower|slows? down)\b|更慢|变慢|减慢|拖慢",
    ),
    (r"\benabl\w*|\bturn\w* on\b|启用|开启|打开", r"\bdisabl\w*|\bturn\w* off\b|禁用|关闭|停用"),
)
_LIMITS = _pairs(
    (
        r"\b(?:larger|bigger|greater|more) than (?=\d)|\bexceed\w*|\babove\b|(?<!不)(?:大于|超过|高于|多于)",
        r"\b(?:smaller|less|fewer) than (?=\d)|\bbelow\b|(?<!不)(?:小于|低于|少于)",
    ),
    (r"\bat least\b|\bminimum\b|至少|不少于|不低于|最低", r"\bat most\b|\bmaximum\b|\bup to\b|至多|最多|不超过|最高"),
)

_SIDES = {
    "+": r"faster|higher|larger|bigger|greater|more(?: \w+)?|longer|better|快|高|大|多|长|好|强",
    "-": r"slower|lower|smaller|fewer|less(?: \w+)?|shorter|worse|慢|低|小|少|短|差|弱",
}
_ANY_SIDE = "|".join(_SIDES.values())
_THAN = re.compile(
    rf"\b(?P<way>{_ANY_SIDE}) than (?P<right>[^.;,。；，\n]*)"
    rf"|比(?P<right_zh>[^。；，\n]{{1,60}}?)(?:更|要|还)?(?P<way_zh>{_ANY_SIDE})",
    re.IGNORECASE,
)
_STOPS = re.compile(r"[.;。；\n]")
_COMPARATIVE = re.compile(rf"\b(?:{_ANY_SIDE}) than\b|比[^。；，\n]*?(?:{_ANY_SIDE})", re.IGNORECASE)


def reversals(claim: str, evidence: str) -> Iterator[tuple[str, str]]:
    """The rule that a claim breaks against the text that is to carry it, and a hint for whoever writes it anew."""
    claimed, held = bool(_NOT.search(claim)), bool(_NOT.search(evidence))
    if claimed and not held and not _WEAK_NOT.search(evidence):
        yield "added-negation", "The evidence denies nothing; do not deny it either."
    if not claimed and held and not _WEAK_NOT.search(claim) and (lost := _affirmed(claim, evidence)):
        yield "lost-negation", f"The evidence denies “{lost}”; the sentence affirms it."
    if not claimed and not held:
        for pair in _WAYS:  # which of two is faster is a matter of their order, looked at below
            yield from _turned(_COMPARATIVE.sub(" ", claim), _COMPARATIVE.sub(" ", evidence), pair)
    for pair in _LIMITS:
        yield from _turned(claim, evidence, pair)
    if _is_exchanged(claim, evidence):
        yield "exchanged-sides", "The evidence compares the two the other way round."


def _affirmed(claim: str, evidence: str) -> str:
    """A word that the evidence has only behind a negation and the claim has without one."""
    rest = _NEGATED.sub(" ", evidence)
    for found in _NEGATED.finditer(evidence):
        if hanzi := found["zh"]:
            if hanzi in claim and hanzi not in rest:
                return hanzi
        elif content_terms(found["en"]) and stems(found["en"]) & stems(claim) and not stems(found["en"]) & stems(rest):
            return found["en"]
    return ""


def _turned(claim: str, evidence: str, pair: tuple[re.Pattern[str], re.Pattern[str]]) -> Iterator[tuple[str, str]]:
    says, holds = ([bool(way.search(text)) for way in pair] for text in (claim, evidence))
    if sum(says) == sum(holds) == 1 and says != holds:
        word = next(found[0] for way in pair if (found := way.search(claim)))
        yield "turned-direction", f"“{word}” goes the other way than the evidence."


@dataclass(frozen=True)
class _Comparison:
    left: frozenset[str]
    right: frozenset[str]
    way: str

    def turned(self) -> _Comparison:
        return _Comparison(self.right, self.left, "-" if self.way == "+" else "+")


def _comparisons(text: str) -> Iterator[_Comparison]:
    for found in _THAN.finditer(text):
        left, right = _STOPS.split(text[: found.start()])[-1], found["right"] or found["right_zh"] or ""
        word = (found["way"] or found["way_zh"]).split()[0]
        way = next(way for way, words in _SIDES.items() if re.match(rf"(?:{words})", word, re.IGNORECASE))
        only_left, only_right = content_terms(left), content_terms(right)
        yield _Comparison(only_left - only_right, only_right - only_left, way)


def _is_exchanged(claim: str, evidence: str) -> bool:
    """Whether a comparison of the claim stands in the evidence with its sides exchanged, and never as it is."""
    held = [one for found in _comparisons(evidence) for one in (found, found.turned())]
    for said in _comparisons(claim):
        same = any(one.way == said.way and one.left & said.left and one.right & said.right for one in held)
        other = any(one.way == said.way and one.left & said.right and one.right & said.left for one in held)
        if other and not same:
            return True
    return False
