"""Alignment: the share of segments on the right slide, on talks made by code with a known truth.

    python -m tests.bench.alignment [FIRST_SEED [TALKS]]

Each kind is made with the same seeds; nothing is tuned on seeds from 1000 on. `words` is what lays speech to slides
without an embedder, `words and meaning` what users get.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from api.models import open_models
from index.sparse import terms
from ingest.alignment.align import align
from ingest.alignment.similarity import Embed
from kb.settings import Settings
from tests.ingest.made_talks import PLANS, MadeTalk, make


class Remembered:
    """An embedder that embeds each text once."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._rows: dict[str, NDArray[np.float32]] = {}

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if new := [text for text in dict.fromkeys(texts) if text not in self._rows]:
            self._rows.update(zip(new, self._embed(new), strict=True))
        return np.stack([self._rows[text] for text in texts])


def laid(talk: MadeTalk, embed: Embed | None) -> list[int | None]:
    shown = {one.order: one.page for one in align(talk.transcript, [talk.deck], terms=terms, embed=embed)}
    return [shown.get(order) for order in range(len(talk.truth))]


def is_near(talk: MadeTalk, want: int | None, got: int | None) -> bool:
    """Whether a wrong slide is the one that was shown just before or just after."""
    return frozenset((want, got)) in {
        frozenset(page or None for page in pair) for pair in pairwise(p for _, p in talk.shown)
    }


def main() -> None:
    first, count = (int(given) for given in (sys.argv[1:] + ["1000", "16"][len(sys.argv) - 1 :])[:2])
    models = open_models(Settings())
    embedder = models.cross or models.embedder
    means: dict[str, Embed | None] = {"words": None, "words and meaning": Remembered(embedder.embed_passages)}
    totals = {name: np.zeros(3) for name in means}
    sys.stdout.write(f"| kind | {' | '.join(means)} | segments |\n|---|" + "--:|" * (len(means) + 1) + "\n")
    for kind, plan in PLANS.items():
        talks = [make(plan, seed) for seed in range(first, first + count)]
        cells = []
        for name, embed in means.items():
            pairs = [(talk, *pair) for talk in talks for pair in zip(talk.truth, laid(talk, embed), strict=True)]
            wrong = [pair for pair in pairs if pair[1] != pair[2]]
            far = sum(not is_near(*pair) for pair in wrong)
            totals[name] += len(pairs), len(wrong), far
            cells.append(f"{1 - len(wrong) / len(pairs):.1%} ({far} far)")
        sys.stdout.write(f"| {kind} | {' | '.join(cells)} | {len(pairs)} |\n")
        sys.stdout.flush()
    cells = [f"{1 - wrong / every:.1%} ({far:.0f} far)" for every, wrong, far in totals.values()]
    sys.stdout.write(f"| all | {' | '.join(cells)} | {totals['words'][0]:.0f} |\n")


if __name__ == "__main__":
    main()
