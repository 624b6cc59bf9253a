"""A question to hits: every list in every language, fused, one hit for what is said twice, each with its best quote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from index.around import around
from index.embed import Embedder
from index.folding import Entry, fold
from index.fusion import PACKAGED, UNKNOWN, FusionWeights, Leg, fuse
from index.question import is_bare, prefer
from index.quote import best_quote
from index.rerank import Reranker, rerank
from index.store import Found, Request
from index.trust import trusted
from index.wording import Expander, Translate, Worded, Wording
from kb.errors import BadRequest
from kb.text import canonical
from kb.types import Chunk, Filters, Hit, Lang, Query, Rank

LONGEST_QUERY = 4000  # characters
RERANK_DEPTH = 30
_TWINS_WITHIN = 5  # times the limit: twins score alike, so they stand near each other
_BARE = 0.3  # what dense lists count for a question of nothing but identifiers
_LANGUAGES: Mapping[Lang, tuple[Lang, ...]] = {"zh": ("zh",), "en": ("en", "und")}


class Index(Protocol):
    """What is searched: a `Store`, or a `Library`, which knows the live revisions."""

    def search_batch(self, requests: Sequence[Request]) -> list[list[Found]]: ...

    def get(self, chunk_ids: Sequence[str]) -> list[Found]: ...


class Searcher:
    """Hybrid search over dense and lexical lists; safe to share between threads.

    Args:
        embedders: by the name of the dense list that each fills, as in the index's recipe.
        glossary: names of the question's terms in the other language; the house's own by default.
        translate: the whole question in the other language; without it, or where it has none, the glossary does.
        reranker: orders the best `rerank_depth` candidates anew; none by default.
        weights: what each list counts; by default what was fitted for these embedders.
    """

    def __init__(
        self,
        index: Index,
        embedders: Mapping[str, Embedder],
        *,
        glossary: Expander | None = None,
        translate: Translate | None = None,
        reranker: Reranker | None = None,
        rerank_depth: int = RERANK_DEPTH,
        weights: FusionWeights | None = None,
    ) -> None:
        self._index = index
        self.embedders = embedders
        self.weights = weights or default_weights(embedders)
        self._wording = Wording(embedders, glossary, translate)
        self._reranker = reranker
        self._rerank_depth = rerank_depth

    def search(self, query: Query) -> list[Hit]:
        """At most `query.limit` hits, best first.

        Raises:
            BadRequest: if the question is empty, has no letter or digit, or is too long.
        """
        worded, legs = self._ask(query)
        fused = fuse(legs, weigh(legs, self.weights, worded.text))
        if self._reranker is not None:
            fused = rerank(fused, worded.text, self._reranker, self._rerank_depth)
        ordered = prefer(fused, worded.text)
        entries = fold(ordered[: _TWINS_WITHIN * query.limit], worded.text, worded.lang, query.limit)
        wanted = worded.wanted(self.weights.translated, self.weights.alike)
        beside = self._beside(entries) if query.context else {}
        return [_hit(entry, wanted, query.context, beside) for entry in entries]

    def legs(self, query: Query) -> list[Leg]:
        """What each list finds in each language, before anything is weighed.

        Raises:
            BadRequest: as `search`.
        """
        return self._ask(query)[1]

    def _ask(self, query: Query) -> tuple[Worded, list[Leg]]:
        inside = dict(_by_language(query.filters))
        worded = self._wording.word(_checked(query.text), list(inside), translate=query.translate)
        depth = max(self.weights.depth, query.limit)
        requests = [
            Request(name, vector, filters, depth)
            for lang, filters in inside.items()
            for name, vector in worded.vectors(lang, self.weights.translated, self.weights.alike).items()
        ]
        found = self._index.search_batch(requests)
        legs = [Leg(request.list_name, hits, request.vector) for request, hits in zip(requests, found, strict=True)]
        return worded, legs

    def _beside(self, entries: Sequence[Entry]) -> dict[str, Chunk]:
        """The chunks before and after the entries' in their sources, by id."""
        chunks = [entry.shown.found.chunk for entry in entries]
        ids = {beside for one in chunks for beside in (one.previous_id, one.next_id) if beside}
        return {found.chunk.id: found.chunk for found in self._index.get(sorted(ids))} if ids else {}


def default_weights(embedders: Mapping[str, Embedder]) -> FusionWeights:
    """What was fitted for the packaged embedder; for any other, weights that lean on neither list."""
    packaged = any(embedder.fingerprint.startswith("multilingual-e5-small@") for embedder in embedders.values())
    return PACKAGED if packaged else UNKNOWN


def weigh(legs: Sequence[Leg], weights: FusionWeights, text: str) -> FusionWeights:
    """What the lists count for this question."""
    weights = trusted(legs, weights) if weights.guarded else weights
    if not is_bare(text):
        return weights
    # A question of nothing but identifiers means these very names: meaning only orders what has them.
    return replace(weights, dense={name: _BARE * weight for name, weight in weights.dense.items()})


def _by_language(filters: Filters) -> Iterator[tuple[Lang, Filters]]:
    """The filters, once for each language that they allow. What has none is asked in English."""
    for name, langs in _LANGUAGES.items():
        allowed = tuple(lang for lang in langs if not filters.langs or lang in filters.langs)
        if allowed:
            yield name, filters.model_copy(update={"langs": allowed})


def _checked(text: str) -> str:
    if len(text) > LONGEST_QUERY:
        raise BadRequest(
            f"the question has {len(text):,} characters; {LONGEST_QUERY:,} are the most",
            remedy="Ask in a few sentences",
        )
    text = canonical(text).strip()
    if not any(character.isalnum() for character in text):
        raise BadRequest("the question is empty: it has no letter and no digit", remedy="Ask in a word or a sentence")
    return text


def _hit(entry: Entry, wanted: Mapping[str, float], context: int, beside: Mapping[str, Chunk]) -> Hit:
    best = entry.shown
    chunk, source = best.found.chunk, best.found.source
    start, end = best_quote(chunk, wanted)
    locator = chunk.locate(start, end)
    previous, following = beside.get(chunk.previous_id or ""), beside.get(chunk.next_id or "")
    return Hit(
        chunk=chunk,
        source=source,
        score=best.score,
        ranks=tuple(Rank(list=name, rank=place, score=score) for name, place, score in best.places),
        quote=chunk.text[start:end],
        heard=chunk.heard(start, end),
        locator=locator,
        href=locator.href(source),
        twins=entry.twins,
        around=around(chunk, start, end, context, previous=previous, following=following) if context else None,
    )
