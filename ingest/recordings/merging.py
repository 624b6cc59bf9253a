"""The captions and the speech of one talk become one transcript: what captions say is kept, speech fills the gaps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ingest.decode import read_text
from ingest.formats import KINDS
from ingest.markup.frontmatter import language
from ingest.parsed import Block, Parsed
from ingest.talk import talk_of
from kb.errors import KBError
from kb.text import detect_lang
from kb.types import Dropped, Flag, Kind, Time

_PAUSE = 5_000  # milliseconds without a caption that are no gap: nobody speaks, or the caption stands too briefly
_MARGIN = 700  # milliseconds by which captions come late and go early
_TAG = re.compile(r"\.([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]+)*)$")


def captions_of(recording: Path) -> Path | None:
    """The captions that say what is spoken in a recording.

    They lie beside it, belong to the same talk or to none, and have its name (`talk.srt`, `talk.zh.vtt` for `talk.mp4`)
    or are captions of a talk that has no other recording there. Where the talk's language is known, they are in it:
    others are a translation. Where it is not, captions whose name gives no language win; among several that are left
    nobody can tell, and none is taken.

    Raises:
        UnreadableSource: if the talk's description cannot be read.
    """
    files = _files(recording.parent)
    if recording not in files[Kind.RECORDING]:
        return None
    talk = talk_of(recording)
    by_talk = talk is not None and files[Kind.RECORDING] == [recording]
    beside = [
        path
        for path in files[Kind.CAPTIONS]
        if (_is_named(recording, path) or (by_talk and path.suffix.lower() != ".json")) and talk_of(path) == talk
    ]
    if talk and talk.lang != "und":
        beside = [path for path in beside if _lang(path) in (talk.lang, "und")]
    elif len(beside) > 1:
        beside = [path for path in beside if not _TAG.search(path.stem)]
    return beside[0] if len(beside) == 1 else None


def recording_of(captions: Path) -> Path | None:
    """The recording whose transcript holds these captions.

    Raises:
        UnreadableSource: if the talk's description cannot be read.
    """
    if KINDS.get(captions.suffix.lower()) is not Kind.CAPTIONS:
        return None
    recordings = _files(captions.parent)[Kind.RECORDING]
    likely = [path for path in recordings if len(recordings) == 1 or _is_named(path, captions)]
    return next((path for path in likely if captions_of(path) == captions), None)


def _is_named(recording: Path, captions: Path) -> bool:
    return recording.stem in (captions.stem, _TAG.sub("", captions.stem))


def known(captions: Parsed) -> tuple[Time, ...]:
    """The stretches of a recording whose words captions give."""
    stretches: list[tuple[int, int]] = []
    for block in captions.blocks:
        assert isinstance(block.locator, Time)
        start, end = max(0, block.locator.start_ms - _MARGIN), block.locator.end_ms + _MARGIN
        if stretches and start - stretches[-1][1] < _PAUSE:
            stretches[-1] = (stretches[-1][0], max(stretches[-1][1], end))
        else:
            stretches.append((start, end))
    return tuple(Time(start_ms=start, end_ms=end) for start, end in stretches)


def merged(captions: Parsed, heard: Parsed) -> Parsed:
    """One transcript in order of time; what was heard where captions speak is left out, and counted."""
    spans = known(captions)
    kept: list[Block] = []
    doubled: list[Block] = []
    for block in heard.blocks:
        (doubled if _said(block, spans) else kept).append(block)
    blocks = [*(replace(block, flags=block.flags | {Flag.CAPTIONS}) for block in captions.blocks), *kept]
    notes = [
        Dropped(what=block.text, where=str(block.locator), reason="the captions say it already") for block in doubled
    ]
    return replace(heard, blocks=tuple(sorted(blocks, key=_start)), dropped=(*captions.dropped, *heard.dropped, *notes))


def _said(block: Block, spans: Sequence[Time]) -> bool:
    assert isinstance(block.locator, Time)
    middle = (block.locator.start_ms + block.locator.end_ms) // 2
    return any(span.start_ms <= middle <= span.end_ms for span in spans)


def _start(block: Block) -> int:
    assert isinstance(block.locator, Time)
    return block.locator.start_ms


def _files(folder: Path) -> dict[Kind, list[Path]]:
    """Recordings and captions of a folder by name."""
    found: dict[Kind, list[Path]] = {Kind.RECORDING: [], Kind.CAPTIONS: []}
    for path in sorted(folder.iterdir()):
        kind = KINDS.get(path.suffix.lower())
        if kind in found and path.is_file() and not path.name.startswith("."):
            found[kind].append(path)
    return found


def _lang(path: Path) -> str:
    """The language that the name gives, else that of the text."""
    tag = _TAG.search(path.stem)
    if tag:
        return language(tag[1]) or tag[1].lower()
    try:
        return detect_lang(read_text(path))
    except KBError:
        return "und"
