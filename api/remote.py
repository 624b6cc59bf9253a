"""The same library behind the service that owns it: `RemoteLibrary` speaks HTTP, `connect` chooses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from api import stream
from api.base import EVERYTHING, KnowledgeBase, MarkedHit, OnProgress, checked_question, unwatched
from index import names
from kb.errors import KBError, LibraryBusy
from kb.settings import Settings
from kb.types import (
    MOST_CHAPTERS,
    Answer,
    AnswerEvent,
    Article,
    Change,
    Document,
    Exchange,
    Feedback,
    Filters,
    Gap,
    GapGroup,
    Lang,
    Query,
    SourceEntry,
    Talk,
    Transcript,
    Wording,
)

if TYPE_CHECKING:
    import httpx

_TIMEOUT = 600.0  # seconds; a language model may write for minutes
_HITS = TypeAdapter(list[MarkedHit])
_ENTRIES = TypeAdapter(list[SourceEntry])
_GAPS = TypeAdapter(list[Gap])
_GROUPS = TypeAdapter(list[GapGroup])
_TALKS = TypeAdapter(list[Talk])
_ARTICLES = TypeAdapter(list[Article])
_CHANGES = TypeAdapter(list[Change])
_WORDINGS = TypeAdapter(list[Wording])


def connect(settings: Settings) -> KnowledgeBase:
    """The library of `settings.home`: through its service where one runs, else opened in this process."""
    from index.serving import listens, running_service

    running = running_service(settings.home)
    if running is not None and listens(running.url):
        return RemoteLibrary(running.url, running.token or "")
    from api.service import open_service

    return open_service(settings)


class RemoteLibrary:
    """`KnowledgeBase` over HTTP. Every call raises what the service raised, and `LibraryBusy` if it does not answer.

    Names of sources are resolved here: a relative path means the caller's folder, not the one that the service runs in.
    """

    def __init__(self, url: str, token: str) -> None:
        import httpx

        self._url = url
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._client = httpx.Client(base_url=url, headers=headers, timeout=_TIMEOUT, trust_env=False)

    def add(self, paths: Sequence[Path], on_progress: OnProgress = unwatched) -> Iterator[Change]:
        absolute = [str(path.absolute()) for path in paths]
        return self._batch("/v1/sources", {"paths": absolute}, on_progress)

    def sync(self, folder: Path, on_progress: OnProgress = unwatched) -> Iterator[Change]:
        return self._batch("/v1/sources/sync", {"folder": str(folder.absolute())}, on_progress)

    def rebuild(self, on_progress: OnProgress = unwatched) -> Iterator[Change]:
        return self._batch("/v1/sources/rebuild", {}, on_progress)

    def remove(self, name: str) -> Change:
        return Change.model_validate_json(self._call("DELETE", self._address(name)))

    def correct(self, heard: str, corrected: str, source: str | None = None) -> list[Change]:
        body = {"heard": heard, "corrected": corrected, "source": source and self._id(source)}
        return _CHANGES.validate_json(self._call("POST", "/v1/corrections", body))

    def judge(self, ids: Sequence[str], source: str | None = None, *, accepted: bool) -> list[Change]:
        body = {"ids": list(ids), "accepted": accepted, "source": source and self._id(source)}
        return _CHANGES.validate_json(self._call("POST", "/v1/corrections/judge", body))

    def corrections(self, source: str | None = None) -> list[Wording]:
        query = f"?source={_segment(self._id(source))}" if source else ""
        return _WORDINGS.validate_json(self._call("GET", f"/v1/corrections{query}"))

    def sources(self) -> list[SourceEntry]:
        return _ENTRIES.validate_json(self._call("GET", "/v1/sources"))

    def show(self, name: str) -> Document:
        return Document.model_validate_json(self._call("GET", self._address(name)))

    def search(self, query: Query) -> list[MarkedHit]:
        resolved = query.model_copy(
            update={"text": checked_question(query.text), "filters": self._resolved(query.filters)}
        )
        return _HITS.validate_json(self._call("POST", "/v1/search", resolved.model_dump(mode="json")))

    def ask(
        self, question: str, filters: Filters = EVERYTHING, *, history: Sequence[Exchange] = (), record: bool = True
    ) -> Answer:
        return Answer.model_validate_json(
            self._call("POST", "/v1/ask", self._asked(question, filters, history, record=record))
        )

    def ask_events(
        self, question: str, filters: Filters = EVERYTHING, *, history: Sequence[Exchange] = (), record: bool = True
    ) -> Iterator[AnswerEvent]:
        import httpx

        body, headers = self._asked(question, filters, history, record=record), {"Accept": stream.MEDIA_TYPE}
        try:
            with self._client.stream("POST", "/v1/ask", content=_json(body), headers=headers) as response:
                if not response.is_success:
                    response.read()
                    raise self._problem(response)
                yield from stream.answer_events(response.iter_bytes())
        except (httpx.HTTPError, EOFError) as error:
            raise self._silent(error) from error

    def _asked(
        self, question: str, filters: Filters, history: Sequence[Exchange], *, record: bool
    ) -> Mapping[str, Any]:
        from api.messages import AskRequest

        question, filters = checked_question(question), self._resolved(filters)
        request = AskRequest(question=question, filters=filters, history=tuple(history), record=record)
        return request.model_dump(mode="json")

    def rate(self, feedback: Feedback) -> None:
        self._call("POST", "/v1/feedback", feedback.model_dump())

    def gaps(self, *, closed: bool = False) -> list[GapGroup]:
        return _GROUPS.validate_json(self._call("GET", f"/v1/gaps?closed={closed}"))

    def recheck_gaps(self) -> list[Gap]:
        return _GAPS.validate_json(self._call("POST", "/v1/gaps/recheck"))

    def talks(self) -> list[Talk]:
        return _TALKS.validate_json(self._call("GET", "/v1/talks"))

    def transcript(
        self, talk: str, *, minutes: float | None = None, most: int = MOST_CHAPTERS, lang: Lang | None = None
    ) -> Transcript:
        asked = {"minutes": minutes, "max": most, "lang": lang}
        query = "&".join(f"{name}={value}" for name, value in asked.items() if value is not None)
        return Transcript.model_validate_json(self._call("GET", f"/v1/talks/{_segment(talk)}/transcript?{query}"))

    def write(self, talk: str, lang: Lang | None = None) -> Article:
        return Article.model_validate_json(self._call("POST", "/v1/articles", {"talk": talk, "lang": lang}))

    def articles(self) -> list[Article]:
        return _ARTICLES.validate_json(self._call("GET", "/v1/articles"))

    def publish(self, slug: str, *, reviewed: bool = False, site: Path | None = None) -> list[Path]:
        from api.messages import Published

        asked = {"reviewed": reviewed, "site": site and str(site.absolute())}
        body = self._call("POST", f"/v1/articles/{_segment(slug)}/publish", asked)
        return [Path(file) for file in Published.model_validate_json(body).files]

    def close(self) -> None:
        self._client.close()

    def _address(self, name: str) -> str:
        return f"/v1/sources/{_segment(self._id(name))}"

    def _id(self, name: str) -> str:
        return names.source(name, self.sources()).source.id

    def _resolved(self, filters: Filters) -> Filters:
        if not filters.sources:
            return filters
        entries = self.sources()
        return filters.model_copy(
            update={"sources": tuple(names.source(name, entries).source.id for name in filters.sources)}
        )

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        import httpx

        try:
            response = self._client.request(method, path, content=_json(body))
        except httpx.HTTPError as error:
            raise self._silent(error) from error
        if not response.is_success:
            raise self._problem(response)
        return response.content

    def _batch(self, path: str, body: Mapping[str, Any], on_progress: OnProgress) -> Iterator[Change]:
        import httpx

        from api.messages import BatchEvent

        try:
            with self._client.stream("POST", path, content=_json(body)) as response:
                if not response.is_success:
                    response.read()
                    raise self._problem(response)
                for line in stream.json_lines(response.iter_bytes()):
                    event = BatchEvent.model_validate_json(line)
                    if event.progress:
                        on_progress(event.progress)
                    if event.change:
                        yield event.change
                    if event.problem:
                        raise event.problem.error()
        except httpx.HTTPError as error:
            raise self._silent(error) from error

    def _silent(self, error: Exception) -> KBError:
        return LibraryBusy(
            f"the service that owns this library does not answer ({error})",
            where=self._url,
            remedy="Stop it, or start it again with `kb serve`",
        )

    def _problem(self, response: httpx.Response) -> KBError:
        from api.messages import ProblemDetails

        try:
            return ProblemDetails.model_validate_json(response.content).error()
        except ValidationError:
            what = f"the service answered {response.status_code} without a reason"
            return KBError(what, where=self._url, remedy="See whether another program listens there, or restart it")


def _json(body: Mapping[str, Any] | None) -> bytes | None:
    """In ASCII: the name of a file need not be UTF-8, and gets through as it is."""
    return None if body is None else json.dumps(body).encode()


def _segment(name: str) -> str:
    return quote(name, safe="", errors="surrogateescape")
