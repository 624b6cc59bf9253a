"""The one object that every face uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import structlog

from api.aligning import Aligner
from api.base import EVERYTHING, MarkedHit, OnProgress, answer_of, awaited, checked_history, checked_question, unwatched
from api.changing import Changes, Opened
from api.finding import Finder, resolved
from api.gaps import Gaps
from api.messages import Facets
from api.models import Models, open_models, open_store
from api.talking import Talking
from index.catalog import Catalog
from index.library import Library
from index.sparse import matched_spans
from index.store import Store
from kb import types
from kb.errors import KBError, NotFound
from kb.settings import Settings

if TYPE_CHECKING:
    from api.line import Fits
    from eval.cases import Case
    from generate.answer import Answerer

_log = structlog.get_logger(__name__)


class Service:
    """`KnowledgeBase` in this process. Models load when first needed; reading the catalog needs none.

    Owns `store` and `models`: `close` closes them.
    """

    def __init__(self, settings: Settings, store: Store, models: Models) -> None:
        self._settings = settings
        self._models = models
        self._catalog = Catalog.in_folder(settings.home)
        self._library = Library(settings.home, store, self._catalog, models.recipe)
        self._opened = Opened(self._library)
        aligner = Aligner(self._library, models)
        self._changes = Changes(self._opened, self._catalog, settings, models, aligner)
        self._finder = Finder(self._opened, models, aligner)
        self._talking = Talking(self._library, models, aligner, settings.site.dir)
        self._gaps = Gaps(self._catalog, models, self._answered)
        self.unready: str | None = "the models are being loaded"

    def __enter__(self) -> Service:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def open(self) -> None:
        """Take the index now rather than at the first question, and end what a stopped process left of corrections.

        Raises:
            LibraryBusy: if another process owns it.
            IndexMismatch: if another recipe built it.
        """
        self._opened()
        self._changes.resume()

    def close(self) -> None:
        self._library.close()
        self._models.close()

    def warm(self) -> None:
        """Load what the first question would wait for; what hinders it, whatever it is, stands in `unready`."""
        try:
            self.search(types.Query(text="warm", limit=1))
            self.unready = None
        except Exception as error:  # noqa: BLE001 - runs unwatched: who asks `unready` is the only one to tell
            _log.warning("not_ready", error=str(error), exc_info=not isinstance(error, KBError))
            self.unready = error.told if isinstance(error, KBError) else f"{type(error).__name__}: {error}"

    # --- changing ---------------------------------------------------------------------------------------------------

    def add(self, paths: Sequence[Path], on_progress: OnProgress = unwatched) -> Iterator[types.Change]:
        return self._changes.add(paths, on_progress)

    def sync(self, folder: Path, on_progress: OnProgress = unwatched) -> Iterator[types.Change]:
        return self._changes.sync(folder, on_progress)

    def rebuild(self, on_progress: OnProgress = unwatched) -> Iterator[types.Change]:
        return self._changes.rebuild(on_progress)

    def remove(self, name: str) -> types.Change:
        return self._changes.remove(name)

    def correct(self, heard: str, corrected: str, source: str | None = None) -> list[types.Change]:
        return self._changes.correct(heard, corrected, source)

    def judge(self, ids: Sequence[str], source: str | None = None, *, accepted: bool) -> list[types.Change]:
        return self._changes.judge(ids, source, accepted=accepted)

    # --- reading ----------------------------------------------------------------------------------------------------

    def sources(self) -> list[types.SourceEntry]:
        return list(self._catalog.entries())

    def show(self, name: str) -> types.Document:
        entry = self._catalog.find(name)
        try:
            return self._library.document(entry.source.id)
        except NotFound as error:
            if entry.error:
                raise NotFound(entry.error, remedy="Then add it again: kb add PATH") from error
            raise NotFound(error.what, where=entry.source.title, remedy=error.remedy) from error

    def corrections(self, source: str | None = None) -> list[types.Wording]:
        from api.corrections import decided, wordings

        decisions = self._catalog.decisions()
        return decided(decisions) if source is None else wordings(self.show(source), decisions)

    def page_image(self, name: str, number: int) -> Path:
        """The WebP image of a deck's page, counted from 1.

        Raises:
            NotFound: if the source has no image of it.
        """
        entry = self._catalog.find(name)
        if (image := self._library.page_image(entry.source.id, number)) is None:
            remedy = "Images are made of PDF pages, and of slides where LibreOffice is installed: `kb doctor`"
            raise NotFound(f"there is no image of page {number}", where=entry.source.title, remedy=remedy)
        return image

    def search(self, query: types.Query) -> list[MarkedHit]:
        text, filters = checked_question(query.text), resolved(self._catalog, query.filters)
        hits = self._finder.find(query.model_copy(update={"text": text, "filters": filters}))
        return [MarkedHit(**dict(hit), marks=tuple(matched_spans(hit.quote, text))) for hit in hits]

    def ask(
        self,
        question: str,
        filters: types.Filters = EVERYTHING,
        *,
        history: Sequence[types.Exchange] = (),
        record: bool = True,
    ) -> types.Answer:
        return answer_of(self.ask_events(question, filters, history=history, record=record))

    def ask_events(
        self,
        question: str,
        filters: types.Filters = EVERYTHING,
        *,
        history: Sequence[types.Exchange] = (),
        record: bool = True,
        is_abandoned: Callable[[], bool] = awaited,
    ) -> Iterator[types.AnswerEvent]:
        """The events end early, and so does the model's work, as soon as `is_abandoned` says that nobody waits."""
        question, filters = checked_question(question), resolved(self._catalog, filters)
        history = checked_history(history)
        for event in self._answerer.stream(question, filters, history, is_abandoned=is_abandoned):
            if isinstance(event, types.DoneEvent) and record:
                self._gaps.file(event.answer)
            yield event

    def facets(self) -> Facets:
        """The values that filters can take."""
        return Facets.of([entry.source for entry in self._catalog.entries()], self._catalog.talks())

    # --- what is lacking --------------------------------------------------------------------------------------------

    def rate(self, feedback: types.Feedback) -> None:
        self._gaps.rate(feedback)

    def gaps(self, *, closed: bool = False) -> list[types.GapGroup]:
        return self._gaps.groups(closed=closed)

    def recheck_gaps(self, *, is_abandoned: Callable[[], bool] = awaited) -> list[types.Gap]:
        return self._gaps.recheck(is_abandoned)

    # --- writing ----------------------------------------------------------------------------------------------------

    def talks(self) -> list[types.Talk]:
        return list(self._catalog.talks())

    def transcript(
        self,
        talk: str,
        *,
        minutes: float | None = None,
        most: int = types.MOST_CHAPTERS,
        lang: types.Lang | None = None,
        is_abandoned: Callable[[], bool] = awaited,
    ) -> types.Transcript:
        """
        Raises:
            Abandoned: if a model names the chapters and `is_abandoned` says that nobody waits.
        """
        return self._talking.transcript(talk, minutes=minutes, most=most, lang=lang, is_abandoned=is_abandoned)

    def write(
        self, talk: str, lang: types.Lang | None = None, *, is_abandoned: Callable[[], bool] = awaited
    ) -> types.Article:
        return self._talking.write(talk, lang, is_abandoned)

    def articles(self) -> list[types.Article]:
        return list(self._catalog.articles())

    def publish(
        self, slug: str, *, reviewed: bool = False, site: Path | None = None, anywhere: bool = True
    ) -> list[Path]:
        return self._talking.publish(slug, reviewed=reviewed, site=site, anywhere=anywhere)

    # --- measuring --------------------------------------------------------------------------------------------------

    def fit(self, cases: Sequence[Case], on_progress: OnProgress = unwatched) -> Fits:
        """Fit the weights of the lists and the line of refusal, keep them and use them: `api.line.fit`."""
        from api.line import fit

        return fit(self._finder, self._answerer, cases, self._models, on_progress)

    def _answered(self, question: str, is_abandoned: Callable[[], bool]) -> types.Answer:
        return answer_of(self.ask_events(question, record=False, is_abandoned=is_abandoned))

    # --- the parts --------------------------------------------------------------------------------------------------

    @cached_property
    def _answerer(self) -> Answerer:
        from api.line import open_answerer

        return open_answerer(self._finder.find, self._models)


def open_service(settings: Settings) -> Service:
    """The library of `settings.home` with the models that the settings name. Nothing heavy is loaded yet.

    Raises:
        MissingDependency: if the packaged weights are asked for and not installed.
        UnsafeSettings: if an endpoint is set without the name of a model there.
    """
    return Service(settings, open_store(settings), open_models(settings))
