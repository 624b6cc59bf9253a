"""What crosses the wire beyond the nouns of `kb.types`: requests, and lines of a streamed batch."""

from __future__ import annotations

from pydantic import Field

from api.errors import ProblemDetails
from kb.types import Change, Filters, Frozen, Kind, Lang, Progress, Talk


class AskRequest(Frozen):
    question: str
    filters: Filters = Filters()


class AddRequest(Frozen):
    """Absolute paths on the machine that serves."""

    paths: tuple[str, ...] = Field(min_length=1)


class SyncRequest(Frozen):
    folder: str


class WriteRequest(Frozen):
    talk: str
    lang: Lang | None = None


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


class Published(Frozen):
    files: tuple[str, ...]


class Health(Frozen):
    status: str
    detail: str = ""
