"""Timed words to sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.parsed import Block
from kb.text import canonical, sentences
from kb.types import Flag, Role, Time

_PAUSE = 1_200  # milliseconds after which a new sentence begins, whatever the punctuation
_BREATH = 300  # the same where the transcriber begins a new segment
_LONGEST = 12_000  # milliseconds of a sentence, before it is cut at its best place


@dataclass(frozen=True)
class Word:
    """A word as it was recognised, with the blank before it; times in milliseconds."""

    text: str
    start: int
    end: int
    opens: bool = False  # the transcriber began a segment with it
    unsure: bool = False


def to_blocks(words: Sequence[Word]) -> Iterator[Block]:
    """One block a sentence. Times never run backwards, and every block lasts.

    A sentence ends with its punctuation or before a pause; one without either is cut at its longest pause, at the
    start of a segment or after a comma.
    """
    previous = 0
    for run in _runs(words):
        for sentence in _sentences(run):
            for part in _short_enough(sentence):
                text = " ".join(canonical("".join(word.text for word in part)).split())
                if not text:
                    continue
                start = max(previous, part[0].start)
                previous = max(start + 1, part[-1].end)
                unsure = sum(word.unsure for word in part) * 2 > len(part)
                yield Block(
                    text=text,
                    locator=Time(start_ms=start, end_ms=previous),
                    role=Role.SPEECH,
                    flags=frozenset({Flag.LOW_CONFIDENCE} if unsure else ()),
                )


def _runs(words: Sequence[Word]) -> Iterator[list[Word]]:
    run: list[Word] = []
    for word in words:
        if run and word.start - run[-1].end >= (_BREATH if word.opens else _PAUSE):
            yield run
            run = []
        run.append(word)
    if run:
        yield run


def _sentences(run: list[Word]) -> Iterator[list[Word]]:
    starts, at = [], 0
    for word in run:
        starts.append(at + len(word.text) - len(word.text.lstrip()))
        at += len(word.text)
    first = 0
    for _, end in sentences("".join(word.text for word in run)):
        last = next((index for index in range(first, len(run)) if starts[index] >= end), len(run))
        if last > first:
            yield run[first:last]
        first = last


def _short_enough(words: list[Word]) -> Iterator[list[Word]]:
    if len(words) < 2 or words[-1].end - words[0].start <= _LONGEST:
        yield words
        return
    middle = (words[0].start + words[-1].end) / 2
    span = words[-1].end - words[0].start

    def merit(index: int) -> float:
        word, before = words[index], words[index - 1]
        merits = (
            word.start - before.end + 800 * word.opens + 500 * before.text.rstrip().endswith((",", "，", "、", ";"))
        )
        return merits - 2000 * abs(word.start - middle) / span

    cut = max(range(1, len(words)), key=merit)
    yield from _short_enough(words[:cut])
    yield from _short_enough(words[cut:])
