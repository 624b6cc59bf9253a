"""How chapters and transcripts look to a person, and to a video platform."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from rich.text import Text

from api.console import link, note, say, table, visible
from api.phrases import phrase, place

if TYPE_CHECKING:
    from kb.types import Chapter, Lang, Screen, Transcript

_FEWEST, _SHORTEST_MS = 3, 10_000  # of the chapters that YouTube shows


class ChapterFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    YOUTUBE = "youtube"
    BILIBILI = "bilibili"


def show_chapters(transcript: Transcript) -> None:
    from generate.transcript import moment

    rows = (
        (moment(chapter.start_ms), chapter.title, f"page {chapter.screen.page}" if chapter.screen else "")
        for chapter in transcript.chapters
    )
    table(("start", "chapter", "slide"), rows)


def show_youtube(transcript: Transcript) -> None:
    """Lines for the description of a video, as YouTube reads them."""
    from generate.transcript import moment

    for chapter in transcript.chapters:
        say(f"{moment(chapter.start_ms)} {chapter.title}")
    short = any(chapter.end_ms - chapter.start_ms < _SHORTEST_MS for chapter in transcript.chapters)
    if len(transcript.chapters) < _FEWEST or short:
        note("YouTube shows chapters only from three on, each of ten seconds or more.", "yellow")


def show_bilibili(transcript: Transcript) -> None:
    """Lines with titles of at most 16 characters, every letter counted as one."""
    from generate.titles import WIDEST, cut
    from generate.transcript import moment

    for chapter in transcript.chapters:
        say(f"{moment(chapter.start_ms)} {cut(chapter.title, WIDEST, measure=len)}")


def show_transcript(transcript: Transcript) -> None:
    """Chapters, and under them the lines, with every slide where it came to be on the screen."""
    from generate.transcript import moment

    say(Text(visible(transcript.talk.title), style="bold"))
    say(Text(visible(f"from {transcript.source.title}, {transcript.source.kind.value}"), style="dim"))
    begins: dict[int, Chapter] = {chapter.first: chapter for chapter in transcript.chapters}
    on = None
    for line in transcript.lines:
        if chapter := begins.get(line.order):
            say(Text(f"\n{moment(chapter.start_ms)} {visible(chapter.title)}", style="bold"))
        if line.screen and line.screen != on:
            show_screen(line.screen)
        on = line.screen
        say(Text.assemble((f"{place(line.locator)}  ", "cyan"), visible(line.text)))


def show_screen(screen: Screen | None, lang: Lang = "en") -> None:
    """The page that was on the screen, and where it is."""
    from kb.types import Page

    if screen is None:
        return
    page = phrase(lang, "page", n=screen.page) + (phrase(lang, "colon") + screen.title if screen.title else "")
    told = phrase(lang, "on_screen", page=page, share=f"{screen.confidence:.0%}")
    say(Text(visible(told), style="dim"), indent=4)
    say(link(screen.href, Page(number=screen.page)), indent=4)
