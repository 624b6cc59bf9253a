"""Last stage: a draft as Markdown with front matter, figures beside it, and footnotes that lead to the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date as Date  # noqa: N812
from itertools import groupby

import yaml

from generate import markdown, quote_blocks
from generate.draft import Draft, Figure, Part, Written
from generate.ledger import Ledger
from generate.quotes import Quote
from generate.transcript import moment
from generate.wording import Wording, wording
from kb.types import Flag, Lang, Locator, Page, Role, Source, Time

FIGURES = "figures"
_MOST_WORDS = 20


def render(draft: Draft, ledger: Ledger, lang: Lang, slug: str, figures: dict[tuple[str, int], str]) -> str:
    """The article's Markdown.

    Args:
        draft: what to show.
        ledger: the evidence behind it.
        lang: language of the words around the quotes.
        slug: the article's name in addresses.
        figures: file names below `figures/`, by source and page, of the images that exist.
    """
    return _Renderer(draft, ledger, lang, figures).article(slug)


class _Renderer:
    def __init__(self, draft: Draft, ledger: Ledger, lang: Lang, figures: dict[tuple[str, int], str]) -> None:
        self.draft = draft
        self.ledger = ledger
        self.lang = lang
        self.words: Wording = wording(lang)
        self.figures = figures
        self.quotes = {quote.evidence.id: quote for quote in ledger.quotes}
        self.sources = {source.id: source for source in ledger.sources}
        self.cited: dict[str, Quote] = {}
        self.shown = 0

    def article(self, slug: str) -> str:
        body = [
            f"# {markdown.escape(self.draft.title)}",
            self._admonition("note", self.words.notice_title, [self.words.notice]),
            *(block for section in self.draft.sections for block in self._section(section)),
            *self._words(),
            *self._warnings(),
        ]
        notes = [self._footnote(quote) for quote in self.cited.values()]
        return "\n\n".join([self._front_matter(slug), *body, "\n".join(notes)]) + "\n"

    def _front_matter(self, slug: str) -> str:
        talk = self.ledger.talk
        values: dict[str, str | bool | int | Date | None] = {
            "title": self.draft.title,
            "slug": slug,
            "lang": self.lang,
            "kicker": self.draft.kicker,
            "abstract": self.draft.abstract,
            "date": talk.date,
            "talk": talk.id,
            "version": talk.version,
            "status": "evidence-draft",
            "curated": False,
            "evidence": sum(len(part.quotes) for section in self.draft.sections for part in section.parts),
        }
        known = {key: value for key, value in values.items() if value is not None}
        return f"---\n{yaml.safe_dump(known, allow_unicode=True, sort_keys=False, width=1000)}---"

    def _section(self, section: Written) -> Iterator[str]:
        yield f"## {markdown.escape(section.title)}"
        if section.question != self.words.question.format(title=section.title):  # somebody wrote a better one
            yield f"*{markdown.escape(section.question)}*"
        for part in section.parts:
            yield from self._part(part, section.title)
        if section.gaps:
            yield self._admonition("warning", self.words.gaps, [f"- {markdown.escape(gap)}" for gap in section.gaps])
        if section.left_out:
            facts = ", ".join(section.left_out[:12]) + (" …" if len(section.left_out) > 12 else "")
            yield self.words.left_out.format(count=len(section.left_out), facts=facts)

    def _part(self, part: Part, section: str) -> Iterator[str]:
        if part.figure is not None and part.figure.title not in (section, self.draft.title):
            yield f"### {markdown.escape(part.figure.title)}"
        if part.figure is not None and (part.figure.source_id, part.figure.page) in self.figures:
            yield self._figure(part.figure)
        for origin, quotes in groupby((self.quotes[evidence] for evidence in part.quotes), key=self._origin):
            yield from self._quotes(origin, list(quotes))

    def _figure(self, figure: Figure) -> str:
        self.shown += 1
        name = self.figures[figure.source_id, figure.page]
        caption = markdown.escape(self.words.figure.format(n=self.shown, title=figure.title, page=figure.page))
        return f"![{caption}]({FIGURES}/{name})\n\n*{caption}*"

    def _quotes(self, origin: str, quotes: Sequence[Quote]) -> Iterator[str]:
        """Quotes under the name of the place that they share; a single one has its footnote there."""
        self.cited |= {quote.evidence.id: quote for quote in quotes}
        notes = [self._note(quote) for quote in quotes]
        if len(quotes) == 1:
            yield f"**{origin}**{notes[0]}"
            yield from quote_blocks.blocks([(quotes[0], "")])
        else:
            yield f"**{origin}**"
            yield from quote_blocks.blocks(list(zip(quotes, notes, strict=True)))

    def _note(self, quote: Quote) -> str:
        doubt = f" ({self.words.low_confidence})" if Flag.LOW_CONFIDENCE in quote.flags else ""
        return f"{doubt}[^{quote.evidence.id}]"

    def _origin(self, quote: Quote) -> str:
        locator = quote.evidence.locator
        if isinstance(locator, Time):
            return self.words.said.format(start=moment(locator.start_ms))
        if isinstance(locator, Page):
            name = self.words.from_notes if quote.role is Role.NOTES else self.words.from_slide
            return name.format(page=locator.number)
        title = self.sources[quote.evidence.source_id].title
        return f"{markdown.escape(title)}, {self._place(locator)}"

    def _footnote(self, quote: Quote) -> str:
        source = self.sources[quote.evidence.source_id]
        locator = quote.evidence.locator
        place = self._place(locator)
        target = markdown.href(locator.href(source))
        link = f" · [{self.words.open}]({target})" if target else ""
        version = f", {markdown.escape(source.version)}" if source.version else ""
        heard = (
            f" · {self.words.heard.format(text=markdown.escape(quote_blocks.running(quote.heard)))}"
            if quote.heard
            else ""
        )
        return f"[^{quote.evidence.id}]: {markdown.escape(source.title)}{version}, {place} (`{locator}`){link}{heard}"

    def _place(self, locator: Locator) -> str:
        if isinstance(locator, Time):
            return f"{moment(locator.start_ms)}–{moment(locator.end_ms)}"
        if isinstance(locator, Page):
            return self.words.page.format(page=locator.number)
        return self.words.lines.format(start=locator.line_start, end=locator.line_end)

    def _words(self) -> Iterator[str]:
        if self.ledger.words:
            rows = [
                f"| {word.zh} | {word.en} | {word.abbr} | {word.uses} |" for word in self.ledger.words[:_MOST_WORDS]
            ]
            yield f"## {self.words.words}"
            yield "\n".join([self.words.words_head, "| --- | --- | --- | ---: |", *rows])

    def _warnings(self) -> Iterator[str]:
        lines = [f"{dropped.what}, {dropped.where}: {dropped.reason}" for dropped in self.ledger.warnings]
        lines += [
            self.words.misheard.format(heard=one.heard, meant=one.corrected, where=self._place(one.locator))
            for one in self.ledger.misheard
        ]
        if self.ledger.slides and self.ledger.aligned:
            lines.append(self.words.aligned.format(share=f"{self.ledger.aligned:.0%}"))
        yield f"## {self.words.warnings}"
        yield "\n".join(f"- {markdown.escape(line)}" for line in lines) or self.words.none

    @staticmethod
    def _admonition(kind: str, title: str, lines: list[str]) -> str:
        return "\n".join([f'!!! {kind} "{title}"', "", *(f"    {line}" for line in lines)])


def file_name(source: Source, sources: tuple[Source, ...], page: int) -> str:
    """Name of a figure; with several sources, numbered by the order of the sources."""
    return f"d{sources.index(source) + 1}p{page:03}.webp"
