"""Words to sparse vectors: one tokenizer for documents and queries, BM25 weights here, IDF in Qdrant.

Chinese runs are cut by rjieba in search mode. Identifiers count whole and in parts: `--kv-cache-dtype`,
`kv_cache_dtype` and `KVCacheDtype` meet in `kvcachedtype` and in `kv`, `cache`, `dtype`. A number counts bare and with
its unit. Both scripts of Chinese, upper and lower case, full and half width are one.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from index.store import Sparse
from kb.text import HAN, fold, folded
from kb.types import Chunk

# BM25: Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), section 3.
K1 = 0.9
B = 0.5
AVERAGE_TERMS = 100.0  # fixed, so that the weights of a chunk never depend on the other chunks
PART_WEIGHT = 0.35  # what `cache` in `--kv-cache-dtype` counts in a question
CONTEXT_WEIGHT = 0.5  # what a term of the title or a heading counts, against 1 in the text

FINGERPRINT = f"terms/1 bm25 k1={K1} b={B} average={AVERAGE_TERMS} context={CONTEXT_WEIGHT}"

_HAN = HAN.pattern[1:-1]
_LETTER = rf"[^\W{_HAN}]"
_RUN = re.compile(rf"(?P<han>[{_HAN}]+)|{_LETTER}+(?:(?:[-./:+#@]|(?<=\d),(?=\d\d\d)){_LETTER}+)*(?:%|\+\+|#)?")
_MEASURE = re.compile(r"(\d+(?:\.\d+)?)([a-z]{1,6}|%)")
_NUMBER = re.compile(r"v?(\d+(?:\.\d+)*)")
_UNIT = re.compile(r" ((?:[kmgtp]i?b|[kmgt]?flops|[mnu]?s|[kmg]?hz|tok(?:en)?s?|gpus?|[kmbt])(?:/s)?|%)(?!\w)", re.I)
_SEPARATOR = re.compile(r"[-./:+#@_]+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\da-zA-Z_]+")

_STOP_WORDS = """
的 了 在 是 和 与 及 或 而 就 都 也 还 又 很 被 把 将 让 使 对 从 到 由 以 为 于 给 向 跟 用 等 吗 呢 吧 啊 呀 嘛 么
着 过 得 地 之 其 这 那 哪 谁 几 个 种 些 每 各 上 下 里 中 内 外 会 能 可 要 应 该 有 没 不 没有 什么 怎么 怎样
怎么样 怎么办 如何 为什么 为何 多少 哪些 哪个 哪种 哪里 多久 这个 那个 这样 那样 这里 那里 这些 那些 我们 你们 他们
它们 我 你 他 她 它 可以 需要 应该 能够 可能 因为 所以 如果 假如 但是 不过 而且 以及 并且 或者 还是 是否 是不是
能不能 有没有 一下 一个 一种 一些 时候 的话 到底 究竟 其实 真的 a an the of to in on at by for with from into onto
over under as is are was were be been being am do does did done has have had will would can could shall should may
might must and or nor but if then than so that this these those it its i me my we our us you your he she they them
their there here what which who whom whose when where why how not no yes s t re ve ll d m about just only very too
also
"""
_STOP = frozenset(_STOP_WORDS.split())


class _Term(NamedTuple):
    text: str
    start: int
    end: int
    part: bool = False  # of an identifier that is a term itself


def terms(text: str) -> list[str]:
    """The terms of `text`, in order, with repetitions; an identifier gives several."""
    return [term.text for term in _in_folded(folded(text))]


def document_vector(chunk: Chunk) -> Sparse:
    """BM25 weights of a chunk's terms, its context included; Qdrant multiplies the IDF in."""
    counts: Counter[str] = Counter(terms(chunk.text))
    length = sum(counts.values())
    frequencies: dict[str, float] = dict(counts)
    for term in terms(chunk.context):
        frequencies[term] = frequencies.get(term, 0) + CONTEXT_WEIGHT
    norm = K1 * (1 - B + B * length / AVERAGE_TERMS)
    return _sparse((term, count * (K1 + 1) / (count + norm)) for term, count in frequencies.items())


def query_vector(
    text: str,
    added: Iterable[str] = (),
    alike: Iterable[str] = (),
    *,
    added_weight: float = 1.0,
    alike_weight: float = 1.0,
) -> Sparse:
    """Terms of a question, each once, parts of identifiers at `PART_WEIGHT`.

    Where the question lacks them, the terms of `added` texts count `added_weight`, the words of `alike` their own.
    """
    own = [(term.text, PART_WEIGHT if term.part else 1.0) for term in _scan(text)]
    said = {term for term, _ in own}
    further = [(term, added_weight) for extra in added for term in terms(extra) if term not in said]
    return _sparse(own + further + [(word, alike_weight) for word in alike if word not in said])


