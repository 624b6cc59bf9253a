"""Numbers with their units, across notations: `1,152` is 1152, `5 亿` is 500 million, `50 %` is 百分之 50."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

_SCALES = {"万": 10**4, "亿": 10**8, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_LETTERS = {"K": 10**3, "k": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
SIZES = tuple(f"{prefix}{binary}B" for prefix in "KMGTP" for binary in ("", "i"))
"""Units that count bytes."""

_UNITS = (
    {
        "%": ("%", "percent", "per cent", "％"),
        "x": ("x", "×", "倍", "times", "-fold", "\\times"),
        "ms": ("ms", "毫秒", "milliseconds", "millisecond"),
        "us": ("us", "µs", "μs", "微秒", "microseconds", "microsecond"),
        "ns": ("ns", "纳秒", "nanoseconds"),
        "s": ("s", "秒", "秒钟", "seconds", "second", "sec"),
        "min": ("min", "分钟", "minutes", "minute"),
        "h": ("h", "小时", "hours", "hour"),
        "d": ("天", "days", "day"),
        "byte": ("B", "字节", "bytes", "byte"),
        "bit": ("bit", "bits", "比特", "位"),
        "tok/s": ("tok/s", "tokens/s", "token/s", "tokens per second"),
        "token": ("tokens", "token", "个 token", "个 Token", "词元"),
        "gpu": ("GPUs", "GPU", "张卡", "块 GPU", "张 GPU"),
        "layer": ("层", "layers", "layer"),
        "W": ("W", "瓦", "watts"),
    }
    | {f"{p}FLOPS": (f"{p}FLOPS", f"{p}FLOP/s") for p in "GTP"}
    | {size + per: (size + per,) for size in SIZES for per in ("", "/s")}
)
_UNIT_OF = {
    spelling.casefold() if len(spelling) > 2 else spelling: unit for unit, all_ in _UNITS.items() for spelling in all_
}
_SPELLINGS = "|".join(
    re.escape(s) for s in sorted((s for all_ in _UNITS.values() for s in all_), key=len, reverse=True)
)
_QUANTITY = re.compile(
    r"(?P<zh_percent>百分之\s?)?(?<![A-Za-z0-9_.])(?<![A-Za-z]-)(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)"
    r"(?:(?P<letter>[KkMBT])(?![\w/]|i?B))?"
    r"(?:\s?(?P<scale>万|亿|thousand|million|billion|trillion))?"
    rf"(?:\s?(?P<unit>{_SPELLINGS})(?![A-Za-z]))?",
    re.IGNORECASE,
)
_WORDS: dict[str, int | Decimal] = {
    **dict(zip("一二三四五六七八九十", range(1, 11), strict=True)),
    "两": 2,
    **{w: n for n, w in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1)},
    "twice": 2,
    "half": Decimal("0.5"),
}
_WORD = re.compile(rf"[一二两三四五六七八九十]|\b(?:{'|'.join(w for w in _WORDS if w.isascii())})\b", re.IGNORECASE)
_COUNTED = re.compile(
    r"(?P<word>[两二三四五六七八九十])\s?(?P<unit>倍)?(?(unit)|(?=[个种层次步类块张项点条]))"
    rf"|\b(?P<latin>{'|'.join(w for w in _WORDS if w.isascii() and w != 'one')})\b",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[*_`$\\{}]|\\text|\\mathbf")


@dataclass(frozen=True)
class Quantity:
    value: Decimal
    unit: str  # canonical; empty where the text names none
    written: str


def quantities(text: str) -> Iterator[Quantity]:
    """The numbers of `text`. Digits inside an identifier or a version (`H100`, `v0.33.0`) are no numbers."""
    plain = _plain(text)
    for found in _QUANTITY.finditer(plain):
        if re.match(r"\.\d|[A-Za-z_]", plain[found.end("number") :]) and not (found["letter"] or found["unit"]):
            continue
        value = Decimal(found["number"].replace(",", ""))
        value *= _LETTERS.get(found["letter"] or "", 1) * _SCALES.get((found["scale"] or "").lower(), 1)
        unit = "%" if found["zh_percent"] else _canonical(found["unit"] or "")
        yield Quantity(value.normalize(), unit, found[0].strip())


def spelled_out(text: str) -> Iterator[Quantity]:
    """The numbers that `text` counts with in words: `三种`, `两倍`, `four`, `half`. A lone `one` counts nothing."""
    for found in _COUNTED.finditer(_plain(text)):
        value = Decimal(_WORDS[(found["word"] or found["latin"]).lower()])
        yield Quantity(value, "x" if found["unit"] else "", found[0].strip())


def supported(claimed: Quantity, evidence: str) -> bool:
    """Whether `evidence` holds this number with this unit.

    A number without a unit of its own there, as in a table's cell, may take its unit from elsewhere in the evidence.
    """
    for held in quantities(evidence):
        if held.value != claimed.value:
            continue
        if not claimed.unit or held.unit == claimed.unit:
            return True
        if not held.unit and _names_unit(claimed.unit, evidence):
            return True
    if claimed.unit in ("", "x"):
        return any(_WORDS[word.lower()] == claimed.value for word in _WORD.findall(_plain(evidence)))
    return False


def _plain(text: str) -> str:
    return _MARKUP.sub("", unicodedata.normalize("NFKC", text.replace("\\times", "×").replace("\\%", "%")))


def _canonical(spelling: str) -> str:
    if not spelling:
        return ""
    return _UNIT_OF.get(spelling) or _UNIT_OF.get(spelling.casefold()) or spelling.upper()


def _names_unit(unit: str, text: str) -> bool:
    spellings = "|".join(map(re.escape, _UNITS.get(unit, (unit,))))
    return bool(re.search(rf"(?<![A-Za-z])(?:{spellings})(?![A-Za-z])", _plain(text)))
