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
from kb import types
from kb.errors import KBError, LibraryBusy
from kb.settings import Settings

if TYPE_CHECKING:
    import httpx

_TIMEOUT = 600.0  # seconds; a language model may write for minutes
_HITS = TypeAdapter(list[MarkedHit])
_ENTRIES = TypeAdapter(list[types.SourceEntry])
_GAPS = TypeAdapter(list[types.Gap])
_GROUPS = TypeAdapter(list[types.GapGroup])
_TALKS = TypeAdapter(list[types.Talk])
_ARTICLES = TypeAdapter(list[types.Article])
_CHANGES = TypeAdapter(list[types.Change])
_WORDINGS = TypeAdapter(list[types.Wording])


def connect(settings: Settings) -> KnowledgeBase:
    """The library of `settings.home`: through its service where one runs, else opened in this process."""
    from index.serving import listens, running_service

    running = running_service(settings.home)
    if running is not None and listens(running.url):
        return RemoteLibrary(running.url, running.token or "", settings.site.dir)
    from api.service import open_service

    return open_service(settings)


class RemoteLibrary:
    """`KnowledgeBase` over HTTP. Every call raises what the service raised, and `LibraryBusy` if it does not answer.

    Names of sources and the site are resolved here: a relative path means the caller's folder, not the one that the
    service runs in.
    """

    def __init__(self, url: str, token: str, site: Path) -> None:
        import httpx

        self._url, self._site = url, site
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._client = httpx.Client(base_url=url, headers=headers, timeout=_TIMEOUT, trust_env=False)

    def add(self, paths: Sequence[Path], on_progress: OnProgress = unwatched) -> Iterator[types.Change]:
        absolute = [str(path.absolute()) for path in paths]
        return self._batch("/v1/sources", {"paths": absolute}, on_progress)

    def sync(self, folder: Path, on_progress: OnProgress = unwatched) -> Iterator[types.Change]:
        return self._batch("/v1/sources/sync", {"folder": str(folder.absolute())}, on_progress)

    def rebuild(self, on_progress: OnProgress = unwatched) -> Iterator[types.Change]:
        return self._batch("/v1/sources/rebuild", {}, on_progress)

    def remove(self, name: str) -> types.Change:
        return types.Change.model_validate_json(self._call("DELETE", self._address(name)))

    def correct(self, heard: str, corrected: str, source: str | None = None) -> list[types.Change]:
        body = {"heard": heard, "corrected": corrected, "source": source and self._id(source)}
        return _CHANGES.validate_json(self._call("POST", "/v1/corrections", body))

    def judge(self, ids: Sequence[str], source: str | None = None, *, accepted: bool) -> list[types.Change]:
        body = {"ids": list(ids), "accepted": accepted, "source": source and self._id(source)}
        return _CHANGES.validate_json(self._call("POST", "/v1/corrections/judge", body))

    def corrections(self, source: str | None = None) -> list[types.Wording]:
        query = f"?source={_segment(self._id(source))}" if source else ""
        return _WORDINGS.validate_json(self._call("GET", f"/v1/corrections{query}"))

    def sources(self) -> list[types.SourceEntry]:
        return _ENTRIES.validate_json(self._call("GET", "/v1/sources"))

    def show(self, name: str) -> types.Document:
        return types.Document.model_validate_json(self._call("GET", self._address(name)))

    def search(self, query: types.Query) -> list[MarkedHit]:
        resolved = query.model_copy(
            update={"text": checked_question(query.text), "filters": self._resolved(query.filters)}
        )
        return _HITS.validate_json(self._call("POST", "/v1/search", resolved.model_dump(mode="json")))

    def ask(
        self,
        question: str,
        filters: types.Filters = EVERYTHING,
        *,
        history: Sequence[types.Exchange] = (),
        record: bool = True,
    ) -> types.Answer:
        return types.Answer.model_validate_json(
            self._call("POST", "/v1/ask", self._asked(question, filters, history, record=record))
        )

    def ask_events(
        self,
        question: str,
        filters: types.Filters = EVERYTHING,
        *,
        history: Sequence[types.Exchange] = (),
        record: bool = True,
    ) -> Iterator[types.AnswerEvent]:
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
        self, question: str, filters: types.Filters, history: Sequence[types.Exchange], *, record: bool
    ) -> Mapping[str, Any]:
        from api.messages import AskRequest

        question, filters = checked_question(question), self._resolved(filters)
        request = AskRequest(question=question, filters=filters, history=tuple(history), record=record)
        return request.model_dump(mode="json")

    def rate(self, feedback: types.Feedback) -> None:
        self._call("POST", "/v1/feedback", feedback.model_dump())

    def gaps(self, *, closed: bool = False) -> list[types.GapGroup]:
        return _GROUPS.validate_json(self._call("GET", f"/v1/gaps?closed={closed}"))

    def recheck_gaps(self) -> list[types.Gap]:
        return _GAPS.validate_json(self._call("POST", "/v1/gaps/recheck"))

    def talks(self) -> list[types.Talk]:
        return _TALKS.validate_json(self._call("GET", "/v1/talks"))

    def transcript(
        self,
        talk: str,
        *,
        minutes: float | None = None,
        most: int = types.MOST_CHAPTERS,
        lang: types.Lang | None = None,
    ) -> types.Transcript:
        asked = {"minutes": minutes, "max": most, "lang": lang}
        query = "&".join(f"{name}={value}" for name, value in asked.items() if value is not None)
        return types.Transcript.model_validate_json(self._call("GET", f"/v1/talks/{_segment(talk)}/transcript?{query}"))

    def write(self, talk: str, lang: types.Lang | None = None) -> types.Article:
        return types.Article.model_validate_json(self._call("POST", "/v1/articles", {"talk": talk, "lang": lang}))

    def articles(self) -> list[types.Article]:
        return _ARTICLES.validate_json(self._call("GET", "/v1/articles"))

    def publish(
        self, slug: str, *, reviewed: bool = False, site: Path | None = None, anywhere: bool = True
    ) -> list[Path]:
        from api.messages import Published

        into, may_be_new = (site or self._site).absolute(), anywhere and site is not None
        asked = {"reviewed": reviewed, "site": str(into), "anywhere": may_be_new}
        body = self._call("POST", f"/v1/articles/{_segment(slug)}/publish", asked)
        return [Path(file) for file in Published.model_validate_json(body).files]

    def close(self) -> None:
        self._client.close()

    def _address(self, name: str) -> str:
        return f"/v1/sources/{_segment(self._id(name))}"

    def _id(self, name: str) -> str:
        return names.source(name, self.sources()).source.id

    def _resolved(self, filters: types.Filters) -> types.Filters:
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

    def _batch(self, path: str, body: Mapping[str, Any], on_progress: OnProgress) -> Iterator[types.Change]:
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
