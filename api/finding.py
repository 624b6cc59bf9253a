"""Finding passages in an opened library: which weights are in use, and what a hit shows besides its text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from api.aligning import Aligner
from api.base import OnProgress, checked_text
from api.models import Models
from index.catalog import Catalog
from index.library import Library
from kb.types import Filters, Hit, Page, Query

if TYPE_CHECKING:
    from api.fitting import Fitted
    from eval.cases import Case
    from index.search import Searcher


class Finder:
    """Finds by the weights that the library keeps, and by better ones as soon as they are fitted.

    Args:
        library: gives the library, opened; called when it is first needed.
        models: embed the questions.
        aligner: knows what was on the screen while something was said.
    """

    def __init__(self, library: Callable[[], Library], models: Models, aligner: Aligner) -> None:
        self._library = library
        self._models = models
        self._aligner = aligner

    def find(self, query: Query) -> list[Hit]:
        """Hits, with the address of the image of their page, or of the page that was on the screen, where there is one.

        Raises:
            IndexMismatch: if the index lacks sources: nothing found would be untrue.
        """
        self._library().check_whole()
        return [self._illustrated(hit) for hit in self._searcher.search(query)]

    def fit(self, cases: Sequence[Case], on_progress: OnProgress) -> Fitted:
        """Find weights for the lists by questions whose sources are known, keep them and use them from now on.

        Raises:
            BadRequest: if no case has an answer.
        """
        from api.fitting import fit_weights
        from index.fitted import keep_weights

        fitted = fit_weights(self._searcher, cases, on_progress)
        keep_weights(fitted.weights, self._models.settings.home, self._models.embedders)
        self._searcher = self._models.searcher(self._library(), fitted.weights)
        return fitted

    @cached_property
    def _searcher(self) -> Searcher:
        return self._models.searcher(self._library())

    def _illustrated(self, hit: Hit) -> Hit:
        source, page = hit.source.id, hit.locator
        if not isinstance(page, Page):
            return self._aligner.illustrated(hit)
        if not self._library().page_image(source, page.number):
            return hit
        return hit.model_copy(update={"thumbnail": f"/v1/sources/{source}/pages/{page.number}.webp"})


def resolved(catalog: Catalog, filters: Filters) -> Filters:
    """Sources and talks may be named as people name them; the index knows ids."""
    sources = tuple(catalog.find(name).source.id for name in filters.sources)
    talks = tuple(catalog.find_talk(name).id for name in filters.talks)
    versions = tuple(checked_text(version, "the version") for version in filters.versions)
    return filters.model_copy(update={"sources": sources, "talks": talks, "versions": versions})
