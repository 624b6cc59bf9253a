"""The verbatim pieces that an article is made from: blocks of slides, and speech laid to them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ingest.alignment.decks import distinct, pages, title_of
from kb.text import HAN, detect_lang, stable_id
from kb.types import Document, Evidence, Flag, Frozen, Lang, Mark, Page, Role, Segment, Time, merge_locators

_COLUMNS = 260  # of a quote of speech; a hanzi takes two
_LONGEST_TITLE = 100  # characters
_PAUSE_MS = 2500  # a longer pause ends a quote
_SKIPPED = re.compile(
    r"(?:\d+[.、\s]*)?(?:目录|大纲|议程|提纲|内容提要|谢谢.*|感谢.*|致谢|问答|答疑|参考文献|q\s*&\s*a|questions?\??"
    r"|thanks?( you)?.*|agenda|(?:table of )?contents?|outlines?( of (?:the )?talk)?|references?|acknowledge?ments?"
    r"|the end|appendix)\W*",
    re.IGNORECASE,
)


class Quote(Frozen):
    """A verbatim piece of the material. `slide` counts the slides of the ledger from 0."""

    evidence: Evidence
    role: Role
    flags: frozenset[Flag] = frozenset()
    heard: str = ""  # as it was recognised, where words of it were corrected
    slide: int | None = None


class Slide(Frozen):
    """A page of a deck that says something; covers, agendas and thanks are none."""

    source_id: str
    number: int
    title: str
    unread: bool  # it has no text, or a graphic that could not be read
    twins: tuple[str, ...] = ()  # other files of the same deck, by source id, which may have its page images
    second_title: str = ""  # the title in the other language, of a deck that gives both

    def title_in(self, lang: Lang) -> str:
        """The title in `lang` where it has one."""
        return self.second_title if self.second_title and detect_lang(self.second_title) == lang else self.title


def quote_of(segment: Segment, slide: int | None) -> Quote:
    kind = {Time: "T", Page: "P", Mark: "M"}[type(segment.locator)]
    digest = stable_id("quote", segment.source_id, str(segment.locator), segment.text)[:8]
    evidence = Evidence(
        id=f"E{kind}{digest}",
        chunk_id=f"{segment.source_id}:{segment.order}",  # an article quotes segments, not chunks
        source_id=segment.source_id,
        locator=segment.locator,
        quote=segment.text,
        lang=segment.lang,
    )
    return Quote(evidence=evidence, role=segment.role, flags=segment.flags, heard=segment.heard, slide=slide)


def is_written(segment: Segment) -> bool:
    return segment.role is not Role.TITLE and bool(segment.text.strip())


# --- slides -----------------------------------------------------------------------------------------------------


def slides_of(decks: Sequence[Document]) -> tuple[list[Slide], list[Quote]]:
    slides: list[Slide] = []
    quotes: list[Quote] = []
    for deck, twins in distinct(decks):
        for number, segments in pages(deck):
            title = title_of(segments)
            if any(Flag.HIDDEN in s.flags for s in segments) or _says_nothing(title, number, segments):
                continue
            others = tuple(twin.source.id for twin in twins)
            unread = any(s.flags & {Flag.NO_TEXT, Flag.UNREAD_GRAPHIC} for s in segments)
            body = [s for s in segments if is_written(s) and not _is_ornament(s)]
            slides.append(
                Slide(
                    source_id=deck.source.id,
                    number=number,
                    title=title,
                    unread=unread,
                    twins=others,
                    second_title=_second_title(title, body),
                )
            )
            quotes += [_joined(run, len(slides) - 1) for run in _blocks(body)]
    has_both = 2 * sum(bool(slide.second_title) for slide in slides) > len(slides)
    return slides if has_both else [slide.model_copy(update={"second_title": ""}) for slide in slides], quotes


def _second_title(title: str, body: Sequence[Segment]) -> str:
    """The first line below the title, if it may be the title in the other language."""
    line = body[0].text.partition("\n")[0].strip() if body and body[0].role is Role.BODY else ""
    other = {"zh": "en", "en": "zh"}.get(detect_lang(title))
    return line if other and detect_lang(line) == other and len(line) <= _LONGEST_TITLE else ""


def says_nothing_by_title(title: str) -> bool:
    """Whether it is that of an agenda, a farewell, a list of references."""
    return _SKIPPED.fullmatch(title) is not None


def _says_nothing(title: str, number: int, segments: Sequence[Segment]) -> bool:
    """A cover, an agenda, a farewell; speaker notes are no reason to keep it."""
    if says_nothing_by_title(title):
        return True
    shown = sum(len(s.text) for s in segments if s.role not in (Role.NOTES, Role.TITLE))
    return number == 1 and shown < 160


def _blocks(body: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Lines of a slide that follow each other make one quote; a table, code, a formula and notes are their own."""
    run: list[Segment] = []
    for segment in body:
        last = run[-1] if run else None
        if last and not (segment.role is last.role is Role.BODY and segment.order == last.order + 1):
            yield run
            run = []
        run.append(segment)
    if run:
        yield run


def _is_ornament(segment: Segment) -> bool:
    """A page number, a lone symbol, an address in the margin."""
    letters = sum(character.isalpha() for character in segment.text)
    return segment.role is Role.BODY and letters < (2 if HAN.search(segment.text) else 4)


# --- speech -----------------------------------------------------------------------------------------------------


def spoken(speech: Sequence[Segment], slides: Sequence[int | None]) -> Iterator[Quote]:
    """Sentences of one slide that follow each other closely, joined up to a readable length."""
    run: list[Segment] = []
    on: int | None = None
    for segment, slide in zip(speech, slides, strict=True):
        if run and (slide != on or not _continues(run, segment)):
            yield _joined(run, on)
            run = []
        run.append(segment)
        on = slide
    if run:
        yield _joined(run, on)


def _continues(run: Sequence[Segment], segment: Segment) -> bool:
    last, this = run[-1].locator, segment.locator
    pause = this.start_ms - last.end_ms if isinstance(last, Time) and isinstance(this, Time) else 0
    text = "".join(s.text for s in (*run, segment))
    return pause <= _PAUSE_MS and len(text) + len(HAN.findall(text)) <= _COLUMNS


def _joined(run: Sequence[Segment], slide: int | None) -> Quote:
    first, last = run[0], run[-1]
    is_corrected = any(segment.heard for segment in run)
    merged = first.model_copy(
        update={
            "text": "\n".join(segment.text for segment in run),
            "locator": merge_locators(first.locator, last.locator),
            "heard": "\n".join(segment.heard or segment.text for segment in run) if is_corrected else "",
            "flags": frozenset().union(*(segment.flags for segment in run)),
        }
    )
    return quote_of(merged, slide)
