"""From ranks of point ids, as an engine gives them, to found chunks in an order that every engine shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from index.store import Found, Request

PointId = int | str | UUID  # whatever names a point to the engine
_DECIMALS = 5  # what single precision keeps of a lexical score
_SPARE = 8  # how far a tie goes on in most cases: copies of a page
_REMEMBERED = 4096  # chunks, some 10 KB each
_ATTEMPTS = 5


class Ranked(NamedTuple):
    """A hit as an engine gives it, without what the point holds."""

    score: float
    point_id: PointId


class Ranking:
    """Searches an engine for ids, and reads what the points hold only where no search before it has.

    Args:
        rank: the ids of each request, best first.
        read: what points hold, by id; removed ones left out.
    """

    def __init__(
        self,
        rank: Callable[[Sequence[Request]], list[list[Ranked]]],
        read: Callable[[Sequence[PointId]], Mapping[PointId, Found]],
    ) -> None:
        self._rank = rank
        self._read = read
        self._known: dict[PointId, Found] = {}

    def search_batch(self, requests: Sequence[Request]) -> list[list[Found]]:
        """As `Store.search_batch`."""
        for _ in range(_ATTEMPTS):
            if len(self._known) >= _REMEMBERED:
                self.forget()
            known = self._known
            lists = self._complete(requests)
            unread = {hit.point_id for hits in lists for hit in hits} - known.keys()
            known.update(self._read(list(unread)) if unread else {})
            if unread <= known.keys():
                break  # else points were removed between ranking and reading, and their successors are there by now
        return [_ordered(hits, known, request.limit) for hits, request in zip(lists, requests, strict=True)]

    def forget(self) -> None:
        """Points were written. A search under way keeps what it read to itself: it may be what was there before."""
        self._known = {}

    def _complete(self, requests: Sequence[Request]) -> list[list[Ranked]]:
        """The best `limit` of each list, and all that ties with the last of them.

        Engines differ in the last bits of a score and order ties as they like, also across the limit.
        """
        asked = [request._replace(limit=request.limit + _SPARE) for request in requests]
        lists = self._rank(asked)
        while cut := [at for at, hits in enumerate(lists) if _cut(hits, requests[at].limit, asked[at].limit)]:
            for at in cut:
                asked[at] = asked[at]._replace(limit=4 * asked[at].limit)
            for at, hits in zip(cut, self._rank([asked[at] for at in cut]), strict=True):
                lists[at] = hits
        return [_wanted(hits, request.limit) for hits, request in zip(lists, requests, strict=True)]


def _tied(hits: Sequence[Ranked], limit: int, at: int) -> bool:
    return round(hits[limit - 1].score - hits[at].score, _DECIMALS) <= 0


def _cut(hits: Sequence[Ranked], limit: int, asked: int) -> bool:
    """Whether a tie at the limit may go on beyond what was asked for."""
    return len(hits) == asked and _tied(hits, limit, -1)


def _wanted(hits: list[Ranked], limit: int) -> list[Ranked]:
    end = limit
    while end < len(hits) and _tied(hits, limit, end):
        end += 1
    return hits[:end]


def _ordered(hits: Sequence[Ranked], known: Mapping[PointId, Found], limit: int) -> list[Found]:
    """The best `limit`, scores rounded to 5 decimals, ties by chunk id and revision."""
    rounded = [(round(score, _DECIMALS), known[point_id]) for score, point_id in hits if point_id in known]
    rounded.sort(key=lambda hit: (-hit[0], hit[1].chunk.id, hit[1].revision))
    return [Found(found.chunk, found.source, found.revision, score) for score, found in rounded[:limit]]
