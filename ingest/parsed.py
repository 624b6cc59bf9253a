"""What a reader gives back, before it has a source id and an order, and what it may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date as Date  # noqa: N812
from pathlib import Path
from typing import Protocol

from kb.settings import Settings
from kb.types import Dropped, Flag, Lang, Mark, Page, Role, Talk, Time


@dataclass(frozen=True)
class Block:
    """A citable unit of text with its place; `text` is canonical and verbatim."""

    text: str
    locator: Time | Page | Mark
    role: Role
    flags: frozenset[Flag] = frozenset()
    lang: Lang | None = None  # detected from the text where a reader does not know better
    confidence: float | None = None  # 0 to 1, of text that was recognised
    original: str = ""  # what this is a translation of


@dataclass(frozen=True)
class Parsed:
    """All that a file says, and all that could not be read in it."""

    blocks: tuple[Block, ...]
    title: str | None = None
    lang: Lang | None = None
    date: Date | None = None
    version: str | None = None
    url: str | None = None
    licence: str | None = None
    dropped: tuple[Dropped, ...] = ()
    pages: int = 0


@dataclass(frozen=True)
class Recording:
    """What a transcriber is to hear.

    `lang` is that of all of it; None to tell it from the sound, stretch by stretch. `hotwords` are names to expect.
    What lies before `start_ms`, or in one of the stretches of `known`, is not heard: its words are there already.
    """

    path: Path
    lang: Lang | None = None
    hotwords: tuple[str, ...] = ()
    known: tuple[Time, ...] = ()
    start_ms: int = 0


@dataclass(frozen=True)
class Piece:
    """Some minutes of a transcript, up to a moment at which nobody speaks: `Recording.start_ms` of the next piece."""

    end_ms: int
    items: tuple[Block | Dropped, ...]


class Transcriber(Protocol):
    """Turns speech into timed text. One instance serves many files and loads its model once."""

    @property
    def fingerprint(self) -> str:
        """Names model and settings: the same fingerprint gives the same text."""
        ...

    def transcribe(self, recording: Recording, on_progress: Callable[[float], None]) -> Iterator[Piece]:
        """Sentences in order, with `Time` locators on the clock of the file; what was rejected, with its reason.

        `on_progress` gets the share of the recording that was heard, from 0 to 1.
        """
        ...


SCENES = "scenes.npz"  # what a video shows (`ingest.alignment.scenes`)


def no_progress(share: float) -> None:
    """Progress that nobody watches; `share` runs from 0 to 1."""


@dataclass(frozen=True)
class Reading:
    """What a reader may use besides the file itself."""

    settings: Settings
    talk: Talk | None = None
    transcriber: Transcriber | None = None
    images: Path | None = None  # folder for page images, 0001.webp and so on, and for `SCENES`; None to make none
    on_progress: Callable[[float], None] = field(default=no_progress)


Reader = Callable[[Path, Reading], Parsed]
