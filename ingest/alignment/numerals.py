"""Numbers that are spoken in Chinese, as digits: slides write them so."""

from __future__ import annotations

import re

_DIGITS = dict(zip("零一二三四五六七八九〇两", (*range(10), 0, 2), strict=True))
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "亿": 10**8}
_SPOKEN = re.compile(r"(?:百分之)?([零〇一二两三四五六七八九十百千万亿]{2,}|十)(?:点([零〇一二三四五六七八九]+))?")

_APPROXIMATE = re.compile(r"[一二两三四五六七八九]{2}")  # `一两个`, `三五年`


def with_digits(text: str) -> str:
    """`四万零九百六十个词元` as `40960个词元`, `百分之九十` as `90%`.

    A single digit stays a word: `一个` and `三点` are rarely numbers. So does what only looks like one: `千万不要`.
    """
    return _SPOKEN.sub(_written, text)


def _written(found: re.Match[str]) -> str:
    if found[1][0] in "百千万亿" or found[1] == "万一" or _APPROXIMATE.fullmatch(found[1]):
        return found[0]
    fraction = "." + "".join(str(_DIGITS[digit]) for digit in found[2]) if found[2] else ""
    return f"{_value(found[1])}{fraction}" + ("%" if found[0].startswith("百分之") else "")


def _value(spoken: str) -> int:
    if all(character in _DIGITS for character in spoken):
        return int("".join(str(_DIGITS[character]) for character in spoken))  # digit by digit: `二零二六`
    total = part = digit = 0
    unit = 10
    for character in spoken:
        if character in _DIGITS:
            digit = _DIGITS[character]
            unit = 10 if digit == 0 else unit  # `两千零五` is 2005, but `两千五` is 2500
        elif character in _TENS:
            unit = _TENS[character]
            part += (digit or 1) * unit
            digit = 0
        else:
            unit = _MYRIADS[character]
            total = (total + part + digit) * unit if unit == 10**8 else total + (part + digit) * unit
            part = digit = 0
    return total + part + digit * (unit // 10)
