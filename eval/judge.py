"""What one answer or result list is worth, decided from its text alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from urllib.parse import unquote

from eval.cases import Case, Gold
from kb.text import fold
from kb.types import Answer, Citation, Document, Hit, Mark, Page, Segment, Source, Time


@lru_cache(maxsize=65536)
def folded(text: str) -> str:
    return fold(text).text


def stands_in(gold: Gold, source: Source) -> bool:
    """Whether the gold's file is this source."""
    return unquote(source.uri).endswith("/" + gold.file)


def quotes_held(case: Case, hits: Sequence[Hit]) -> list[frozenset[int]]:
    """For each hit, the numbers (in `case.quotes`) of the quotes that stand in its chunk."""
    return [
        frozenset(
            number
            for number, gold in enumerate(case.quotes)
            if stands_in(gold, hit.source) and folded(gold.quote) in folded(hit.chunk.text)
        )
        for hit in hits
    ]


def key_strings(case: Case, answer: Answer) -> float:
    """The share of the case's key strings that the answer's text holds, case and width aside."""
    text = folded(answer.text).casefold()
    found = [any(folded(part).casefold() in text for part in entry.split("|")) for entry in case.must_include]
    return sum(found) / len(found) if found else 1.0


def cites_gold(case: Case, answer: Answer, source_of: Callable[[str], Source]) -> bool:
    """Whether a citation and a gold quote (or an alternative) of the same file overlap."""
    return any(
        stands_in(gold, source_of(citation.source_id)) and _overlap(folded(gold.quote), folded(citation.quote))
        for citation in answer.citations
        for gold in case.quotes
    )


def from_gold_file(case: Case, citation: Citation, source_of: Callable[[str], Source]) -> bool:
    return any(stands_in(gold, source_of(citation.source_id)) for gold in case.quotes)


def is_verbatim(citation: Citation, document: Document) -> bool:
    """Whether the citation's quote stands in the segments that its locator covers."""
    covered = [segment.text for segment in document.segments if _covers(citation, segment)]
    quote = folded(citation.quote)
    return any(quote in folded(text) for text in covered) or quote in folded("\n".join(covered))


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


def _overlap(left: str, right: str) -> bool:
    """One holds the other, or they share a run of 12 characters, so that two halves of a sentence still meet."""
    if left in right or right in left:
        return True
    return any(left[start : start + 12] in right for start in range(max(0, len(left) - 11)))
