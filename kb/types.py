"""Every noun that crosses a boundary between folders, as frozen pydantic models.

One model serves payload, artefact and HTTP response. Times are integer milliseconds, pages and lines count from 1,
character offsets count Unicode code points.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date as Date  # noqa: N812
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal
from urllib.parse import quote, unquote

from pydantic import BaseModel, ConfigDict, Field, field_serializer, model_validator

from kb.text import slug

Lang = Literal["zh", "en", "und"]


class Frozen(BaseModel):
    """A value: immutable, and strict about what it holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# --- where something is said ------------------------------------------------------------------------------------


class Time(Frozen):
    """A stretch of a recording, in milliseconds."""

    type: Literal["time"] = "time"
    start_ms: int = Field(ge=0)
    end_ms: int = Field(ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> Time:
        if self.end_ms < self.start_ms:
            raise ValueError(f"a time must not end ({self.end_ms} ms) before it starts ({self.start_ms} ms)")
        return self

    def __str__(self) -> str:
        return f"T:{clock(self.start_ms)}-{clock(self.end_ms)}"

    def href(self, source: Source) -> str:
        """Deep link: `?t=754` into a published video, a media fragment into a local file."""
        seconds = self.start_ms // 1000
        if source.url is None:
            return f"{source.uri}#t={seconds}"
        base, _, fragment = source.url.partition("#")
        joint = "&" if "?" in base else "?"
        return f"{base}{joint}t={seconds}" + (f"#{fragment}" if fragment else "")


class Page(Frozen):
    """A page of a deck: its absolute number, hidden slides counted, and the printed label where it differs."""

    type: Literal["page"] = "page"
    number: int = Field(ge=1)
    label: str = ""

    def __str__(self) -> str:
        return f"P:{self.number}" + (f"~{quote(self.label, safe='')}" if self.label else "")

    def href(self, source: Source) -> str:
        return f"{source.link.partition('#')[0]}#page={self.number}"


class Mark(Frozen):
    """Lines of a note below its headings; `anchor` is the id of the innermost heading in the rendered page."""

    type: Literal["mark"] = "mark"
    heading_path: tuple[str, ...] = ()
    line_start: int = Field(ge=1)
    line_end: int = Field(ge=1)
    anchor: str = ""

    @model_validator(mode="after")
    def _ordered(self) -> Mark:
        if self.line_end < self.line_start:
            raise ValueError(f"a mark must not end (line {self.line_end}) before it starts (line {self.line_start})")
        return self

    @property
    def default_anchor(self) -> str:
        return slug(self.heading_path[-1]) if self.heading_path else ""

    def __str__(self) -> str:
        path = "/".join(_escape(heading) for heading in self.heading_path)
        anchor = "" if self.anchor == self.default_anchor else f"~{_escape(self.anchor)}"
        return f"M:{path}{anchor}#L{self.line_start}-{self.line_end}"

    def href(self, source: Source) -> str:
        return source.link.partition("#")[0] + (f"#{quote(self.anchor, safe='')}" if self.anchor else "")


Locator = Annotated[Time | Page | Mark, Field(discriminator="type")]

_TIME = re.compile(r"T:(\d+):(\d\d):(\d\d)\.(\d{3})-(\d+):(\d\d):(\d\d)\.(\d{3})", re.ASCII)
_PAGE = re.compile(r"P:(\d+)(?:~(.*))?", re.ASCII)
_MARK = re.compile(r"M:([^~#]*)(?:~([^#]*))?#L(\d+)-(\d+)", re.ASCII)


def parse_locator(text: str) -> Time | Page | Mark:
    """The inverse of `str(locator)`.

    Raises:
        ValueError: if `text` is no locator.
    """
    if found := _TIME.fullmatch(text):
        hour, minute, second, milli, *end = map(int, found.groups())
        return Time(start_ms=_milliseconds(hour, minute, second, milli), end_ms=_milliseconds(*end))
    if found := _PAGE.fullmatch(text):
        return Page(number=int(found[1]), label=unquote(found[2] or ""))
    if found := _MARK.fullmatch(text):
        path = tuple(unquote(part) for part in found[1].split("/")) if found[1] else ()
        mark = Mark(heading_path=path, line_start=int(found[3]), line_end=int(found[4]))
        anchor = mark.default_anchor if found[2] is None else unquote(found[2])
        return mark.model_copy(update={"anchor": anchor})
    raise ValueError(f"{text!r} is no locator: T:00:12:34.000-00:12:58.500, P:12 or M:Intro/Setup#L10-24")


def clock(milliseconds: int) -> str:
    """`754000` as `00:12:34.000`."""
    seconds, milli = divmod(milliseconds, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}.{milli:03}"


def _milliseconds(hour: int, minute: int, second: int, milli: int) -> int:
    return ((hour * 60 + minute) * 60 + second) * 1000 + milli


def _escape(text: str) -> str:
    return re.sub(r"[%/#~\s]", lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)


# --- what is in the corpus --------------------------------------------------------------------------------------


class Kind(StrEnum):
    """What a source is; a talk has at most one recording and any number of the others."""

    RECORDING = "recording"
    CAPTIONS = "captions"
    DECK = "deck"
    NOTE = "note"


class Role(StrEnum):
    """The part that a segment plays in its source; `notes` are speaker notes."""

    SPEECH = "speech"
    TITLE = "title"
    BODY = "body"
    TABLE = "table"
    CODE = "code"
    MATH = "math"
    NOTES = "notes"


class Flag(StrEnum):
    """What a reader should know before trusting a segment."""

    HIDDEN = "hidden"  # a slide that the deck hides
    NO_TEXT = "no_text"  # a page without a text layer
    UNREAD_GRAPHIC = "unread_graphic"  # a picture or diagram that could not be read
    LOW_CONFIDENCE = "low_confidence"  # speech that the transcriber was unsure of
    TRANSLATION = "translation"  # text of a translation catalogue
    OCR = "ocr"  # read from pixels
    CORRECTED = "corrected"  # speech with words that were misheard, as they were meant; `heard` is what was recognised
    CAPTIONS = "captions"  # of a recording: as its captions say it, not as it was heard


class Source(Frozen):
    """One file of the corpus. `id` comes from `uri`, so that a new version of a file replaces the old one."""

    id: str
    kind: Kind
    uri: str  # file:///… with the path in NFC
    sha256: str
    title: str
    lang: Lang = "und"
    talk: str | None = None  # a Talk's id
    date: Date | None = None
    version: str | None = None  # of the software that the source speaks of
    url: str | None = None  # where it is published
    licence: str | None = None

    @property
    def link(self) -> str:
        return self.url or self.uri


class Talk(Frozen):
    """One talk ties its recording, captions and decks together; `id` is the slug of its title, 80 bytes at most."""

    id: str
    title: str
    speakers: tuple[str, ...] = ()
    date: Date | None = None
    version: str | None = None
    url: str | None = None
    lang: Lang = "und"
    sources: tuple[str, ...] = ()


class Segment(Frozen):
    """The smallest citable unit: a sentence of speech, a text of a slide, a block of a note. `text` is verbatim."""

    source_id: str
    order: int = Field(ge=0)
    text: str
    locator: Locator
    role: Role
    lang: Lang = "und"
    flags: frozenset[Flag] = frozenset()
    confidence: float | None = Field(default=None, ge=0, le=1)  # of text recognition; None where nothing was recognised
    original: str = ""  # what this is a translation of, where its catalogue says so
    heard: str = ""  # of speech that was corrected: the text as it was recognised

    @field_serializer("flags")
    def _in_order(self, flags: frozenset[Flag]) -> list[Flag]:
        return sorted(flags)  # so that the same segment is the same bytes in every process


class Dropped(Frozen):
    """Something that was left out, why, and where it stood. Counted and shown, never silent."""

    what: str
    where: str
    reason: str


class Correction(Frozen):
    """Words of a transcript that a rule replaced. `id` names the wording, wherever in the library it stands."""

    id: str
    order: int = Field(ge=0)  # of the segment
    start: int = Field(default=0, ge=0)  # of `corrected` in the segment's text
    locator: Locator
    heard: str
    corrected: str
    rule: Literal["glossary", "sound", "library", "source"]  # whose it is; `sound`: heard like a term of the glossary


class Decision(Frozen):
    """What a person decided about a wording, for one source or, with none, for the whole library."""

    heard: str
    corrected: str
    accepted: bool
    source_id: str | None = None


class Wording(Frozen):
    """Words that were misheard, and what became of them: `open` until a person accepts or rejects the correction,
    `replaced` when the same words were corrected otherwise later.

    `source_id` is the source that a decision holds for, None for the whole library or where there is no decision.
    """

    id: str
    heard: str
    corrected: str
    rule: Literal["glossary", "sound", "library", "source"]
    state: Literal["open", "accepted", "rejected", "replaced"]
    places: tuple[Locator, ...] = ()
    source_id: str | None = None


class Document(Frozen):
    """A parsed source: all its segments in order, and what could not be read. The canonical artefact."""

    source: Source
    segments: tuple[Segment, ...]
    dropped: tuple[Dropped, ...] = ()
    pages: int = 0  # of a deck
    corrections: tuple[Correction, ...] = ()  # of speech, in order


class Shown(Frozen):
    """The page of a deck (a source id) that was on the screen while segment `order` of a transcript was spoken."""

    order: int = Field(ge=0)
    deck: str
    page: int = Field(ge=1)
    confidence: float = Field(ge=0, le=1)


class Screen(Frozen):
    """A page of a deck (a source id) that was on the screen from `start_ms` to `end_ms` of a recording."""

    source_id: str
    page: int = Field(ge=1)
    title: str = ""
    href: str
    start_ms: int = Field(ge=0)
    end_ms: int = Field(ge=0)
    confidence: float = Field(ge=0, le=1)
    thumbnail: str | None = None


def screen_at(screens: Iterable[Screen], locator: Locator) -> Screen | None:
    """The one that was shown longest during `locator`; None for a place that is no time, or one without a slide."""
    if not isinstance(locator, Time):
        return None

    def shared(screen: Screen) -> int:
        return min(screen.end_ms, locator.end_ms) - max(screen.start_ms, locator.start_ms)

    best = max(screens, key=shared, default=None)
    return best if best is not None and shared(best) > 0 else None


class Span(Frozen):
    """`chunk.text[start:end]` stands in segment `order` at `offset`, word for word."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    order: int = Field(ge=0)
    offset: int = Field(ge=0)
    locator: Locator
    role: Role = Role.BODY  # the segment's


class Misheard(Frozen):
    """`chunk.text[start:end]` was recognised as `heard`."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    heard: str


class Chunk(Frozen):
    """What is embedded and found: whole segments where they fit, with the titles above them as `context`."""

    id: str
    source_id: str
    order: int = Field(ge=0)
    text: str
    context: str
    spans: tuple[Span, ...]
    role: Role
    lang: Lang
    tokens: int
    recipe: str
    original: str = ""  # what its segments are translations of, where a catalogue says so
    misheard: tuple[Misheard, ...] = ()  # of speech, in order
    previous_id: str | None = None
    next_id: str | None = None

    @property
    def full_text(self) -> str:
        """What is embedded and counted: the context, then the text."""
        return f"{self.context}\n{self.text}" if self.context else self.text

    @property
    def locators(self) -> tuple[Time | Page | Mark, ...]:
        return tuple(dict.fromkeys(span.locator for span in self.spans))

    def locate(self, start: int, end: int) -> Time | Page | Mark:
        """The locator of `text[start:end]`: from its first to its last span.

        Raises:
            ValueError: if the range touches no span.
        """
        touched = [span.locator for span in self.spans if span.start < end and span.end > start]
        if not touched:
            raise ValueError(f"{start}:{end} lies outside every span of chunk {self.id}")
        return merge_locators(touched[0], touched[-1])

    def heard(self, start: int, end: int) -> str:
        """The words of `text[start:end]` as they were recognised; empty where none of them was corrected."""
        touched = [each for each in self.misheard if each.start < end and each.end > start]
        parts, at = [], start
        for each in touched:
            parts += [self.text[at : each.start], each.heard]
            at = each.end
        return "".join([*parts, self.text[at:end]]) if touched else ""


def merge_locators(first: Time | Page | Mark, last: Time | Page | Mark) -> Time | Page | Mark:
    """The locator that covers both: from `first` to `last` on a time track or in lines, else `first`."""
    if isinstance(first, Time) and isinstance(last, Time):
        return Time(start_ms=first.start_ms, end_ms=max(first.end_ms, last.end_ms))
    if isinstance(first, Mark) and isinstance(last, Mark):
        return first.model_copy(update={"line_end": max(first.line_end, last.line_end)})
    return first


# --- finding ----------------------------------------------------------------------------------------------------


class Filters(Frozen):
    """What a search may return; every condition holds on every list. Empty means everything."""

    kinds: tuple[Kind, ...] = ()
    langs: tuple[Lang, ...] = ()
    talks: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    since: Date | None = None
    until: Date | None = None


class Query(Frozen):
    """`context` sentences before and after each quote come with it. Without `translate`, no language model is asked to
    put the question into the other language."""

    text: str
    filters: Filters = Filters()
    limit: int = Field(default=10, ge=1, le=100)
    context: int = Field(default=0, ge=0, le=10)
    translate: bool = True


class Rank(Frozen):
    """The place, counted from 1, and the score of a chunk in one list."""

    list: str
    rank: int
    score: float


class Around(Frozen):
    """What stands around a quote in its source, word for word, and the header of the table that it is a row of."""

    before: str = ""
    after: str = ""
    header: str = ""


class Hit(Frozen):
    """A found chunk. `quote` is the verbatim passage in it that answers best, with its own locator and deep link."""

    chunk: Chunk
    source: Source
    score: float
    ranks: tuple[Rank, ...]
    quote: str
    heard: str = ""  # the quote as it was recognised, where words of it were corrected
    locator: Locator
    href: str
    thumbnail: str | None = None  # of its page, or of the page that was on the screen
    screens: tuple[Screen, ...] = ()  # what was on the screen during a chunk of speech, in order
    twins: tuple[str, ...] = ()  # source ids of near-duplicates that were folded into this hit
    around: Around | None = None  # where the query asks for context


# --- answering --------------------------------------------------------------------------------------------------


class Evidence(Frozen):
    """A verbatim quote with an opaque id minted by code; the only thing that a writer may cite."""

    id: str
    chunk_id: str
    source_id: str
    locator: Locator
    quote: str
    lang: Lang = "und"


class Support(StrEnum):
    DIRECT = "direct"
    INFERRED = "inferred"
    CONFLICT = "conflict"


class Fact(Frozen):
    id: str
    claim: str
    evidence: tuple[str, ...]
    support: Support = Support.DIRECT


class Claim(Frozen):
    """One sentence of an answer and the numbers of the citations that carry it.

    A `conflict` is made by code: it sets sources that disagree side by side, with their versions or dates. A `quoted`
    one is not about its citation but the quote itself, in one line.
    """

    text: str
    citations: tuple[int, ...]
    support: Support = Support.DIRECT
    quoted: bool = False


class Citation(Frozen):
    """A numbered reference, made by code. `quote` stands verbatim in the segment that `locator` names.

    `gloss` is the quote in the question's language, by a model; numbers and identifiers in it are the quote's.
    """

    n: int = Field(ge=1)
    evidence_id: str
    source_id: str
    title: str
    kind: Kind
    locator: Locator
    quote: str
    heard: str = ""  # the quote as it was recognised, where words of it were corrected: nobody may have said the quote
    href: str
    lang: Lang = "und"
    date: Date | None = None
    version: str | None = None
    thumbnail: str | None = None  # of its page, or of the page that was on the screen
    screen: Screen | None = None  # while it was said
    gloss: str | None = None


class Refusal(Frozen):
    """Why there is no answer, and the evidence that came nearest. `missing` are words that the corpus lacks."""

    reason: str
    missing: tuple[str, ...] = ()
    nearest: tuple[Citation, ...] = ()


class Exchange(Frozen):
    """A question of a conversation, as it was asked or as it stands alone, and the text of its answer."""

    question: str
    answer: str = ""


class Usage(Frozen):
    """What the language model's calls for one answer took; a safe count where the server tells none.

    `cached` of the `calls` came from the library's cache and cost nothing; `cost` is in the currency of the prices that
    the settings give, None where they give none.
    """

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None


class Answer(Frozen):
    """`text` carries the markers `[n]`, numbered by first use; a refusal has no claims.

    An `extractive` answer consists of quotes; a `generated` one of sentences of a model, and perhaps quotes below them.

    `asked_as` is the question of a conversation as it stands alone, where that differs.
    """

    question: str
    lang: Lang
    text: str
    mode: Literal["extractive", "generated"]
    claims: tuple[Claim, ...] = ()
    citations: tuple[Citation, ...] = ()
    refused: Refusal | None = None
    as_of: str | None = None
    dropped: tuple[Dropped, ...] = ()
    asked_as: str | None = None
    usage: Usage | None = None
    recipe: str


class EvidenceEvent(Frozen):
    """What the answer may rest on, and the question as it stands alone. The first event."""

    event: Literal["evidence"] = "evidence"
    question: str
    evidence: tuple[Evidence, ...]


class CitationEvent(Frozen):
    """A citation, before the first sentence that has its number; once more, under its number, when it has a gloss."""

    event: Literal["citation"] = "citation"
    citation: Citation


class SentenceEvent(Frozen):
    """A sentence that passed every check. The `text` of all of them, joined, is the answer's text."""

    event: Literal["sentence"] = "sentence"
    claim: Claim
    text: str


class DroppedEvent(Frozen):
    event: Literal["dropped"] = "dropped"
    dropped: Dropped


class RefusalEvent(Frozen):
    event: Literal["refusal"] = "refusal"
    refusal: Refusal


class DoneEvent(Frozen):
    """The whole answer, as it would have come at once. The last event."""

    event: Literal["done"] = "done"
    answer: Answer


AnswerEvent = Annotated[
    EvidenceEvent | CitationEvent | SentenceEvent | DroppedEvent | RefusalEvent | DoneEvent,
    Field(discriminator="event"),
]


# --- talks ------------------------------------------------------------------------------------------------------


class Line(Frozen):
    """A segment of a transcript, with the slide that was on the screen."""

    order: int
    text: str
    locator: Time
    href: str
    lang: Lang = "und"
    screen: Screen | None = None


MOST_CHAPTERS = 10  # of a talk, as video platforms allow


class Chapter(Frozen):
    """A part of a talk. `title` is at most 16 characters wide, of which two Latin letters make one; `first` is the
    order of the line that it begins with."""

    title: str
    start_ms: int = Field(ge=0)
    end_ms: int = Field(ge=0)
    href: str
    first: int
    screen: Screen | None = None


class Transcript(Frozen):
    """What is said in a talk, and its chapters."""

    talk: Talk
    source: Source  # whose words these are
    lines: tuple[Line, ...]
    chapters: tuple[Chapter, ...]


# --- writing ----------------------------------------------------------------------------------------------------


class Section(Frozen):
    """A step of the argument: the question it answers, the facts it may use, the pages it shows."""

    title: str
    question: str
    facts: tuple[str, ...]
    figures: tuple[int, ...] = ()  # page numbers of the talk's deck
    gaps: tuple[str, ...] = ()  # what the writer still has to find


class Outline(Frozen):
    title: str
    kicker: str
    abstract: str
    sections: tuple[Section, ...]


class Severity(StrEnum):
    P0 = "P0"
    P1 = "P1"
    P2 = "P2"
    P3 = "P3"


class Finding(Frozen):
    severity: Severity
    rule: str
    place: str
    hint: str


class Article(Frozen):
    slug: str
    lang: Lang
    title: str
    talk: str
    path: str  # of the Markdown file
    evidence: int  # quotes it rests on
    gaps: int
    findings: tuple[Finding, ...] = ()
    curated: bool = False
    recipe: str


# --- keeping ----------------------------------------------------------------------------------------------------


class Status(StrEnum):
    """`pending` from the first byte until the source can be found, `failed` with its reason."""

    PENDING = "pending"
    READY = "ready"
    FAILED = "failed"


class SourceEntry(Frozen):
    """A source as the library keeps it."""

    source: Source
    status: Status
    segments: int = 0
    chunks: int = 0
    pages: int = 0
    dropped: tuple[Dropped, ...] = ()
    error: str | None = None


class Feedback(Frozen):
    """What a reader thinks of an answer; `recipe` is the answer's."""

    question: str
    good: bool
    recipe: str = ""


class Gap(Frozen):
    """A question that was refused, or whose answer a reader found bad. `times` counts how often."""

    question: str
    lang: Lang
    reason: str
    origin: Literal["refused", "rated"] = "refused"
    missing: tuple[str, ...] = ()  # words of it that the corpus does not mention
    nearest: tuple[Citation, ...] = ()
    asked_at: datetime  # the latest time, in UTC
    first_asked_at: datetime | None = None  # where it was asked more than once
    times: int = Field(default=1, ge=1)
    closed_at: datetime | None = None  # since when the corpus answers it


class GapGroup(Frozen):
    """Gaps that ask for the same, in whatever words and language; most often asked first."""

    gaps: tuple[Gap, ...] = Field(min_length=1)
    times: int  # of all of them
    missing: tuple[str, ...]
    nearest: tuple[Citation, ...]
    first_asked_at: datetime
    asked_at: datetime

    @property
    def question(self) -> str:
        """The one that stands for all."""
        return self.gaps[0].question


class Outcome(StrEnum):
    ADDED = "added"
    UPDATED = "updated"
    RENAMED = "renamed"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    SKIPPED = "skipped"
    FAILED = "failed"


class Change(Frozen):
    """What happened to one path of a batch; a failure says what, where and what to do."""

    path: str
    outcome: Outcome
    source_id: str | None = None
    segments: int = 0
    chunks: int = 0
    dropped: tuple[Dropped, ...] = ()
    error: str | None = None
    previous: str | None = None  # the path before, of a file that was renamed


class Progress(Frozen):
    """How far long work has come; `done` of `total` files, and the share of the current one."""

    done: int
    total: int
    path: str
    stage: str
    share: float = 0.0
    left_s: int | None = None  # seconds until the stage ends, once its pace is known
