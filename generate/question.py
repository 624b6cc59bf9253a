"""What a question asks for: its concepts with the names that a passage may use for them, and the kind of answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from generate.quantity import SIZES, quantities
from index.sparse import terms
from kb.glossary import Glossary, Term, load_glossary
from kb.text import HAN, detect_lang
from kb.types import Lang


class Want(StrEnum):
    NUMBER = "number"
    NAME = "name"  # a flag, variable, function, class, value
    REASON = "reason"
    MANNER = "manner"
    LIST = "list"
    MEANING = "meaning"
    CHANGE = "change"  # a value before and after, beside NUMBER


_WANTS = {
    Want.NUMBER: r"多少|几[个种倍天条张层位次]|多大|多长|多久|百分之几|默认值"
    r"|how (?:many|much|long|large|often|fast|slow)|default|维"
    r"|what (?:percent|share|fraction|range|number|value|factor)|which .{0,30}value",
    Want.NAME: r"(?:哪个|什么|哪些|哪种|哪一个)(?:环境)?"
    r"(?:参数|变量|选项|命令|函数|接口|类|字段|标志|策略|前缀|方法|算法|元组|spec)"
    r"|which (?:\w+[ -]){0,3}(?:flags?|variable|option|parameter|argument|command|function|class|field|algorithm|model"
    r"|policy|knob|setting)|what (?:\w+ ){0,2}(?:flag|variable|option|command|parameter)|which (?:other )?flags"
    r"|怎么开启|如何开启|怎样开启|开启.*参数|启动.*参数|spec\b",
    Want.REASON: r"为什么|为何|为啥|原因|怎么会|凭什么|\bwhy\b|\breason|\bcause|how come",
    Want.MANNER: r"怎么|怎样|如何|咋|\bhow (?:do|does|can|to|should|is|are|did)\b",
    Want.LIST: r"哪些|哪几|哪两|哪三|几类|有什么|\bwhich\b.*\b(?:are|ones)\b|\blist\b|\bwhat are\b|缺点|优点|好处",
    Want.MEANING: r"是什么|什么是|是指|意味着|含义|区别|\bwhat (?:is|does)\b|\bmean\b|difference|stand for",
    Want.CHANGE: r"[从由].{0,4}?(?:多少|几).{0,12}?[到至成为]了?\s?(?:多少|几)"
    r"|(?:前后|前[和与、]\S{0,8}?后).{0,24}?(?:多少|几)"
    r"|\bfrom (?:how (?:much|many)|what)\b.{0,80}?\bto (?:how (?:much|many)|what)\b"
    r"|\bhow (?:much|many)\b.{0,120}?\b(?:before and after|with and without)\b",
}
_ASKS = {want: re.compile(pattern, re.IGNORECASE) for want, pattern in _WANTS.items()}

_IDENTIFIER = re.compile(
    r"--?[A-Za-z][\w-]+|\b[A-Za-z]\w*(?:_\w+)+\b|\b[a-z]+(?:[A-Z]\w+)+\b|\b\w+(?:[./-]\w+)*\.\w{2,}\b"
)
_CLAUSE = re.compile(
    r"[？?；;，,]+|(?<=\s)and (?=(?:what|which|how|why|when|where|who)\b)|(?<=\S)(?=以及|并且|还有)", re.IGNORECASE
)
_INTERROGATIVE = re.compile(
    r"多少|几[个种倍天条张层位次类]|什么|怎么|怎样|如何|为什么|为何|哪|吗|谁|呢|是否|能不能|会不会|还是|多[大长久]|[？?]"
    r"|\b(?:what|which|how|why|who|when|where)\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"多少(?:个)?\s*|(?<![到这那前后好])几(?=[倍张])|how many\s+", re.IGNORECASE)
_CHANGED = re.compile(rf"[降减升提增涨缩变改扩]{HAN.pattern}{{0,2}}?(?=[到至成为]了?\s?(?:多少|几))")
_SORTS = (
    (SIZES, re.compile(r"显存|内存|\b(?:gpu |video )?memory\b|\bVRAM\b", re.IGNORECASE)),
    (("ms", "us", "s", "min"), re.compile(r"延迟|时延|耗时|\blatency\b|\bTTFT\b|\bTPOT\b", re.IGNORECASE)),
)
_FLAG = re.compile(r"--[A-Za-z][\w-]+|\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b")
_VERSION = re.compile(r"\bv?(\d+\.\d+(?:\.\d+)?)(?!\d|\s*(?:%|倍|x\b|[GMK]i?B))")
_CALLED = re.compile(
    r"\b(?:versions?|releases?)\s+(\d+\.\d+(?:\.\d+)?)|版本?\s?(\d+\.\d+(?:\.\d+)?)|\bv(\d+\.\d+)|(\d+\.\d+(?:\.\d+)?)\s?版"
    r"|\b(\d+\.\d+\.\d+)\b"
    r"|(?:服务|引擎|框架|系统|软件|库|\b(?:vllm|services?|servers?|engine|framework|software|library))\s?(\d+\.\d+)\b",
    re.IGNORECASE,
)
_VERB = 0.75  # weight of an English word that all fields use: it is said in many ways
_NAMES = frozenset({"nr", "ns", "nt", "nz"})
_PROPER = re.compile(r"\b(?=\w*[A-Z])[A-Za-z][\w]*(?:[-.]\w+)*")


@dataclass(frozen=True)
class Concept:
    """Something that the question speaks of. `term` where the glossary knows it, under all its names."""

    name: str  # as `index.sparse.terms` gives it
    surface: str  # as the question spells it
    weight: float
    term: Term | None = None
    named: bool = False  # a proper name, an identifier or a number: another word cannot stand for it
    noun: bool = False  # what it speaks of, rather than what happens; in English nobody tells, so every word


@dataclass(frozen=True)
class Question:
    text: str
    lang: Lang
    concepts: tuple[Concept, ...]
    wants: frozenset[Want]
    flags: tuple[str, ...]  # flags and variables, spelled out; an answer must be about these very ones
    versions: tuple[str, ...]
    versions_meant: tuple[str, ...]  # those that it calls versions, or writes in three parts
    units: frozenset[str]  # that a wanted number must have: ms for `多少毫秒`, W for `how many watts`
    sort: frozenset[str] = frozenset()  # units that such a number mostly has: of bytes where it is one of memory
    parts: tuple[Question, ...] = ()  # where it asks several things at once: each of them


def stop_words() -> frozenset[str]:
    """Words that say nothing about a subject."""
    return _word_list("stopwords.txt")


@cache
def _word_list(name: str) -> frozenset[str]:
    lines = files("generate").joinpath(name).read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def analyse(text: str, glossary: Glossary | None = None) -> Question:
    glossary = glossary or load_glossary()
    whole = _analysed(text, glossary)
    parts = _parts(text)
    return whole if len(parts) < 2 else replace(whole, parts=tuple(_analysed(part, glossary) for part in parts))


def _parts(text: str) -> list[str]:
    """The questions that `text` asks; a clause that asks nothing belongs to the next one that does."""
    parts = []
    start = 0
    for end in [*(found.end() for found in _CLAUSE.finditer(text)), len(text)]:
        if _INTERROGATIVE.search(text[start:end]):
            parts.append(text[start:end])
            start = end
    if parts:
        parts[-1] += text[start:]
    return parts


def _analysed(text: str, glossary: Glossary) -> Question:
    versions = tuple(dict.fromkeys(_VERSION.findall(text)))
    return Question(
        text=text,
        lang=detect_lang(text),
        concepts=tuple(_concepts(text, glossary)),
        wants=frozenset(want for want, pattern in _ASKS.items() if pattern.search(text)),
        flags=tuple(dict.fromkeys(_FLAG.findall(text))),
        versions=versions,
        versions_meant=tuple(version for version in versions if version in _called(text)),
        units=_units(text),
        sort=frozenset(unit for units, words in _SORTS for unit in units if words.search(text)),
    )


def _called(text: str) -> frozenset[str]:
    return frozenset(number for found in _CALLED.finditer(text) for number in found.groups() if number)


def _units(text: str) -> frozenset[str]:
    units = {q.unit for q in quantities(_HOW_MANY.sub("1 ", text)) if q.unit and q.written.startswith("1 ")}
    return frozenset(units.union(SIZES) if "byte" in units else units)


def _concepts(text: str, glossary: Glossary) -> Iterator[Concept]:
    text = _CHANGED.sub("", text)  # `降到多少` asks for a number and says nothing about it
    proper = {token for word in _PROPER.findall(text) for token in terms(word)}
    covered: set[str] = set()
    for term in glossary.find(text):
        tokens = {token for name in term.names("und") for token in terms(name)}
        covered |= tokens
        is_kind = not stop_words().isdisjoint(name.casefold() for name in term.names("und"))  # `the default of …`
        weight = 0.4 if is_kind else 1.2
        yield Concept(term.names("und")[0], _spelling(term, text), weight, term, named=bool(tokens & proper))
    classes = _word_classes(text)
    covered |= stop_words().union(_VERSION.findall(text))  # a version says which source, not what it speaks of
    tokens = {token for token in terms(text) if token not in covered}
    for token in (token for token in dict.fromkeys(terms(text)) if token in tokens):
        if HAN.search(token):
            if not any(part != token and part in token for part in tokens):  # search mode gives a word and its parts
                kind = (
                    ""
                    if token in _word_list("kinds.txt")
                    else next((kind for word, kind in classes.items() if token in word), "")
                )
                yield Concept(token, token, _hanzi_weight(token, kind), named=kind in _NAMES, noun=kind.startswith("n"))
        else:
            surface = _surface(token, text)
            named = token in proper or any(map(str.isdigit, token))
            if surface:
                noun = not _is_common(token)
                weight = _latin_weight(token, named=named) if noun or named else _VERB
                yield Concept(token, surface, weight, named=named, noun=noun)


def _spelling(term: Term, text: str) -> str:
    """How the question spells a term: the longest of its names that stands there; else its usual one."""
    names = sorted(term.names("und"), key=len, reverse=True)
    return next((name for name in names if name.casefold() in text.casefold()), term.names(detect_lang(text))[0])


def _is_common(word: str) -> bool:
    """Whether it is no noun of a field: a verb, an adjective or an adverb that all fields use, or a kind of thing."""
    if word in _word_list("kinds.txt") or (word.endswith("ly") and len(word) > 4):
        return True
    bases = {word} | {word.removesuffix(ending) for ending in ("s", "es", "d", "ed", "ing", "r", "er", "st", "est")}
    bases |= {f"{base}e" for base in bases if word.endswith(f"{base}ing")}
    bases |= {base[:-1] for base in bases if base[-1:] == base[-2:-1]}  # stopped, bigger
    bases |= {f"{word.removesuffix(ending)}y" for ending in ("ies", "ied", "ier") if word.endswith(ending)}
    return not bases.isdisjoint(_word_list("common.txt"))


def _surface(token: str, text: str) -> str:
    """How the question spells it; a term that the tokenizer joined out of two words is no word of the question."""
    found = re.search(r"[-_]*".join(map(re.escape, token)), text, re.IGNORECASE)
    return found[0] if found else ""


def _hanzi_weight(token: str, kind: str) -> float:
    """Nouns say what a question is about; verbs and the rest are said in many ways."""
    if len(token) == 1:
        return 0.3
    return 1.0 if kind.startswith("n") else 0.6


def _latin_weight(token: str, *, named: bool) -> float:
    if _IDENTIFIER.search(token):
        return 2.0
    if named:
        return 1.5
    return 1.0 if len(token) > 2 else 0.5


@cache
def _tagger() -> Any:  # noqa: ANN401 - rjieba is untyped
    import rjieba

    return rjieba.Jieba()


def _word_classes(text: str) -> Mapping[str, str]:
    """Word to its class in the tag set of jieba: `n` noun, `nz` other proper name, `v` verb …

    What its dictionary does not hold was cut by guess, so its class is one, too, and is left out.
    """
    return {word: kind for word, kind in _tagger().tag(text) if HAN.search(word) and _tagger().has_word(word)}


def content_terms(text: str) -> frozenset[str]:
    """Terms of `text` that say something about its subject."""
    return frozenset(terms(text)) - stop_words()
