"""What decides on a document besides its file, and which captions a recording takes in."""

from __future__ import annotations

from pathlib import Path

from index.library import Library
from ingest.identity import source_of
from ingest.parsed import Transcriber
from ingest.recordings.correct import fingerprint
from ingest.recordings.merging import captions_of, recording_of
from kb.settings import Settings
from kb.text import stable_id
from kb.types import Kind, Talk

_READING = "reading/7"  # raise it when a reader's output changes, so that unchanged files are read again


def recipe_of(path: Path, kind: Kind | None, talk: Talk | None, settings: Settings, transcriber: Transcriber) -> str:
    """Names the readers, the talk, who heard the speech, the captions that are taken instead and what speech is
    corrected by, who drew the slides, what a note includes."""
    means = ""
    if kind is Kind.RECORDING:
        captions = captions_of(path)
        means = f"{transcriber.fingerprint} {fingerprint()} {source_of(captions).sha256 if captions else ''}"
    elif kind is Kind.CAPTIONS:
        means = fingerprint()
    elif kind is Kind.DECK or path.suffix.lower() == ".docx":
        from ingest.office import slides

        means = slides.means(settings)
    elif kind is Kind.NOTE:
        from ingest.markup import notes

        means = notes.means(path)
    return stable_id(_READING, talk.model_dump_json() if talk else "", means)


def taken_in(
    captions: Path, talk: Talk | None, library: Library, settings: Settings, transcriber: Transcriber
) -> Path | None:
    """The recording whose transcript in the library holds what these captions say now."""
    if (recording := recording_of(captions)) is None:
        return None
    key, recipe = source_of(recording), recipe_of(recording, Kind.RECORDING, talk, settings, transcriber)
    return recording if library.is_current(key.id, key.sha256, recipe) else None
