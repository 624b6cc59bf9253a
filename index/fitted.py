"""What was fitted for the lists of one library, kept beside it: it holds for these lists only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import structlog

from index.embed import Embedder
from index.fusion import FusionWeights
from index.sparse import FINGERPRINT
from kb.files import write_whole

log = structlog.get_logger(__name__)

_WEIGHTS = "fusion"


def fingerprint(embedders: Mapping[str, Embedder]) -> str:
    """Names every list that is fused: weights hold for these only."""
    lists = {name: embedder.fingerprint for name, embedder in embedders.items()} | {"lexical": FINGERPRINT}
    return " | ".join(f"{name}: {lists[name]}" for name in sorted(lists))


def keep(name: str, values: Mapping[str, object], home: Path, recipe: str) -> Path:
    """Write `values`, which hold for `recipe`, into the library's folder as `name`.json; the file."""
    path = home / f"{name}.json"
    write_whole(path, json.dumps({"recipe": recipe, "values": values}, indent=1) + "\n")
    return path


def recall(name: str, home: Path, recipe: str) -> Mapping[str, object] | None:
    """The values that were kept as `name`, or None: where none were, or they hold for another recipe."""
    path = home / f"{name}.json"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if told["recipe"] != recipe:
            log.info("fitted.other_recipe", path=str(path))
            return None
        return dict(told["values"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("fitted.unreadable", path=str(path), error=str(error))
        return None


def keep_weights(weights: FusionWeights, home: Path, embedders: Mapping[str, Embedder]) -> Path:
    """Write the weights of the lists into the library's folder; the file."""
    return keep(_WEIGHTS, asdict(weights), home, fingerprint(embedders))


def recall_weights(home: Path, embedders: Mapping[str, Embedder]) -> FusionWeights | None:
    """The weights that were kept, or None: where none were, or they were fitted for other embedders."""
    values = recall(_WEIGHTS, home, fingerprint(embedders))
    try:
        return FusionWeights(**values) if values is not None else None  # type: ignore[arg-type]  # checked by name
    except TypeError as error:
        log.warning("fitted.unreadable", path=str(home / f"{_WEIGHTS}.json"), error=str(error))
        return None
