"""The thing that a question leaves open, where its words say of which sort it is, and whether a text can fill it.

`How many engineers …` asks for a number of engineers, `what does it cost` for an amount of money, `who` for a person. A
text that names everything else and holds nothing of that sort does not answer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from generate.naming import stems
from generate.quantity import SIZES, quantities
from generate.question import Question, Want
from kb.text import HAN
from kb.types import Lang

_NEARBY = 24  # characters between a number and the noun that it counts

_FIGURE = re.compile(r"\d[\d,.]*|[一二两三四五六七八九十]|\b(?:two|three|four|five|six|seven|eight|nine|ten)\b", re.I)
_COUNTED = re.compile(
    r"how many (?P<en>(?:(?!of\b|does\b|do\b|did\b|is\b|are\b|can\b|at\b)[\w-]+ ?){1,3})"
    r"|(?:多少|(?<=[有要用占共含了])几)[个张台块位名条次种层步份家款]?\s?"
    rf"(?P<zh>{HAN.pattern}{{1,4}}|[A-Za-z][A-Za-z/]*)",
    re.IGNORECASE,
)
_CHANGES = re.compile(rf"{HAN.pattern}{{0,3}}?[到至成为]")  # `从多少降到…`: it counts no `降到`
_NO_NOUN = frozenset("大长久钱倍是的时合比")  # what follows 多少 without being counted
_NUMBER = re.compile(
    r"多少|多[大长久]|百分之几|默认值|how (?:much|long|large|fast|slow)|default value"
    r"|what (?:percent|share|fraction|number|value)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Slot:
    """Something of one sort that is asked for. `rare` where notes of a technical field seldom hold it; `spread` where
    several quotes may hold it together."""

    name: str
    fills: Callable[[str], bool]
    rare: bool = False
    spread: bool = False

    def filled_by(self, texts: Sequence[str]) -> bool:
        """Whether the texts of an answer fill it."""
        return self.fills("\n".join(texts)) if self.spread else any(map(self.fills, texts))

    def completed(self, text: str, other: str) -> bool:
        """Whether it takes both texts to fill it."""
        return self.filled_by([text, other]) and not self.fills(text) and not self.fills(other)


def _sort(asked: str, filled: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(asked, re.I), re.compile(filled, re.I)


_RARE = {
    "money": _sort(
        r"多少钱|几块钱|价格|售价|收费|费用|电费|账单|赔了?多少|\b(?:price|fee|salary|bill)s?\b(?! of \w+ing)|\bcheap"
        r"|\bcosts? (?:per|a month|an hour|to run)\b|what does .{1,60} cost\b(?! me\b)",
        r"[$€¥￥£]\s?\d|\d\s?(?:[百千万亿]*(?:美元|欧元|元)|USD|EUR|dollars?|euros?|cents?)",
    ),
    "person": _sort(
        r"\bwho(?:se|m)?\b|谁(?![更最能该]|才)|作者|哪几?位|叫什么名字|哪[家所](?:公司|大学|机构|团队|实验室)?"
        r"|which (?:compan|team|universit|engineer|author|lab)",
        r"\bby [A-Z][\w.-]+|et al|作者|团队|公司|大学|研究院|\b(?:authors?|team|University|Inc|Labs?|Research)\b|我是",
    ),
    "date": _sort(
        r"\bwhen (?:was|will|did)\b|wh(?:ich|at) (?:year|month|day|date)|release date|哪一?[年天月]"
        r"|(?:何时|什么时候)(?:会|能|才)?(?:发布|上线|推出|支持|开源|发表)",
        r"\b(?:19|20)\d\d\b|\d\s?[月日]|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d",
    ),
    "duration": _sort(
        r"几[天年秒]|几个?(?:小时|月|星期|分钟)|多少个?(?:天|年|小时|月)|停顿多[少久]"
        r"|how long (?:did|does|do|will) .{1,80} take|how many (?:seconds|minutes|hours|days|weeks|months|years)"
        r"|gpu[- ]hours",
        r"\d\s?(?:ms|毫秒|[μµu]s\b|s\b|秒|sec|min|分钟|h\b|hours?|小时|days?|天|weeks?|周|months?|个月|years?|年)",
    ),
    "power": _sort(r"\bwatts?\b|功耗|瓦|power draw|耗电|\bjoules?\b", r"\d\s?(?:k?W\b|k?Wh\b|千?瓦|watts?)"),
    "place": _sort(
        r"which (?:region|country|city|cloud|data ?cent)|哪个(?:地区|国家|城市|机房)|where can I (?:buy|download)",
        r"\b(?:us|eu|ap)-\w+-\d|国家|城市|\bregions? ",
    ),
}


def change(question: Question) -> Slot | None:
    """The value before and after, where that is asked for."""
    return next((slot for slot in _slots(question) if slot.spread), None)


def slots(question: Question) -> tuple[Slot, ...]:
    """What the question asks for, as far as its words say of which sort that is; often nothing."""
    return tuple(_slots(question))


def _slots(question: Question) -> Iterator[Slot]:
    for name, (asked, filled) in _RARE.items():
        if asked.search(question.text):
            yield Slot(name, lambda text, filled=filled: bool(filled.search(text)), rare=True)  # type: ignore[misc]
    given = {held.value for held in quantities(question.text)}
    if Want.CHANGE in question.wants:
        yield Slot("change", lambda text: _changes(question, text), spread=True)
        return
    if question.units:
        yield Slot("unit", lambda text: any(held.unit in question.units for held in quantities(text)))
    counted = [noun for found in _COUNTED.finditer(question.text) if (noun := stems(_noun(found)))]
    for nouns in counted:
        yield Slot("count", lambda text, nouns=nouns: _counts(nouns, text, question.lang))  # type: ignore[misc]
    if Want.NUMBER in question.wants and _NUMBER.search(question.text) and not question.units and not counted:
        yield Slot("number", lambda text: any(held.value not in given for held in quantities(text)))


def _noun(found: re.Match[str]) -> str:
    noun = (found["en"] or found["zh"] or "").strip()
    return "" if noun[:1] in _NO_NOUN or _CHANGES.match(noun) else noun


def _changes(question: Question, text: str) -> bool:
    """Whether a text has two values of one sort, in the units that are asked for, that the question does not give."""
    given = {held.value for held in quantities(question.text)}
    wanted = question.units or question.sort
    values: dict[str, set[tuple[Decimal, str]]] = defaultdict(set)
    for held in quantities(text):
        if held.value not in given and (not wanted or held.unit in wanted):
            values["bytes" if held.unit in SIZES else held.unit].add((held.value, held.unit))
    return any(len(found) > 1 for found in values.values())


def _counts(nouns: frozenset[str], text: str, lang: Lang) -> bool:
    """Whether a number stands near one of `nouns`; in a text of another language, whether there is a number at all."""
    if (lang == "zh") != bool(HAN.search(text)):
        return bool(_FIGURE.search(text))
    return any(
        nouns & stems(text[max(0, figure.start() - _NEARBY) : figure.end() + _NEARBY])
        for figure in _FIGURE.finditer(text)
    )
