"""A question to hits: every list in every language, fused, one hit for what is said twice, each with its best quote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np

from index.embed import Embedder, normalised
from index.folding import Entry, fold
from index.fusion import PACKAGED, UNKNOWN, FusionWeights, Leg, fuse
from index.points import LEXICAL
from index.question import is_bare, prefer, without_identifiers
from index.quote import best_quote
from index.sparse import query_vector, terms
from index.store import Dense, Found, Request, Sparse
from index.trust import trusted
from kb.errors import BadRequest, LimitExceeded
from kb.text import canonical, detect_lang, sentences
from kb.types import Chunk, Filters, Hit, Lang, Query, Rank

LONGEST_QUERY = 4000  # characters
_TWINS_WITHIN = 5  # times the limit: twins score alike, so they stand near each other
_BARE = 0.3  # what dense lists count for a question of nothing but identifiers
_LANGUAGES: tuple[tuple[Lang, ...], ...] = (("zh",), ("en", "und"))


class Index(Protocol):
    """What is searched: a `Store`, or a `Library`, which knows the live revisions."""

    def search_batch(self, requests: Sequence[Request]) -> list[list[Found]]: ...

    def get(self, chunk_ids: Sequence[str]) -> list[Found]: ...


class Expander(Protocol):
    """`kb.glossary.Glossary`, as far as searching needs it."""

    def expand(self, text: str, to: Lang) -> list[str]: ...


class Searcher:
    """Hybrid search over dense and lexical lists; safe to share between threads.

    Args:
        embedders: by the name of the dense list that each fills, as in the index's recipe.
        glossary: names of the question's terms in the other language; the house's own by default.
        weights: what each list counts; by default what was fitted for these embedders.
        live: a source's live revision, where `index` itself serves others, too; None for one that does not.
    """

    def __init__(
        self,
        index: Index,
        embedders: Mapping[str, Embedder],
        *,
        glossary: Expander | None = None,
        weights: FusionWeights | None = None,
        live: Callable[[str], str | None] | None = None,
    ) -> None:
        self._index = index
        self.embedders = embedders
        self.weights = weights or default_weights(embedders)
        self._given_glossary = glossary
        self._live = live

    def search(self, query: Query) -> list[Hit]:
        """At most `query.limit` hits, best first.

        Raises:
            BadRequest: if the question is empty, has no letter or digit, or is too long.
        """
        text = _checked(query.text)
        added = self._added(text)
        legs = self._ask(text, added, query)
        fused = prefer(fuse(legs, weigh(legs, self.weights, text)), text)
        entries = fold(fused[: _TWINS_WITHIN * query.limit], text, detect_lang(text), query.limit)
        wanted = self._wanted(text, added)
        return [_hit(entry, wanted) for entry in entries]

    def legs(self, query: Query) -> list[Leg]:
        """What each list finds in each language, before anything is weighed.

        Raises:
            BadRequest: as `search`.
        """
        text = _checked(query.text)
        return self._ask(text, self._added(text), query)

    def neighbours(self, hit: Hit) -> list[Chunk]:
        """The chunks before and after a hit in its source, in that order, where there are any."""
        ids = [chunk_id for chunk_id in (hit.chunk.previous_id, hit.chunk.next_id) if chunk_id]
        return [found.chunk for found in self._served(self._index.get(ids))] if ids else []

    def _ask(self, text: str, added: Mapping[Lang, Sequence[str]], query: Query) -> list[Leg]:
        vectors = {name: _embedded(embedder, text) for name, embedder in self.embedders.items()}
        depth = max(self.weights.depth, query.limit)
        requests = [
            Request(name, vector, inside, depth)
            for inside in _by_language(query.filters)
            for name, vector in (self._lexical(text, added[inside.langs[0]]) | vectors).items()
        ]
        found = self._index.search_batch(requests)
        return [
            Leg(request.list_name, self._served(hits), request.vector)
            for request, hits in zip(requests, found, strict=True)
        ]

    def _lexical(self, text: str, added: Sequence[str]) -> dict[str, Dense | Sparse]:
        vector = query_vector(text, added, added_weight=self.weights.translated)
        return {LEXICAL: vector} if vector.indices else {}

    def _served(self, found: Sequence[Found]) -> list[Found]:
        return [one for one in found if self._live is None or self._live(one.source.id) == one.revision]

    def _added(self, text: str) -> dict[Lang, list[str]]:
        """Names to add in each language that the question is not in; words inside identifiers are not translated."""
        spoken, plain = detect_lang(text), without_identifiers(text)
        zh, en = ([] if lang == spoken else self._glossary.expand(plain, lang) for lang in ("zh", "en"))
        return {"zh": zh, "en": en, "und": en}

    def _wanted(self, text: str, added: Mapping[Lang, Sequence[str]]) -> dict[str, float]:
        """Terms that a quote should hold: the question's own, and the glossary's for quotes in the other language."""
        others = (term for name in dict.fromkeys((*added["zh"], *added["en"])) for term in terms(name))
        return dict.fromkeys(others, self.weights.translated) | dict.fromkeys(terms(text), 1.0)

    @cached_property
    def _glossary(self) -> Expander:
        from kb.glossary import load_glossary

        return self._given_glossary or load_glossary()


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


def _by_language(filters: Filters) -> Iterator[Filters]:
    """The filters, once for each language that they allow."""
    for langs in _LANGUAGES:
        allowed = tuple(lang for lang in langs if not filters.langs or lang in filters.langs)
        if allowed:
            yield filters.model_copy(update={"langs": allowed})


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


def _embedded(embedder: Embedder, text: str) -> Dense:
    """A question that is longer than the model reads is embedded in halves, cut between sentences, and averaged."""
    try:
        return embedder.embed_query(text)
    except LimitExceeded:
        ends = [end for _, end in sentences(text)][:-1]
        middle = min(ends, key=lambda end: abs(end - len(text) / 2), default=len(text) // 2)
        halves = (half for half in (text[:middle].strip(), text[middle:].strip()) if half)
        return normalised(np.mean([_embedded(embedder, half) for half in halves], axis=0))


def _hit(entry: Entry, wanted: Mapping[str, float]) -> Hit:
    best = entry.shown
    chunk, source = best.found.chunk, best.found.source
    start, end = best_quote(chunk, wanted)
    locator = chunk.locate(start, end)
    return Hit(
        chunk=chunk,
        source=source,
        score=best.score,
        ranks=tuple(Rank(list=name, rank=place, score=score) for name, place, score in best.places),
        quote=chunk.text[start:end],
        locator=locator,
        href=locator.href(source),
        twins=entry.twins,
    )