def matched_spans(text: str, query: str) -> list[tuple[int, int]]:
    """Places in `text` of the words that `query` has, too: sorted, apart from each other, for marking."""
    wanted = _said(query)
    spans: list[tuple[int, int]] = []
    for start, end in sorted((term.start, term.end) for term in _scanned(text) if term.text in wanted):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans


@functools.lru_cache(maxsize=1024)
def _scanned(text: str) -> tuple[_Term, ...]:
    """What is found often is marked again and again."""
    return tuple(_scan(text))


@functools.lru_cache(maxsize=8)
def _said(query: str) -> frozenset[str]:
    """The terms of a question, which is asked of every hit."""
    return frozenset(terms(query))


def _sparse(weights: Iterable[tuple[str, float]]) -> Sparse:
    """Term ids are CRC-32: stable everywhere; two of 30,000 terms share one in a tenth of all libraries."""
    by_id: dict[int, float] = {}
    for term, weight in weights:
        key = zlib.crc32(term.encode())
        by_id[key] = max(weight, by_id.get(key, 0.0))
    ordered = sorted(by_id.items())
    return Sparse(tuple(key for key, _ in ordered), tuple(weight for _, weight in ordered))


def _scan(text: str) -> Iterator[_Term]:
    """Terms of `text` with the places in it that they came from; a place may give several."""
    whole = fold(text)
    for word, start, end, part in _in_folded(whole.text):
        yield _Term(word, whole.offsets[start], whole.offsets[end - 1] + 1, part)


def _in_folded(text: str) -> Iterator[_Term]:
    for run in _RUN.finditer(text):
        yield from _han(run) if run["han"] else _latin(run)


def _han(run: re.Match[str]) -> Iterator[_Term]:
    simplified = run[0].translate(_simplified())
    for word, start, end in _jieba().tokenize(simplified, "search"):
        if word not in _STOP:
            yield _Term(word, run.start() + start, run.start() + end)


def _latin(run: re.Match[str]) -> Iterator[_Term]:
    whole = run[0].casefold().replace(",", "")
    start, end = run.span()
    if number := _NUMBER.fullmatch(whole):
        yield _Term(number[1], start, end)
        if unit := _UNIT.match(run.string, end):
            yield _Term(f"{number[1]}{unit[1].casefold()}", start, unit.end())
        return
    if measure := _MEASURE.fullmatch(whole):
        yield _Term(whole, start, end)
        yield _Term(measure[1], start, start + len(measure[1]))
        return
    for word, part in _words(run[0]):
        yield _Term(word, start, end, part)


@functools.lru_cache(maxsize=1 << 15)
def _words(identifier: str) -> tuple[tuple[str, bool], ...]:
    """The terms of an identifier, and whether each is a part of it. Few words make up most of any text."""
    forms = dict.fromkeys(_forms(identifier))
    return tuple((word, place > 0) for place, word in enumerate(forms) if word and word not in _STOP)


def _forms(identifier: str) -> Iterator[str]:
    """An identifier as it stands (`C++`), as one word, its members (`a.b.c`), the words in them (`a_b`, `aB`)."""
    if identifier[-1] in "+#":
        yield identifier.casefold()
    yield _joined(identifier)
    for member in re.split(r"[./:]+", identifier):
        yield _joined(member)
        for word in re.split(r"[-+#@_]+", member):
            yield _joined(word)
            for part in _CAMEL.findall(word):
                if len(part) > 1:
                    yield part.casefold()


def _joined(text: str) -> str:
    return _SEPARATOR.sub("", text.casefold())


class _Segmenter(Protocol):
    def tokenize(self, text: str, mode: str) -> list[tuple[str, int, int]]: ...


@functools.cache
def _jieba() -> _Segmenter:
    import rjieba

    segmenter: _Segmenter = rjieba.Jieba()
    return segmenter


@functools.cache
def _simplified() -> dict[int, str]:
    """Traditional characters that have one simplified form, from OpenCC's own table."""
    import opencc

    characters = [chr(code) for code in range(0x4E00, 0xA000)]
    simplified = opencc.OpenCC("t2s").convert("\n".join(characters)).split("\n")
    return {ord(old): new for old, new in zip(characters, simplified, strict=True) if old != new}
