"""What every face asks of a library, whether it lies in this process or behind a service."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from generate.llm import Abandoned
from kb import types
from kb.errors import BadRequest
from kb.text import canonical

OnProgress = Callable[[types.Progress], None]
EVERYTHING = types.Filters()
MAX_QUESTION = 2000  # characters
MIN_MINUTES, MAX_MINUTES = 0.5, 120.0  # of a chapter


class MarkedHit(types.Hit):
    """A hit whose words that match the query stand at `marks`: spans of `quote`, in code points."""

    marks: tuple[tuple[int, int], ...] = ()


def unwatched(progress: types.Progress) -> None:
    """Progress that nobody watches."""


def awaited() -> bool:
    """Nobody has given up waiting."""
    return False


def checked_text(text: str, what: str) -> str:
    """`text` as stored text is: without control characters, in one spelling (`kb.text.canonical`).

    Args:
        what: names it in the message, as "the question" does.

    Raises:
        BadRequest: if it holds half a character, as bytes that are no UTF-8 come in on a command line or in JSON.
    """
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise BadRequest(f"{what} is no text in UTF-8", remedy="Type it again, or save its file as UTF-8")
    return canonical(text)


def checked_history(history: Sequence[types.Exchange]) -> tuple[types.Exchange, ...]:
    """The turns of a conversation, each as `checked_text`."""
    what = "the conversation"
    return tuple(
        types.Exchange(question=checked_text(one.question, what), answer=checked_text(one.answer, what))
        for one in history
    )


def checked_question(text: str) -> str:
    """`text` as `checked_text`, without the white space around it.

    Raises:
        BadRequest: if nothing is left, more than `MAX_QUESTION` characters, or half a character.
    """
    text = checked_text(text, "the question").strip()
    if not text:
        raise BadRequest("the question is empty", remedy="Ask in a sentence, or name what to look for")
    if len(text) > MAX_QUESTION:
        raise BadRequest(
            f"the question has {len(text):,} characters; {MAX_QUESTION:,} are the most", remedy="Shorten it"
        )
    return text


def answer_of(events: Iterable[types.AnswerEvent]) -> types.Answer:
    """The answer that its events end in.

    Raises:
        Abandoned: if they end early, because nobody waits.
    """
    last = None
    for event in events:
        last = event
    if not isinstance(last, types.DoneEvent):
        raise Abandoned
    return last.answer


class KnowledgeBase(Protocol):
    """One library. Safe to share between threads; changes exclude each other, reading goes on beside them.

    A source is named by its id, an unambiguous beginning of the id, its path, its file name or its title.
    """

    def add(self, paths: Sequence[Path], on_progress: OnProgress = unwatched) -> Iterator[types.Change]:
        """Read files and everything below folders, one change per file as it is done; a bad file stops nothing.

        A path that does not exist is such a file.

        Raises:
            LibraryBusy: if another batch is changing the library.
            IndexMismatch: if the index was built by another recipe.
        """
        ...

    def sync(self, folder: Path, on_progress: OnProgress = unwatched) -> Iterator[types.Change]:
        """As `add`, and sources below `folder` whose file is gone are removed."""
        ...

    def rebuild(self, on_progress: OnProgress = unwatched) -> Iterator[types.Change]:
        """Build the index anew from the stored documents with the present recipe; originals are not read."""
        ...

    def remove(self, name: str) -> types.Change:
        """Forget a source: its document, page images and chunks. The file itself stays."""
        ...

    def correct(self, heard: str, corrected: str, source: str | None = None) -> list[types.Change]:
        """From now on `heard` is written as `corrected` in speech: of one source, or of the whole library. Transcripts
        are corrected from their raw text, without reading originals; gives those that changed.

        Raises:
            BadRequest: if this is no correction.
        """
        ...

    def judge(self, ids: Sequence[str], source: str | None = None, *, accepted: bool) -> list[types.Change]:
        """Accept or reject corrections by their ids, in one source or everywhere. A rejected one never comes back.

        Raises:
            NotFound: if there is no such correction.
        """
        ...

    def corrections(self, source: str | None = None) -> list[types.Wording]:
        """What was corrected in a source and what was rejected for it; without a source, all that was decided."""
        ...

    def sources(self) -> list[types.SourceEntry]: ...

    def show(self, name: str) -> types.Document:
        """
        Raises:
            NotFound: if no source has that name.
            BadRequest: if several have.
        """
        ...

    def search(self, query: types.Query) -> list[MarkedHit]:
        """
        Raises:
            BadRequest: if the text is empty or longer than `MAX_QUESTION` characters.
        """
        ...

    def ask(
        self,
        question: str,
        filters: types.Filters = EVERYTHING,
        *,
        history: Sequence[types.Exchange] = (),
        record: bool = True,
    ) -> types.Answer:
        """An answer whose every claim is cited, or a refusal, which is filed as a gap unless `record` is off.

        `history` are the turns before the question, the latest last; evidence is looked for anew all the same.
        """
        ...

    def ask_events(
        self,
        question: str,
        filters: types.Filters = EVERYTHING,
        *,
        history: Sequence[types.Exchange] = (),
        record: bool = True,
    ) -> Iterator[types.AnswerEvent]:
        """As `ask`, while it comes into being; the last event is a `DoneEvent` with the answer.

        Closing the iterator ends the work.
        """
        ...

    def rate(self, feedback: types.Feedback) -> None:
        """Keep what a reader thinks of an answer; a bad rating files the question as a gap.

        Raises:
            BadRequest: if the question is empty or longer than `MAX_QUESTION` characters.
        """
        ...

    def gaps(self, *, closed: bool = False) -> list[types.GapGroup]:
        """What the corpus does not answer, in groups that ask for the same; or what it did not, and does by now."""
        ...

    def recheck_gaps(self) -> list[types.Gap]:
        """Ask every refused question again, close those that are answered by now, and give these."""
        ...

    def talks(self) -> list[types.Talk]: ...

    def transcript(
        self,
        talk: str,
        *,
        minutes: float | None = None,
        most: int = types.MOST_CHAPTERS,
        lang: types.Lang | None = None,
    ) -> types.Transcript:
        """What is said in a talk, with the slides that were on the screen, and in chapters.

        Args:
            talk: its id or title.
            minutes: of a chapter; None for six to ten, and less in talks that are too short for three of them.
            most: chapters that there may be.
            lang: of the titles; the talk's own by default. Also chooses between transcripts in several languages.

        Raises:
            NotFound: if there is no such talk, or nobody speaks in it.
            BadRequest: if several talks have that name, or the length makes no sense.
        """
        ...

    def write(self, talk: str, lang: types.Lang | None = None) -> types.Article:
        """Draft an article from a talk, named by its id or title."""
        ...

    def articles(self) -> list[types.Article]: ...

    def publish(
        self, slug: str, *, reviewed: bool = False, site: Path | None = None, anywhere: bool = True
    ) -> list[Path]:
        """Copy a reviewed draft into a site, and give the files written, as absolute paths.

        Args:
            slug: the article's name.
            reviewed: vouches for the review; without it, the draft's front matter must say `curated: true`.
            site: the folder; by default the site that the caller's settings name, which must be there.
            anywhere: `site` may hold no site yet.

        Raises:
            NotFound: if there is no such draft, or no site.
            BadRequest: if the draft is not reviewed, or holds what must not reach readers.
        """
        ...

    def close(self) -> None: ...
