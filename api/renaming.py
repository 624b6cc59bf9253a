"""A source under another name: nothing is read, heard or embedded again."""

from __future__ import annotations

import shutil
from pathlib import Path

from index.library import Embed, Library, Split
from ingest.describe import renamed
from ingest.identity import SourceKey
from ingest.parsed import SCENES
from kb.files import path_of
from kb.types import Document, SourceEntry


def rename(
    old: SourceEntry, path: Path, key: SourceKey, recipe: str, *, library: Library, split: Split, embed: Embed
) -> tuple[Document, int]:
    """The source of a file that has the bytes of `old`, read by the same recipe; in its place.

    Returns:
        The document under its new name, and how many chunks it has.
    """
    before = library.document(old.source.id)
    document = renamed(before, path_of(old.source.uri), path, key)
    pages = library.begin(document.source)
    for number in range(1, before.pages + 1):
        if image := library.page_image(old.source.id, number):
            shutil.copyfile(image, pages / image.name)
    if scenes := library.picture(old.source.id, SCENES):
        shutil.copyfile(scenes, pages / scenes.name)
    # The name may be the title, which stands above every chunk: the old one, so that no vector is made anew.
    same_title = document.source.model_copy(update={"title": before.source.title})
    chunks = split(document.model_copy(update={"source": same_title}))
    library.catalog.hand_on(old.source.id, key.id)  # first: who finds the new name known asks for no more
    library.replace(document, chunks, embed, recipe=recipe)
    library.remove(old.source.id)
    return document, len(chunks)
