"""What no two files of a batch may share: a name in two Unicode forms, or a talk's title in two folders."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from pathlib import Path

from index.catalog import Catalog
from ingest.talk import check_alone, folder_of
from kb.errors import UnreadableSource
from kb.files import path_of
from kb.types import Talk


class Claims:
    """`met` are the files that were seen, by the ids of their sources."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.met: dict[str, Path] = {}

    def meet(self, source_id: str, path: Path) -> None:
        """
        Raises:
            UnreadableSource: if another file was met as this source.
        """
        known = self.met.setdefault(source_id, path.absolute())
        if known != path.absolute():
            same = f"{known.name} has the same name, in another Unicode form"
            raise UnreadableSource(same, remedy="Rename one of the two")

    def forget(self, path: Path) -> None:
        """The file has gone: it was not met."""
        self.met = {known: place for known, place in self.met.items() if place != path.absolute()}

    def claim(self, talk: Talk | None, path: Path) -> None:
        """
        Raises:
            UnreadableSource: if another folder has a talk of this title.
        """
        folder = folder_of(path)
        if talk is not None and folder is not None:
            check_alone(talk, folder, self._talk_folders[talk.id])
            self._talk_folders[talk.id].add(folder)

    @cached_property
    def _talk_folders(self) -> defaultdict[str, set[Path]]:
        """The folders of each talk, by its id: of those in the library and of those met."""
        folders: defaultdict[str, set[Path]] = defaultdict(set)
        for source in (entry.source for entry in self._catalog.entries()):
            if source.talk and (folder := folder_of(path_of(source.uri))):
                folders[source.talk].add(folder)
        return folders
