"""The transcript of a talk: which one, its lines with the slides on the screen, and its page in Markdown."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence

from generate import chapters, markdown
from generate.chapters import Length
from generate.titles import Titles, title_of
from generate.wording import wording
from kb.text import HAN
from kb.types import Document, Kind, Lang, Line, Role, Screen, Segment, Talk, Time, Transcript, clock, screen_at

_SOUND = re.compile(r"[(（\[【♪][^()（）\[\]【】]*[)）\]】♪]|字幕.*|subtitles?\b.*", re.IGNORECASE)
_PARAGRAPH = 240  # columns; a hanzi takes two


def chosen(talk: Talk, documents: Sequence[Document], lang: Lang) -> Document | None:
    """Of several transcripts, the one in `lang`, else in the talk's language; captions before a recording's own."""
    spoken = [d for d in documents if any(segment.role is Role.SPEECH for segment in d.segments)]
    wanted = {lang: 2, talk.lang: 1}
    return max(spoken, key=lambda d: (wanted.get(d.source.lang, 0), d.source.kind is Kind.CAPTIONS), default=None)


def is_said(segment: Segment) -> bool:
    """Whether someone speaks: sounds and the credits of subtitles are no speech."""
    return segment.role is Role.SPEECH and bool(_SOUND.sub("", segment.text).strip(" \n-–—.,。，"))


def transcript(
    talk: Talk,
    document: Document,
    screens: Sequence[Screen],
    lang: Lang,
    length: Length = Length(),  # noqa: B008 - a frozen value
    titles: Titles = title_of,
) -> Transcript:
    """What is said in a talk, with its chapters.

    Args:
        talk: the talk.
        document: one of its transcripts, see `chosen`.
        screens: what was on the screen, and when.
        lang: language of the chapters' titles.
        length: of the chapters.
        titles: names them.
    """
    lines = tuple(
        Line(
            order=segment.order,
            text=segment.text,
            locator=segment.locator,
            href=segment.locator.href(document.source),
            lang=segment.lang,
            screen=screen_at(screens, segment.locator),
        )
        for segment in document.segments
        if is_said(segment) and isinstance(segment.locator, Time)
    )
    made = chapters.chapters(lines, lang, length, titles)
    return Transcript(talk=talk, source=document.source, lines=lines, chapters=made)


# --- its page -----------------------------------------------------------------------------------------------------


def render(transcript: Transcript, lang: Lang) -> str:
    """The transcript in Markdown: chapters as headings, paragraphs that begin with a link to their second."""
    words = wording(lang)
    blocks = [f"# {markdown.escape(transcript.talk.title)}", words.transcript]
    begins = {chapter.first: chapter for chapter in transcript.chapters}
    for run in _paragraphs(transcript.lines, begins):
        if chapter := begins.get(run[0].order):
            blocks.append(f"## {moment(chapter.start_ms)} {markdown.escape(chapter.title)}")
        blocks.append(_paragraph(run))
    return "\n\n".join(blocks) + "\n"


def moment(milliseconds: int) -> str:
    """`04:05`, and `1:04:05` from the first hour on, as video platforms write it."""
    hours, minutes, seconds = map(int, clock(milliseconds).partition(".")[0].split(":"))
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


def _paragraphs(lines: Sequence[Line], begins: Container[int]) -> Iterator[list[Line]]:
    """Lines of one slide and chapter that follow each other, up to a readable length."""
    run: list[Line] = []
    for line in lines:
        text = "".join(one.text for one in run)
        full = len(text) + len(HAN.findall(text)) > _PARAGRAPH
        if run and (full or line.screen != run[-1].screen or line.order in begins):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _paragraph(run: Sequence[Line]) -> str:
    first = run[0]
    link = markdown.href(first.href)
    at = moment(first.locator.start_ms)
    text = re.sub(r"([，。！？；：、]) ", r"\1", " ".join(" ".join(line.text.split()) for line in run))
    return f"{f'[{at}]({link})' if link else at} {markdown.escape(text)}"
