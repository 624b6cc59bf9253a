from __future__ import annotations

from pathlib import Path

import pytest

from index.embed import CROSS, DENSE
from index.fitted import keep, keep_weights, recall, recall_weights
from index.fusion import FusionWeights
from tests.fakes import FakeEmbedder

FITTED = FusionWeights(lexical=3.5, dense={DENSE: 1.5}, beside=0.1, guarded=True)


class Another(FakeEmbedder):
    fingerprint = "another/1"


def test_weights_come_back_for_the_embedders_they_were_fitted_for(tmp_path: Path) -> None:
    keep_weights(FITTED, tmp_path, {DENSE: FakeEmbedder()})
    assert recall_weights(tmp_path, {DENSE: FakeEmbedder()}) == FITTED
    assert recall_weights(tmp_path, {DENSE: Another()}) is None
    assert recall_weights(tmp_path, {DENSE: FakeEmbedder(), CROSS: Another()}) is None
    assert [path.name for path in tmp_path.iterdir()] == ["fusion.json"]


@pytest.mark.parametrize("told", ["", "{", "[]", "{}", '{"recipe": "x"}'])
def test_without_weights_or_with_broken_ones_there_are_none(tmp_path: Path, told: str) -> None:
    assert recall_weights(tmp_path, {DENSE: FakeEmbedder()}) is None
    (tmp_path / "fusion.json").write_text(told, "utf-8")
    assert recall_weights(tmp_path, {DENSE: FakeEmbedder()}) is None


def test_values_hold_for_their_recipe_only(tmp_path: Path) -> None:
    keep("refusal", {"bias": 1.5}, tmp_path, "one")
    assert recall("refusal", tmp_path, "one") == {"bias": 1.5}
    assert recall("refusal", tmp_path, "two") is None
    assert recall("fusion", tmp_path, "one") is None
    assert recall_weights(tmp_path, {DENSE: FakeEmbedder()}) is None
