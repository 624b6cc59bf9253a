"""With an embedder that nobody has fitted weights for, fusing never costs what the best single list finds."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from index.edge import EdgeStore
from index.embed import DENSE, normalised
from index.fusion import UNKNOWN, FusionWeights
from index.search import Searcher
from index.sparse import document_vector
from index.store import IndexRecipe, Point
from kb.types import Chunk, Lang, Query, Source
from tests.index.corpus import chunk, source

DIMENSION = 64
TOPICS, CHUNKS = 60, 8  # in each language
GROUPS = ("words", "paraphrase", "other language")
NOISE = {"strong": 1.2, "weak": 5.0, "random": None}
QUESTIONS = 60  # a group
CERTAIN = 1.96  # standard errors: what is less may be chance


@dataclass(frozen=True)
class Question:
    text: str
    group: str
    gold: str  # a chunk's id


@dataclass(frozen=True)
class Corpus:
    """Chunks of made-up words, each with a point in a space of meanings, as the questions have."""

    chunks: Sequence[tuple[Source, Chunk]]
    questions: Sequence[Question]
    meanings: Mapping[str, NDArray[np.float64]]


class NoSynonyms:
    def expand(self, text: str, to: Lang) -> list[str]:
        return []


class Knowing:
    """Embeds what a text means, with noise; with no meaning at all where `noise` is None."""

    dimension = DIMENSION
    max_tokens = 512

    def __init__(self, corpus: Corpus, noise: float | None) -> None:
        self.fingerprint = f"knowing/{noise}"
        self._corpus = corpus
        self._noise = noise

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed_query(self, text: str) -> NDArray[np.float32]:
        chance = np.random.default_rng(list(text.encode())).standard_normal(DIMENSION) / np.sqrt(DIMENSION)
        return normalised(chance if self._noise is None else self._corpus.meanings[text] + self._noise * chance)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.embed_query(text) for text in texts])


def made() -> Corpus:
    rng, space = random.Random(7), np.random.default_rng(7)
    chunks: list[tuple[Source, Chunk]] = []
    meanings: dict[str, NDArray[np.float64]] = {}
    own: dict[str, list[str]] = {}

    def words(count: int) -> list[str]:
        return ["".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(3)) for _ in range(count)]

    languages: tuple[Lang, ...] = ("en", "zh")
    common = {lang: words(60) for lang in languages}
    for topic in range(TOPICS * 2):
        lang = languages[topic % 2]
        of, vocabulary, place = source(f"{topic}.md", lang=lang), words(14), space.standard_normal(DIMENSION)
        made_here = []
        for order in range(CHUNKS):
            mine = rng.sample(vocabulary, 8)
            said = mine + rng.sample(common[lang], 14)
            rng.shuffle(said)
            made_here.append(chunk(of, " ".join(said), order, lang))
            own[made_here[-1].id] = mine
            meanings[made_here[-1].full_text] = 1.5 * place / np.linalg.norm(place) + normalised(
                space.standard_normal(DIMENSION)
            )
        for at, one in enumerate(made_here):
            before, after = made_here[at - 1 : at], made_here[at + 1 : at + 2]
            link = {"previous_id": before[0].id if before else None, "next_id": after[0].id if after else None}
            chunks.append((of, one.model_copy(update=link)))
    questions = []
    for number in range(QUESTIONS):
        for group in GROUPS:
            lang = "zh" if group == "other language" else "en"
            _, gold = rng.choice([pair for pair in chunks if pair[1].lang == lang])
            clue = rng.sample(own[gold.id], 4) if group == "words" else words(2)
            text = " ".join([*clue, *rng.sample(common["en"], 3), f"q{number}{group[0]}"])
            questions.append(Question(text, group, gold.id))
            meanings[text] = meanings[gold.full_text]
    return Corpus(chunks, questions, meanings)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return made()


@pytest.fixture(params=list(NOISE))
def asked(request: pytest.FixtureRequest, corpus: Corpus, tmp_path: Path) -> Iterator[tuple[EdgeStore, Knowing]]:
    embedder = Knowing(corpus, NOISE[request.param])
    store = EdgeStore(tmp_path)
    store.ensure(IndexRecipe("made/1", {DENSE: DIMENSION}))
    vectors = embedder.embed_passages([one.full_text for _, one in corpus.chunks])
    store.upsert(
        [
            Point(one, of, "r1", {DENSE: vector}, document_vector(one))
            for (of, one), vector in zip(corpus.chunks, vectors, strict=True)
        ]
    )
    yield store, embedder
    store.close()


def worth(
    corpus: Corpus, store: EdgeStore, embedder: Knowing, weights: FusionWeights
) -> dict[str, NDArray[np.float64]]:
    """By group, for each question the mean of recall@1, recall@10 and the reciprocal rank."""
    searcher = Searcher(store, {DENSE: embedder}, glossary=NoSynonyms(), weights=weights)
    values: dict[str, list[float]] = {group: [] for group in GROUPS}
    for question in corpus.questions:
        found = [hit.chunk.id for hit in searcher.search(Query(text=question.text, limit=10))]
        rank = found.index(question.gold) + 1 if question.gold in found else 0
        values[question.group].append(((rank == 1) + (rank > 0) + (1 / rank if rank else 0)) / 3)
    return {group: np.array(each) for group, each in values.items()}


def loss(fused: NDArray[np.float64], alone: NDArray[np.float64]) -> float:
    """What the fused list certainly loses against a single one on the same questions; below 0, nothing."""
    lost = alone - fused
    return float(lost.mean() - CERTAIN * lost.std(ddof=1) / np.sqrt(len(lost)))


def test_the_fused_list_is_as_good_as_its_best_single_list(corpus: Corpus, asked: tuple[EdgeStore, Knowing]) -> None:
    fused = worth(corpus, *asked, UNKNOWN)
    singles = [
        worth(corpus, *asked, FusionWeights(lexical=lexical, dense={DENSE: 1.0 - lexical}, beside=0.0))
        for lexical in (1.0, 0.0)
    ]
    best = {group: max((single[group] for single in singles), key=np.mean) for group in GROUPS}
    assert [group for group in GROUPS if loss(fused[group], best[group]) > 0] == []
