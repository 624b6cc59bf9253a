"""Headers and footers: lines that stand at the same place on page after page. The first page keeps them.

They are never larger than most of the page's text: a large one is a title that comes again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from ingest.pages.lines import Line
from kb.text import fold
from kb.types import Dropped, Role

_LEAST_PAGES = 3
_SHARE = 0.5  # of the pages
_STEP = 0.02  # of the height of the texts: as far apart two lines stand at one place
_MARGIN = 0.15  # of the height of the texts, at the top and at the bottom


def without_furniture(pages: Sequence[tuple[str, list[Line]]]) -> Iterator[Dropped]:
    """Take the lines that are repeated out of all pages but the first, in place; what was taken.

    Args:
        pages: where each page is, and its lines.
    """
    reach = (
        [line.box.top for _, lines in pages for line in lines],
        [line.box.bottom for _, lines in pages for line in lines],
    )
    if not reach[0]:
        return
    top, bottom = min(reach[0]), max(reach[1])
    height = bottom - top or 1.0
    places: defaultdict[tuple[str, int], list[tuple[int, Line]]] = defaultdict(list)
    for number, (_, lines) in enumerate(pages):
        usual = median(line.size for line in lines) if lines else 0.0
        for line in lines:
            outer = min(line.box.top - top, bottom - line.box.bottom) < _MARGIN * height
            if outer and line.role is Role.BODY and line.size <= usual and len(lines) > 1:
                places[fold(line.text).text, round(line.box.top / height / _STEP)].append((number, line))
    for found in places.values():
        numbers = sorted({number for number, _ in found})
        if len(numbers) < max(_LEAST_PAGES, _SHARE * len(pages)):
            continue
        for number, line in found:
            if number != numbers[0]:
                pages[number][1].remove(line)
        where = f"{pages[numbers[1]][0]} to {pages[numbers[-1]][0]}"
        reason = f"{found[0][1].text[:80]!r} stands at the same place on {len(numbers)} pages; the first keeps it"
        yield Dropped(what="repeated line", where=where, reason=reason)
