"""What crosses the wire beyond the nouns of `kb.types`: requests, and lines of a streamed batch."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date as Date  # noqa: N812
from typing import TypedDict

from pydantic import Field

from api.problems import error_of
from kb.errors import KBError
from kb.types import MOST_CHAPTERS, Change, Exchange, Filters, Frozen, Kind, Lang, Progress, Query, Source, Talk


class SearchParameters(Frozen):
    """A search as parts of an address; a filter given twice means either, different filters must all hold."""

    q: str
    kind: list[Kind] = Field(default_factory=list)
    lang: list[Lang] = Field(default_factory=list)
    talk: list[str] = Field(default_factory=list)
    source: list[str] = Field(default_factory=list)
    version: list[str] = Field(default_factory=list)
    since: Date | None = None
    until: Date | None = None
    limit: int = Field(default=10, ge=1, le=100)
    context: int = Field(default=0, ge=0, le=10)

    @property
    def query(self) -> Query:
        filters = Filters(
            kinds=tuple(self.kind),
            langs=tuple(self.lang),
            talks=tuple(self.talk),
            sources=tuple(self.source),
            versions=tuple(self.version),
            since=self.since,
            until=self.until,
        )
        return Query(text=self.q, filters=filters, limit=self.limit, context=self.context)


class ChapterParameters(Frozen):
    """How a talk is cut into chapters, as parts of an address."""

    minutes: float | None = None
    max: int = MOST_CHAPTERS
    lang: Lang | None = None

    @property
    def length(self) -> ChapterLength:
        return {"minutes": self.minutes, "most": self.max, "lang": self.lang}


class ChapterLength(TypedDict):
    minutes: float | None
    most: int
    lang: Lang | None


class AskRequest(Frozen):
    """`record` off keeps a refused question out of the gaps.

    `history` are the turns of the conversation before the question, the latest last.
    """

    question: str
    history: tuple[Exchange, ...] = Field(default=(), max_length=50)
    filters: Filters = Filters()
    record: bool = True


class AddRequest(Frozen):
    """Absolute paths on the machine that serves."""

    paths: tuple[str, ...] = Field(min_length=1)


class SyncRequest(Frozen):
    folder: str


class CorrectionRequest(Frozen):
    """Words as they were heard, and as they were meant; without a source, in the whole library."""

    heard: str
    corrected: str
    source: str | None = None


class JudgementRequest(Frozen):
    """Accept or reject corrections by their ids; without a source, everywhere."""

    ids: tuple[str, ...] = Field(min_length=1)
    accepted: bool
    source: str | None = None


class WriteRequest(Frozen):
    talk: str
    lang: Lang | None = None


class PublishRequest(Frozen):
    """`reviewed` vouches for the review; without it, the draft's front matter must say `curated: true`.

    `site` is the absolute path of a folder on the machine that serves; by default the site of its settings. `anywhere`
    lets it be a folder that holds no site yet.
    """

    reviewed: bool = False
    site: str | None = None
    anywhere: bool = True


class ProblemDetails(Frozen):
    """`detail` says what happened, `where` the place, `remedy` what to do; `errors` lists fields that are wrong."""

    type: str
    title: str
    status: int
    detail: str
    where: str = ""
    remedy: str = ""
    errors: tuple[str, ...] = ()

    def error(self) -> KBError:
        """The error that it tells of, for clients of the service."""
        return error_of(self.type)(self.detail, where=self.where, remedy=self.remedy)


class BatchEvent(Frozen):
    """One line of a streamed batch: how far it is, what became of a file, or why it ended early."""

    progress: Progress | None = None
    change: Change | None = None
    problem: ProblemDetails | None = None


class Facets(Frozen):
    """What filters can be set to, as the library stands."""

    kinds: tuple[Kind, ...]
    langs: tuple[Lang, ...]
    versions: tuple[str, ...]
    talks: tuple[Talk, ...]
    sources: int

    @classmethod
    def of(cls, sources: Sequence[Source], talks: tuple[Talk, ...]) -> Facets:
        return cls(
            kinds=tuple(sorted({source.kind for source in sources})),
            langs=tuple(sorted({source.lang for source in sources})),
            versions=tuple(sorted({source.version for source in sources if source.version})),
            talks=talks,
            sources=len(sources),
        )


class Published(Frozen):
    files: tuple[str, ...]


class Health(Frozen):
    status: str
    detail: str = ""
