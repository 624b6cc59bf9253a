"""The canonical artefacts of each source: its document, and the images of its pages or its scenes, by revision."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from kb.errors import UnreadableSource
from kb.files import write_whole
from kb.types import Document

_NEW = "new"


class Artefacts:
    """The folder `sources/`: `<id>/<revision>/document.json` and `<id>/<revision>/pages/{0001.webp,scenes.npz}`.

    What is being made lies in `<id>/new/`. A revision is named by its content, so writing it twice changes nothing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prepare(self, source_id: str) -> Path:
        """An empty folder for the page images of the version that is being made."""
        pages = self._of(source_id) / _NEW / "pages"
        shutil.rmtree(pages, ignore_errors=True)
        pages.mkdir(parents=True)
        return pages

    def carry(self, source_id: str, revision: str) -> None:
        """What was drawn for a revision is taken over into the version that is being made."""
        old, new = self._of(source_id) / revision / "pages", self.prepare(source_id)
        if old.is_dir():
            shutil.copytree(old, new, dirs_exist_ok=True)

    def write(self, document: Document, revision: str) -> None:
        """Move the new page images to their revision and write the document beside them."""
        new, target = self._of(document.source.id) / _NEW, self._of(document.source.id) / revision
        target.mkdir(parents=True, exist_ok=True)
        for picture in (new / "pages").glob("*"):
            (target / "pages").mkdir(exist_ok=True)
            picture.replace(target / "pages" / picture.name)
        write_whole(target / "document.json", document.model_dump_json(indent=1))

    def read(self, source_id: str, revision: str) -> Document:
        """Raises: UnreadableSource."""
        path = self._of(source_id) / revision / "document.json"
        try:
            document = Document.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            reason = f"{error.error_count()} errors" if isinstance(error, ValidationError) else error.strerror
            raise UnreadableSource(
                f"the stored document is damaged ({reason})",
                where=str(path),
                remedy="Remove the source with `kb rm` and add the original again",
            ) from error
        return document

    def picture(self, source_id: str, revision: str, name: str) -> Path | None:
        path = self._of(source_id) / revision / "pages" / name
        return path if path.is_file() else None

    def keep(self, source_id: str, revision: str | None) -> None:
        """Remove the folders of all revisions but one; what is being made stays."""
        of = self._of(source_id)
        for folder in of.iterdir() if of.is_dir() else ():
            if folder.name not in (revision, _NEW):
                shutil.rmtree(folder)

    def discard(self, source_id: str) -> None:
        """Remove what is being made, and the folder of the source if nothing is left in it."""
        of = self._of(source_id)
        shutil.rmtree(of / _NEW, ignore_errors=True)
        if of.is_dir() and not any(of.iterdir()):
            of.rmdir()

    def sources(self) -> Iterator[str]:
        """Ids of the sources that have a folder."""
        if self._folder.is_dir():
            yield from sorted(entry.name for entry in self._folder.iterdir() if entry.is_dir())

    def _of(self, source_id: str) -> Path:
        if not source_id or Path(source_id).name != source_id:
            raise ValueError(f"{source_id!r} is no source id")
        return self._folder / source_id
