"""Caption files: SRT and WebVTT in all their dialects, transcripts in JSON.

Cues become blocks with the file's own words and times. Where captions carry punctuation, the cues of one sentence
become one block, joined by line breaks. A cue in two languages stays one block: a line of it is a quote, so are both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from ingest.decode import read_text
from ingest.parsed import Block, Parsed, Reading
from ingest.recordings import transcript_json
from ingest.recordings.cues import Cue, parse
from kb.errors import UnreadableSource
from kb.text import detect_lang, printable
from kb.types import Dropped, Role, Time


def read(path: Path, _reading: Reading) -> Parsed:
    """Read captions or a transcript.

    Raises:
        UnreadableSource: if the file has no cue, or is no transcript.
        UnsupportedSource: if a JSON file holds something else.
    """
    text = read_text(path)
    if path.suffix.lower() in (".json", ".json3"):
        found = list(transcript_json.parse(text, printable(path.name)))
    else:
        found = list(parse(text))
    cues = [item for item in found if isinstance(item, Cue)]
    dropped = [item for item in found if isinstance(item, Dropped)]
    if not cues:
        raise UnreadableSource(
            "no cue with a time", where=printable(path.name), remedy="A cue is 00:00:01,000 --> 00:00:02,500 and text"
        )
    cues, notes = in_order(cues)
    cues, folded = fold_rolling(cues)
    blocks = tuple(
        Block(text="\n".join(cue.text for cue in group), locator=_span(group), role=Role.SPEECH)
        for group in group_sentences(cues)
    )
    return Parsed(blocks=blocks, dropped=(*dropped, *notes, *folded))


def _span(cues: list[Cue]) -> Time:
    return Time(start_ms=cues[0].start, end_ms=max(cue.end for cue in cues))


# --- order and repetition -----------------------------------------------------------------------------------------


def in_order(cues: list[Cue]) -> tuple[list[Cue], list[Dropped]]:
    """Cues by their start. Overlaps stay: two people may speak at once; they and moved cues are noted."""
    notes = []
    moved = [right for left, right in pairwise(cues) if right.start < left.start]
    if moved:
        notes.append(_note(moved, "start before the cue above them: put in order of time"))
    cues = sorted(cues, key=lambda cue: cue.start)
    overlapping = [right for left, right in pairwise(cues) if right.start < left.end]
    if overlapping:
        notes.append(_note(overlapping, "start before the cue before them ends: kept with their own times"))
    return cues, notes


def _note(cues: list[Cue], reason: str) -> Dropped:
    return Dropped(what=f"{len(cues)} cues", where=f"line {cues[0].at}", reason=reason)


def fold_rolling(cues: list[Cue]) -> tuple[list[Cue], list[Dropped]]:
    """Automatic captions roll: each cue shows the last line of the one before again. Each line is kept once.

    A file rolls when most of its cues of several lines begin so, as nobody writes by hand. Then a cue loses its first
    line if that is the last line of the cue right before it; a cue that only holds the screen, vanishes. A phrase that
    was really said twice stands in two new lines, and survives.
    """
    pairs = list(pairwise(cues))
    several = [(left, right) for left, right in pairs if len(right.lines) > 1]
    if sum(_rolls(left, right) for left, right in several) * 2 <= len(several) or len(several) < 2:
        return cues, []
    kept = [cues[0]]
    for left, right in pairs:
        fresh = right.lines[1:] if _rolls(left, right) else right.lines
        if fresh:
            kept.append(replace(right, lines=fresh))
    folded = sum(len(cue.lines) for cue in cues) - sum(len(cue.lines) for cue in kept)
    return kept, [Dropped(what=f"{folded} lines", where="", reason="rolling captions show a line again")]


def _rolls(left: Cue, right: Cue) -> bool:
    return right.lines[0] == left.lines[-1] and right.start - left.end < 100


# --- sentences ----------------------------------------------------------------------------------------------------

_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’)）】」』]*$")
_PAUSE, _LONGEST = 1_000, 20_000  # milliseconds


def group_sentences(cues: list[Cue]) -> Iterator[list[Cue]]:
    """Runs of cues that make one sentence, where the captions are punctuated; else every cue on its own.

    A run ends at a full stop, at a pause, before a new speaker's dash, and before it grows longer than a citation's
    listener wants to hear.
    """
    ends = sum(bool(_SENTENCE_END.search(cue.text)) for cue in cues)
    bilingual = sum(len({detect_lang(line) for line in cue.lines} - {"und"}) > 1 for cue in cues) * 2 > len(cues)
    joins = not bilingual and ends * 10 >= len(cues)
    group: list[Cue] = []
    for cue in cues:
        if group and not (joins and _continues(group, cue)):
            yield group
            group = []
        group.append(cue)
    if group:
        yield group


def _continues(group: list[Cue], cue: Cue) -> bool:
    last = group[-1]
    return (
        not _SENTENCE_END.search(last.text)
        and 0 <= cue.start - last.end < _PAUSE
        and cue.end - group[0].start <= _LONGEST
        and not cue.text.startswith(("-", "–", "—", ">>", "(", "[", "（", "♪"))
    )
