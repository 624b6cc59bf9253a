"""Found chunks cut into passages: the sentences, items, table rows and lines of code that an answer may quote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from generate.quantity import quantities
from kb.text import HAN, detect_lang, sentences, stable_id
from kb.types import Chunk, Evidence, Hit, Locator, Mark, Page, Role, Span

Form = Literal["prose", "row", "code"]

_FENCE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*(?P=mark)[`~]*[ \t]*$|\Z)", re.M | re.S)
_LEAD = re.compile(r"(?:\s|\\?[-*+•◦▪](?=\s)|\d{1,2}[.)、](?=\s|[^\d])|>|\[[ xX]\](?=\s))*")
_ITEM_NUMBER = re.compile(r"[：:；;，,、]\s*\d{1,2}\.$")
_NEXT_ITEM = re.compile(r"[ \t]*\d{1,2}[.、)）]")
_LABEL = re.compile(r"[^：:\n]{1,8}[：:]")
_GOES_ON = re.compile(rf"\n[ \t]*(?![•\-*+>|#]|[^：:\n]{{1,8}}[：:])(?:{HAN.pattern}|[a-z_（(])")
_LONGEST = 200  # characters that wrapped lines are joined to
_LEAST = 12  # characters; a shorter line is a title or a label, not a sentence that was wrapped
_RULE_ROW = re.compile(r"[\s|:\-+=]+")
_HEADING = re.compile(r"#{1,6}\s")
_DIRECTIVE = re.compile(r"(?:```|~~~|:::|!!!|\?\?\?|\$\$$|-{3,}$|\*{3,}$|<!--)")
_KEYWORDS = re.compile(r"(?:tags|keywords|categories)[ \t]*:", re.IGNORECASE)  # of front matter: no statement
# The kind and the title of a box: `!!! note "Why"`.
_ADMONITION = re.compile(r"\w+(?:[ \t]+\"[^\"\n]*\")?\s*(?:\n\s*|$)")
_SPEECH_COLUMNS = 60  # a caption shorter than this is joined with the next one until a sentence ends
_SENTENCE_END = re.compile(r"[。！？.!?…][”’\"')）】]*$")


@dataclass(frozen=True)
class Passage:
    """`hit.chunk.text[start:end]`, which may be quoted as it stands.

    `around` holds words that belong to it and stand elsewhere: its headings and titles, its table's header.
    """

    hit: Hit
    start: int
    end: int
    form: Form
    around: str = ""
    header: str = ""  # of a table's row

    @cached_property
    def quote(self) -> str:
        return self.hit.chunk.text[self.start : self.end]

    @cached_property
    def under_header(self) -> str:
        return f"{self.header}\n{self.quote}"

    @cached_property
    def in_context(self) -> str:
        return f"{self.around}\n{self.quote}"

    @cached_property
    def locator(self) -> Locator:
        return self.hit.chunk.locate(self.start, self.end)

    @cached_property
    def id(self) -> str:
        """Opaque, and the same wherever this passage is cited."""
        return mint(self.hit.chunk.id, str(self.start), str(self.end))

    @cached_property
    def parts(self) -> tuple[Passage, ...]:
        """The passages of its whole chunk."""
        return tuple(passages([self.hit]))

    def overlaps(self, other: Passage) -> bool:
        return self.hit.chunk.id == other.hit.chunk.id and self.start < other.end and other.start < self.end

    def evidence(self) -> Evidence:
        chunk = self.hit.chunk
        return Evidence(
            id=self.id,
            chunk_id=chunk.id,
            source_id=chunk.source_id,
            locator=self.locator,
            quote=self.quote,
            lang=chunk.lang,
        )


def mint(*parts: str) -> str:
    """An id of eight letters and digits that starts with a letter, so that no one takes it for a list number."""
    return "e" + stable_id("evidence", *parts).replace("-", "")[:7]


def passages(hits: Sequence[Hit]) -> list[Passage]:
    """The passages of `hits`, in their order; text that two chunks share is given once."""
    seen: set[tuple[str, str]] = set()
    found = []
    for hit in hits:
        for passage in (Passage(hit, *piece) for piece in _pieces(hit.chunk)):
            key = (hit.source.id, " ".join(passage.quote.split()))
            if key not in seen:
                seen.add(key)
                found.append(passage)
    return found


@lru_cache(maxsize=2048)
def _pieces(chunk: Chunk) -> tuple[tuple[int, int, Form, str, str], ...]:
    """Where the passages of `chunk` are, their form, what is around them and the header of a row."""
    text = _without_titles(chunk)
    fences = list(_FENCE.finditer(text))
    if chunk.role is Role.SPEECH:
        spans: Iterator[tuple[int, int, Form]] = _speech(text)
    elif chunk.role is Role.CODE and not fences and isinstance(chunk.spans[0].locator, Page):
        spans = _lines(text, 0, len(text), "code")
    else:
        spans = _written(text, fences)
    header = ""
    pieces = []
    for start, end, form in spans:
        line = text[start:end]
        if form == "row":
            if _RULE_ROW.fullmatch(line):
                continue
            if _is_header(text, end):
                header = line
                continue
        if start < end and _is_located(chunk, start, end):
            above = header if form == "row" else ""
            words = [chunk.context, _headings(chunk, start, end), above]
            pieces.append((start, end, form, "\n".join(filter(None, words)), above))
    return tuple(pieces)


def _without_titles(chunk: Chunk) -> str:
    """The text with blank lines for its titles: a title names what is answered below it.

    One that gives a figure, as on a slide (`FP8: up to 1.3 PFLOPS`), says something and stays.
    """
    text = chunk.text
    for before, span in zip((None, *chunk.spans), chunk.spans, strict=False):
        line = chunk.text[span.start : span.end]
        is_title = span.role is Role.TITLE or (before is not None and _is_subtitle(chunk, before, span))
        if is_title and not any(held.unit for held in quantities(line)):
            text = text[: span.start] + "\n" * (span.end - span.start) + text[span.end :]
    return text


def _is_subtitle(chunk: Chunk, before: Span, span: Span) -> bool:
    """Whether a slide gives its title once more in the other language, right below it."""
    if before.role is not Role.TITLE or span.role is not Role.BODY or not isinstance(span.locator, Page):
        return False
    title, line = chunk.text[before.start : before.end], chunk.text[span.start : span.end]
    return {detect_lang(title), detect_lang(line)} == {"zh", "en"} and not _SENTENCE_END.search(line)


def _headings(chunk: Chunk, start: int, end: int) -> str:
    """The headings of a note's passage, the title of a slide."""
    locator = chunk.locate(start, end)
    if isinstance(locator, Mark):
        return " > ".join(locator.heading_path)
    above = (span for span in reversed(chunk.spans) if span.role is Role.TITLE and span.end <= start)
    return next((chunk.text[span.start : span.end] for span in above), "")


