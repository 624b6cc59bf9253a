"""Short titles for parts of a talk: from the titles of its slides, else from the terms that only it dwells on."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import TypeVar

from generate.question import content_terms
from generate.quotes import says_nothing_by_title
from kb.glossary import Term, load_glossary
from kb.text import HAN, detect_lang
from kb.types import Lang, Line

WIDEST = 16  # characters; half as wide are Latin letters, of which 32 fit

Part = Sequence[Line]
Kind = TypeVar("Kind")

Titles = Callable[[Sequence[Part], Lang], Sequence[str]]
"""One title for each part, in a language, none twice, at most `WIDEST` wide."""

_NUMBER = re.compile(
    r"^\s*(?:第?\s*(?:\d+(?:\.\d+)*|[一二三四五六七八九十]+)\s*(?:[.、．:：)）]\s|[、．：）]|[章节讲部分]+|(?<=\d\.\d)\s)\s*)+|^\s*(?:part|chapter)\s+\d+\W*",
    re.IGNORECASE,
)
_PART = re.compile(
    r"\s*[（(]\s*(?:\d+(?:\s*/\s*\d+)?|[一二三四五六七八九十]|续|cont\.?|continued)\s*[）)]\s*$", re.IGNORECASE
)
_JOINT = re.compile(r"\s*[：:；;|｜]\s*|\s*[—–]+\s*|\s+-\s+|[。.?？!！]\s+|[。？！]|\s*[（(]|[）)]\s*")
_COMMA = re.compile(r",\s+|，\s*")
_LOOSE = re.compile(
    r"(?:\b(?:of|the|a|an|and|or|for|to|in|on|with|by|at|as|is|are|from|vs)|[的与和及或在对把被了是]|\W)+$",
    re.IGNORECASE,
)


def width(text: str) -> float:
    """In characters: hanzi and other full-width ones count 1, Latin letters and other narrow ones a half."""
    return sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.5 for c in text if not unicodedata.combining(c))


def title_of(parts: Sequence[Part], lang: Lang) -> list[str]:
    """The title of the slide that is shown longest, as far as it fits; else its terms; else its number."""
    titles: list[str] = []
    for number, part in enumerate(parts, 1):
        candidates = [*_from_slides(part, lang), *_from_terms(part, parts, lang), _numbered(number, lang)]
        titles.append(next(title for title in candidates if title not in titles))
    return titles


def shortened(title: str, lang: Lang) -> Iterator[str]:
    """What fits of a title, best first: all of it, a clause, the beginning of it up to a whole word."""
    plain = _PART.sub("", _NUMBER.sub("", " ".join(title.split()))).strip()
    strong = _JOINT.split(plain)
    clauses = [clause for clause in (*strong, *(c for part in strong for c in _COMMA.split(part))) if len(clause) > 1]
    own = [clause for clause in _in_language(clauses, lang) if len(clause) > 1]
    for whole in (*([plain] if not own or detect_lang(plain) == lang else []), *own, *clauses):
        if whole and width(whole) <= WIDEST:
            yield whole
    yield from filter(None, (cut(whole, WIDEST) for whole in (*own, plain)))


def _in_language(clauses: Sequence[str], lang: Lang) -> Iterator[str]:
    """The clauses in `lang`; of one in both languages, the half that is in it."""
    for clause in clauses:
        if lang == "zh" and HAN.search(clause):
            yield clause
            last = clause.rfind(HAN.findall(clause)[-1]) + 1
            yield clause[:last].strip()
        elif lang != "zh" and not HAN.search(clause):
            yield clause


def cut(title: str, most: float, measure: Callable[[str], float] = width) -> str:
    """The beginning of a title, up to a whole word, that measures `most` or less; all of it where that fits."""
    import rjieba

    if measure(title) <= most:
        return title
    kept = ""
    for word in rjieba.cut(title):
        if measure(kept + word) > most:
            break
        kept += word
    return _LOOSE.sub("", kept).strip() or title[: int(most)]


def _from_slides(part: Part, lang: Lang) -> Iterator[str]:
    shown: Counter[str] = Counter()
    for line in part:
        if line.screen and line.screen.title and not says_nothing_by_title(line.screen.title):
            shown[line.screen.title] += max(1, line.locator.end_ms - line.locator.start_ms)
    for title, _ in shown.most_common():
        yield from shortened(title, lang)


# --- without slides ---------------------------------------------------------------------------------------------


def _from_terms(part: Part, parts: Sequence[Part], lang: Lang) -> Iterator[str]:
    """The terms of the glossary that the part dwells on more than the others do: two, else one; else its words."""
    names = [_name(term, lang) for term in _distinctive([_terms(each) for each in parts], parts.index(part))]
    joint = "与" if lang == "zh" else ", "
    pairs = (
        joint.join((one, other))
        for one, other in combinations(names[:4], 2)
        if one.casefold() not in other.casefold() and other.casefold() not in one.casefold()
    )
    yield from (title for title in (*pairs, *names) if width(title) <= WIDEST)
    bags = [Counter(word for line in each for word in content_terms(line.text)) for each in parts]
    words = [word for word in _distinctive(bags, parts.index(part)) if len(word) > 1 and not word.isdigit()]
    yield from (word for word in words if width(word) <= WIDEST)


def _terms(part: Part) -> Counter[Term]:
    return Counter(term for line in part for term in load_glossary().find(line.text))


def _distinctive(bags: Sequence[Counter[Kind]], at: int) -> list[Kind]:
    """What bag `at` holds: that first which is frequent there, rare in the others (TF-IDF) and says much by its length.
    What stands in most of many bags tells none of them apart, and comes last."""
    spread = Counter(one for bag in bags for one in bag)
    most = len(bags) / 2 if len(bags) > 2 else len(bags)

    def weight(one: Kind) -> float:
        names = (one.zh or one.en)[0] if isinstance(one, Term) else str(one)
        return math.sqrt(bags[at][one]) * math.log(1 + len(bags) / spread[one]) * (1 + min(width(names), 6) / 6)

    return sorted(bags[at], key=lambda one: (spread[one] > most, -weight(one), str(one)))


def _name(term: Term, lang: Lang) -> str:
    """The shortest usual name in the language."""
    own = term.names(lang)[:1] or term.names("und")[:1]
    fitting = [name for name in (*own, *term.abbr) if width(name) <= WIDEST]
    return fitting[0] if fitting else own[0]


def _numbered(number: int, lang: Lang) -> str:
    return f"第 {number} 部分" if lang == "zh" else f"Part {number}"
