"""Weights that were fitted for the embedders of one library, kept beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import structlog

from index.embed import Embedder
from index.fusion import FusionWeights
from index.sparse import FINGERPRINT

log = structlog.get_logger(__name__)

_FILE = "fusion.json"


def fingerprint(embedders: Mapping[str, Embedder]) -> str:
    """Names every list that is fused: weights hold for these only."""
    lists = {name: embedder.fingerprint for name, embedder in embedders.items()} | {"lexical": FINGERPRINT}
    return " | ".join(f"{name}: {lists[name]}" for name in sorted(lists))


def keep(weights: FusionWeights, home: Path, embedders: Mapping[str, Embedder]) -> Path:
    """Write the weights into the library's folder; the file."""
    path = home / _FILE
    fresh = path.with_suffix(".new")
    told = {"embedders": fingerprint(embedders), "weights": asdict(weights)}
    fresh.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    fresh.replace(path)
    return path


def recall(home: Path, embedders: Mapping[str, Embedder]) -> FusionWeights | None:
    """The weights that were kept, or None: where none were, or they were fitted for other embedders."""
    path = home / _FILE
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if told["embedders"] != fingerprint(embedders):
            log.info("fusion.other_embedders", path=str(path))
            return None
        return FusionWeights(**told["weights"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("fusion.unreadable", path=str(path), error=str(error))
        return None
