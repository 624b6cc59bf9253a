"""The folder of the embedded engine: who owns it, and which of the indexes in it is served."""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from index import points as p
from index import recipe as recipes
from index.store import IndexRecipe
from kb.errors import IndexMismatch, LibraryBusy, StorageFailed
from kb.files import write_whole

if TYPE_CHECKING:
    import qdrant_edge as q

# Removed points count in the inverse document frequency until `optimize` sweeps them out; at this share it does, so
# that scores stay within 2 % of those of an index built anew.
_DELETED = 0.02
# The engine maps its files. A write to a page for which the disk has no block ends the process without a word.
_ROOM_MB = 64


class EdgeFolder:
    """`owner.lock`, `CURRENT` (the name of the index that is served) and `<name>/` with `recipe.json` and `shard/`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path / "owner.lock", timeout=0, thread_local=False)

    def own(self) -> None:
        """Keep other processes out until `release`.

        Raises:
            LibraryBusy: if another process owns the folder.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire()
        except Timeout:
            raise LibraryBusy(
                "another process has this library open",
                where=str(self.path.parent),
                remedy="Wait until it ends; while `kb serve` runs, commands on the same library go through it",
            ) from None

    def release(self) -> None:
        self._lock.release(force=True)

    def current(self) -> Path | None:
        """The folder of the index that is served; None where there is none yet."""
        try:
            index = self.path / (self.path / "CURRENT").read_text("utf-8")
        except FileNotFoundError:
            return None
        return index if index.is_dir() else None

    def create(self, recipe: IndexRecipe) -> Path:
        """The folder of a new, empty index, which is not served yet."""
        import qdrant_edge as q

        check_room(self.path)
        index = self.path / uuid.uuid4().hex[:8]
        index.mkdir()
        (index / "recipe.json").write_text(json.dumps(recipes.to_json(recipe), indent=1), "utf-8")
        config = q.EdgeConfig(
            vectors={
                name: q.EdgeVectorParams(size=size, distance=q.Distance.Cosine) for name, size in recipe.dense.items()
            },
            sparse_vectors={p.LEXICAL: q.EdgeSparseVectorParams(modifier=q.Modifier.Idf)},
            optimizers=q.EdgeOptimizersConfig(deleted_threshold=_DELETED, vacuum_min_vector_number=1),
        )
        shard = q.EdgeShard.create(str(index / "shard"), config)
        schemas = {"keyword": q.PayloadSchemaType.Keyword, "integer": q.PayloadSchemaType.Integer}
        for field, schema in p.PAYLOAD_INDEXES.items():
            shard.update(q.UpdateOperation.create_field_index(field, schemas[schema]))
        shard.flush()
        shard.close()
        return index

    def serve(self, index: Path) -> None:
        """Switch to the index, in one step."""
        write_whole(self.path / "CURRENT", index.name)

    def remove_others(self, index: Path) -> None:
        """Remove the indexes that are not served any more."""
        for other in self.path.iterdir():
            if other.is_dir() and other != index:
                shutil.rmtree(other, ignore_errors=True)  # what is still in use goes at the next opening


def check_room(folder: Path) -> None:
    """
    Raises:
        StorageFailed: if the disk is nearly full. What is in the index stays as it is.
    """
    free = shutil.disk_usage(folder).free >> 20
    if free < _ROOM_MB:
        raise StorageFailed(
            f"too little room on the disk: {free} MiB, and the index needs {_ROOM_MB} MiB to write safely",
            where=str(folder),
            remedy="Make room and run the command again; what was finished is kept",
        )


def stored_recipe(index: Path) -> IndexRecipe | None:
    try:
        return recipes.from_json(json.loads((index / "recipe.json").read_text("utf-8")))
    except (FileNotFoundError, ValueError):
        return None


def load(index: Path) -> q.EdgeShard:
    """Raises: IndexMismatch, if the engine cannot read what is there."""
    import qdrant_edge as q

    try:
        return q.EdgeShard.load(str(index / "shard"))
    except Exception as error:  # the engine raises no other type
        raise IndexMismatch(
            f"the index cannot be read ({error})", where=str(index), remedy="Build it anew with `kb rebuild`"
        ) from error