def _is_located(chunk: Chunk, start: int, end: int) -> bool:
    return any(span.start < end and span.end > start for span in chunk.spans)


def _written(text: str, fences: Sequence[re.Match[str]]) -> Iterator[tuple[int, int, Form]]:
    at = 0
    for fence in fences:
        yield from _prose(text, at, fence.start())
        yield from _lines(text, fence.start(), fence.end(), "code")
        at = fence.end()
    yield from _prose(text, at, len(text))


def _prose(text: str, start: int, end: int) -> Iterator[tuple[int, int, Form]]:
    for left, right in _whole(text, start, end):
        line_start = text.rfind("\n", 0, left) + 1
        if text[line_start:left].strip() == "" and text[left] == "|":
            yield from _lines(text, left, right, "row")
            continue
        fragment = text[left:right]
        if any(kind.match(fragment) for kind in (_HEADING, _DIRECTIVE, _KEYWORDS)):
            continue
        if text[:left].rstrip().endswith(("!!!", "???")) and (label := _ADMONITION.match(text, left, right)):
            left = label.end()
        left += len(_LEAD.match(text, left, right)[0])  # type: ignore[index]  # it matches the empty string, too
        if any(map(str.isalpha, text[left:right])):  # a lone number on a slide tells nothing
            yield left, right, "prose"


def _whole(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Sentences, put together again where a line of a slide or the number of an item was taken for a whole one."""
    held: int | None = None
    for left, right in sentences(text[start:end]):
        left, right = start + left, start + right
        first = left if held is None else held
        if _is_broken_off(text[first:right], text[right:end]):
            held = first
            continue
        held = None
        yield first, right
    if held is not None:
        yield held, end - (len(text[held:end]) - len(text[held:end].rstrip()))


def _is_broken_off(fragment: str, rest: str) -> bool:
    """Whether the sentence goes on: after the number of an item inside it, or over a break between two hanzi."""
    if _ITEM_NUMBER.search(fragment) or (fragment.endswith(("；", ";")) and _NEXT_ITEM.match(rest)):
        return True
    last = fragment.rsplit("\n", 1)[-1]
    is_prose = not _HEADING.match(fragment) and not _LABEL.match(last) and _LEAST < len(fragment) < _LONGEST
    return is_prose and bool(HAN.match(last[-1:]) and _GOES_ON.match(rest))


def _lines(text: str, start: int, end: int, form: Form) -> Iterator[tuple[int, int, Form]]:
    for line in re.finditer(r"[^\n]+", text[start:end]):
        left, right = start + line.start(), start + line.end()
        left += len(text[left:right]) - len(text[left:right].lstrip())
        right = left + len(text[left:right].rstrip())
        if left < right and not _DIRECTIVE.match(text[left:right]):
            yield left, right, form


def _is_header(text: str, end: int) -> bool:
    """Whether the row that ends at `end` is followed by the rule that makes it a table's header."""
    below = text[end:].lstrip("\n").split("\n", 1)[0]
    return "-" in below and bool(_RULE_ROW.fullmatch(below))


def _speech(text: str) -> Iterator[tuple[int, int, Form]]:
    """Sentences of speech; captions without punctuation are joined up to a readable length."""
    start = None
    end = 0
    for left, right in sentences(text):
        start = left if start is None else start
        end = right
        fragment = text[start:end]
        if _SENTENCE_END.search(fragment) or len(fragment) + len(HAN.findall(fragment)) >= _SPEECH_COLUMNS:
            yield start, end, "prose"
            start = None
    if start is not None:
        yield start, end, "prose"
