from __future__ import annotations

from pathlib import Path

import pytest

from index.embed import CROSS, DENSE
from index.fitted import keep, recall
from index.fusion import FusionWeights
from tests.fakes import FakeEmbedder

FITTED = FusionWeights(lexical=3.5, dense={DENSE: 1.5}, beside=0.1, guarded=True)


class Another(FakeEmbedder):
    fingerprint = "another/1"


def test_weights_come_back_for_the_embedders_they_were_fitted_for(tmp_path: Path) -> None:
    keep(FITTED, tmp_path, {DENSE: FakeEmbedder()})
    assert recall(tmp_path, {DENSE: FakeEmbedder()}) == FITTED
    assert recall(tmp_path, {DENSE: Another()}) is None
    assert recall(tmp_path, {DENSE: FakeEmbedder(), CROSS: Another()}) is None
    assert [path.name for path in tmp_path.iterdir()] == ["fusion.json"]


@pytest.mark.parametrize("told", ["", "{", "[]", "{}", '{"embedders": "x"}'])
def test_without_weights_or_with_broken_ones_there_are_none(tmp_path: Path, told: str) -> None:
    assert recall(tmp_path, {DENSE: FakeEmbedder()}) is None
    (tmp_path / "fusion.json").write_text(told, "utf-8")
    assert recall(tmp_path, {DENSE: FakeEmbedder()}) is None
