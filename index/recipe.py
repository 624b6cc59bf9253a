"""The recipe of an index as it is stored beside the points, and how two recipes differ."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from index.store import IndexRecipe
from kb.errors import IndexMismatch


def to_json(recipe: IndexRecipe) -> dict[str, Any]:
    return {"fingerprint": recipe.fingerprint, "dense": dict(recipe.dense)}


def from_json(stored: object) -> IndexRecipe | None:
    """None if `stored` is no recipe."""
    match stored:
        case {"fingerprint": str(fingerprint), "dense": dict(dense)}:
            return IndexRecipe(fingerprint, {str(name): int(size) for name, size in dense.items()})
    return None


def mismatch(stored: IndexRecipe | None, wanted: IndexRecipe, where: str) -> IndexMismatch:
    """The error for an index whose recipe is `stored`; None where it carries none that can be read."""
    if stored is None:
        what = "the index carries no recipe that can be read"
    else:
        built, asked = _parts(stored), _parts(wanted)
        names = [name for name in built | asked if built.get(name) != asked.get(name)]
        what = f"the index was built with {_told(built, names)}, the settings ask for {_told(asked, names)}"
    return IndexMismatch(
        what,
        where=where,
        remedy="Build it anew with `kb rebuild` (the originals are not read again), or go back to the old settings",
    )


def _parts(recipe: IndexRecipe) -> dict[str, str]:
    """The parts of a recipe by name: `name: value` from its fingerprint, a list's dimension with the list."""
    parts: dict[str, list[str]] = defaultdict(list)
    for part in recipe.fingerprint.split(" | "):
        name, named, value = part.partition(": ")
        parts[name if named else "recipe"].append(value if named else part)
    for name, dimension in recipe.dense.items():
        parts[name].append(f"of {dimension} numbers")
    return {name: " ".join(values) for name, values in parts.items()}


def _told(parts: dict[str, str], names: list[str]) -> str:
    return " and ".join(f"{name}: {parts[name]}" if name in parts else f"no {name}" for name in names)
