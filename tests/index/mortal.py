"""A library that is killed (SIGKILL) at a chosen moment, in a process of its own."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from index.catalog import Catalog
from index.edge import EdgeStore
from index.library import Library, Vectors
from index.store import IndexRecipe
from kb.types import Chunk, Document
from tests.index import corpus

OLD = "\n".join(f"old line {n} of the block pool" for n in range(130))
NEW = "\n".join(f"new line {n} of the block pool" for n in range(70))
REBUILT = IndexRecipe("fake/2", corpus.RECIPE.dense)


class Clock:
    """Counts moments, and dies at one of them; 0 lives on."""

    def __init__(self, die_at: int, report: Path) -> None:
        self.now = 0
        self._die_at = die_at
        self._report = report

    def tick(self) -> None:
        self.now += 1
        self._report.write_text(str(self.now))
        if self.now == self._die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def before(self, action: Callable[..., Any]) -> Callable[..., Any]:
        def mortal(*args: Any, **kwargs: Any) -> Any:
            self.tick()
            return action(*args, **kwargs)

        return mortal


class MortalStore(EdgeStore):
    def __init__(self, folder: Path, clock: Clock) -> None:
        super().__init__(folder)
        self.upsert = clock.before(super().upsert)  # type: ignore[method-assign]
        self.delete = clock.before(super().delete)  # type: ignore[method-assign]


class MortalCatalog(Catalog):
    clock: Clock

    def publish(self, document: Document, **facts: Any) -> None:
        self.clock.before(super().publish)(document, **facts)


def open_library(home: Path, recipe: IndexRecipe = corpus.RECIPE) -> Library:
    return Library(home, EdgeStore(home / "index"), Catalog.in_folder(home), recipe)


def put(library: Library, text: str, embed: Callable[[Sequence[Chunk]], list[Vectors]] = corpus.embed) -> None:
    """Add `text` as one source, with a page image that says the same."""
    document = corpus.document(text)
    pages = library.begin(document.source)
    (pages / "0001.webp").write_text(text)
    library.replace(document, corpus.split(document), embed, recipe="lines/1")


def update_and_die(home: Path, die_at: int, report: Path) -> None:
    clock = Clock(die_at, report)
    catalog = MortalCatalog.in_folder(home)
    assert isinstance(catalog, MortalCatalog)
    catalog.clock = clock
    with Library(home, MortalStore(home / "index", clock), catalog, corpus.RECIPE) as library:
        Path.replace = clock.before(Path.replace)  # type: ignore[method-assign]
        shutil.rmtree = clock.before(shutil.rmtree)  # type: ignore[assignment]
        put(library, NEW, clock.before(corpus.embed))
        clock.tick()


def rebuild_and_die(home: Path, die_at: int, report: Path) -> None:
    clock = Clock(die_at, report)
    library = open_library(home, REBUILT)
    Path.replace = clock.before(Path.replace)  # type: ignore[method-assign]
    shutil.rmtree = clock.before(shutil.rmtree)  # type: ignore[assignment]
    library.rebuild(corpus.split, clock.before(corpus.embed))
    clock.tick()
    library.close()
