"""Talks: their transcripts with slides and chapters, and the articles written from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from api.aligning import Aligner
from api.base import MAX_MINUTES, MIN_MINUTES
from index.library import Library
from kb.errors import BadRequest, NotFound
from kb.types import MOST_CHAPTERS, Article, Document, Lang, Talk, Time, Transcript

if TYPE_CHECKING:
    from api.models import Models
    from generate.chapters import Length
    from generate.llm import Meter


class Talking:
    """What a library makes of its talks.

    Args:
        library: where talks and their sources are; its index is not needed.
        models: write titles of chapters, where there is a language model.
        aligner: knows what was on the screen.
        site: the folder that articles are published to.
    """

    def __init__(self, library: Library, models: Models, aligner: Aligner, site: Path) -> None:
        self._library = library
        self._models = models
        self._aligner = aligner
        self._site = site

    def transcript(
        self, name: str, *, minutes: float | None, most: int, lang: Lang | None, is_abandoned: Callable[[], bool]
    ) -> Transcript:
        """
        Raises:
            Abandoned: if a model names the chapters and `is_abandoned` says that nobody waits.
            NotFound: if there is no such talk, or nobody speaks in it.
            BadRequest: if several talks have that name, or the length makes no sense.
        """
        from generate.chapters import Length
        from generate.llm import Meter

        if not 1 <= most <= MOST_CHAPTERS or (minutes is not None and not MIN_MINUTES <= minutes <= MAX_MINUTES):
            raise BadRequest(
                f"chapters of {minutes} minutes, {most} at most, cannot be made",
                remedy=f"At most {MOST_CHAPTERS} chapters of {MIN_MINUTES} to {MAX_MINUTES} minutes",
            )
        talk = self._library.catalog.find_talk(name)
        documents = self._documents(talk)
        length, meter = Length(minutes=minutes, most=most), Meter(is_abandoned)
        made = self._made(talk, documents, lang or _language(talk, documents), length, meter)
        if made is None:
            raise NotFound(f"nobody speaks in {talk.title}", remedy="Add its recording or captions")
        return made

    def write(self, name: str, lang: Lang | None, is_abandoned: Callable[[], bool]) -> Article:
        """
        Raises:
            Abandoned: if a model names the chapters and `is_abandoned` says that nobody waits.
            NotFound: if there is no such talk.
            BadRequest: if several talks have that name.
        """
        from generate import pipeline
        from generate.chapters import Length
        from generate.llm import Meter

        talk = self._library.catalog.find_talk(name)
        documents = self._documents(talk)
        lang = lang or _language(talk, documents)
        article = pipeline.write(
            talk,
            documents,
            self.articles,
            transcript=self._made(talk, documents, lang, Length(), Meter(is_abandoned)),
            images=self._library.page_image,
            lang=lang,
        )
        self._library.catalog.put_article(article)
        return article

    def publish(self, slug: str, *, reviewed: bool, site: Path | None, anywhere: bool) -> list[Path]:
        """
        Raises:
            NotFound: if there is no such draft, or no site where one must be.
        """
        from generate import publish

        into = (site or self._site).absolute()
        may_be_new = anywhere and site is not None
        return list(publish.publish(slug, self.articles / slug, into, reviewed=reviewed, anywhere=may_be_new))

    @property
    def articles(self) -> Path:
        return self._library.home / "articles"

    def _documents(self, talk: Talk) -> list[Document]:
        return [self._library.document(source_id) for source_id in talk.sources]

    def _made(
        self, talk: Talk, documents: Sequence[Document], lang: Lang, length: Length, meter: Meter
    ) -> Transcript | None:
        from generate.named import titles_by
        from generate.titles import title_of
        from generate.transcript import chosen, transcript

        document = chosen(talk, documents, lang)
        if document is None:
            return None
        spoken = [(s.order, s.locator) for s in document.segments if isinstance(s.locator, Time)]
        llm = self._models.language_model
        made = transcript(
            talk,
            document,
            self._aligner.screens(document.source, spoken),
            lang,
            length,
            titles_by(llm, meter) if llm else title_of,
        )
        return made if made.lines else None


def _language(talk: Talk, documents: Sequence[Document]) -> Lang:
    """What the talk says of itself, else what is spoken in it."""
    from generate.transcript import chosen

    if talk.lang != "und":
        return talk.lang
    heard = chosen(talk, documents, talk.lang)
    return heard.source.lang if heard and heard.source.lang != "und" else "en"
