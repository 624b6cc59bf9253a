"""What one answer or result list is worth, decided from its text alone (definitions: docs/evaluation.md)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from eval.cases import Case, Gold
from kb.files import path_of
from kb.text import fold
from kb.types import Answer, Citation, Document, Hit, Mark, Page, Segment, Source, Time

SourceOf = Callable[[str], Source]

_COVERED = 0.5  # of the shorter of two quotes must be one run of the other
_GROUPING = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


@lru_cache(maxsize=65536)
def folded(text: str) -> str:
    return fold(text).text


def stands_in(gold: Gold, source: Source) -> bool:
    """Whether the gold's file is this source."""
    return str(path_of(source.uri)).endswith("/" + unicodedata.normalize("NFC", gold.file))


def quotes_held(case: Case, hits: Sequence[Hit], source_of: SourceOf) -> list[frozenset[int]]:
    """For each hit, the numbers (in `case.quotes`) of the quotes that stand in its chunk.

    A hit speaks for its twins, too: their chunks hold the same words.
    """
    return [
        frozenset(
            number
            for number, gold in enumerate(case.quotes)
            if folded(gold.words) in folded(hit.chunk.text)
            and any(stands_in(gold, source) for source in (hit.source, *map(source_of, hit.twins)))
        )
        for hit in hits
    ]


def missing_key_strings(case: Case, answer: Answer) -> tuple[str, ...]:
    """The entries of `must_include` that the answer's text lacks; case, width and commas in numbers aside."""
    text = _plain(answer.text)
    return tuple(entry for entry in case.must_include if not any(_plain(part) in text for part in entry.split("|")))


def citation_recall(case: Case, answer: Answer, source_of: SourceOf) -> float:
    """The share of the quotes that the question needs (as many as it has gold ones) that citations cover."""
    covered = sum(
        any(
            stands_in(gold, source_of(citation.source_id)) and _meet(folded(gold.words), folded(citation.quote))
            for citation in answer.citations
        )
        for gold in case.quotes
    )
    return min(1.0, covered / len(case.gold))


def citation_precision(case: Case, answer: Answer, source_of: SourceOf) -> float:
    """The share of the citations that come from a file with a gold quote or an alternative; 0 where there are none."""
    right = [any(stands_in(gold, source_of(one.source_id)) for gold in case.quotes) for one in answer.citations]
    return sum(right) / len(right) if right else 0.0


def is_verbatim(citation: Citation, document: Document) -> bool:
    """Whether the citation's quote stands in the segments that its locator covers."""
    covered = [segment.text for segment in document.segments if _covers(citation, segment)]
    quote = folded(citation.quote)
    return bool(quote) and (any(quote in folded(text) for text in covered) or quote in folded("\n".join(covered)))


def _covers(citation: Citation, segment: Segment) -> bool:
    match citation.locator, segment.locator:
        case Time() as here, Time() as there:
            return here.start_ms <= there.end_ms and there.start_ms <= here.end_ms
        case Page() as here, Page() as there:
            return here.number == there.number
        case Mark() as here, Mark() as there:
            return here.line_start <= there.line_end and there.line_start <= here.line_end
        case _:
            return False


def _meet(left: str, right: str) -> bool:
    """One holds the other, or a run of half the shorter one: two cuts of the same sentences, not a shared phrase."""
    if left in right or right in left:
        return True
    run = SequenceMatcher(None, left, right, autojunk=False).find_longest_match()
    return run.size >= _COVERED * min(len(left), len(right))


def _plain(text: str) -> str:
    return _GROUPING.sub("", folded(text)).casefold()
