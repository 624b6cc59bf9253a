from __future__ import annotations

from pathlib import Path

import pytest

from api.models import Models
from api.service import Service
from eval.cases import Case, Gold
from index.search import default_weights
from kb.errors import BadRequest
from kb.settings import Settings
from kb.types import Query
from tests.ingest.pdf_writer import Sheet, text, write_pdf

ASKED = Case(
    id="size",
    question="Which flag sets the block size?",
    lang="en",
    kind="fact",
    gold=(Gold(file="paging.md", quote="The flag `--block-size` sets the block size."),),
)


def test_fitted_weights_are_kept_for_the_library_and_used_at_once(
    filled: Service, models: Models, settings: Settings
) -> None:
    assert models.weights == default_weights(models.embedders)
    fitted = filled.fit([ASKED]).weights
    assert (settings.home / "fusion.json").is_file()
    assert models.weights == fitted.weights
    assert filled.search(Query(text=ASKED.question))[0].source.title == "Paged attention"
    assert filled.fit([ASKED]).weights.before_unseen == fitted.unseen


def test_nothing_is_fitted_by_questions_without_answers(filled: Service, settings: Settings) -> None:
    with pytest.raises(BadRequest, match="gold quote"):
        filled.fit([ASKED.model_copy(update={"gold": ()})])
    assert not (settings.home / "fusion.json").exists()


def test_a_hit_in_a_deck_shows_its_page_and_others_show_none(filled: Service, tmp_path: Path) -> None:
    deck = write_pdf(tmp_path / "deck.pdf", [Sheet(text(72, 700, "Warmup of the scheduler graph"))])
    (change,) = filled.add([deck])
    shown = {hit.source.id: hit.thumbnail for hit in filled.search(Query(text="warmup scheduler block size"))}
    assert change.source_id is not None
    assert shown.pop(change.source_id) == f"/v1/sources/{change.source_id}/pages/1.webp"
    assert shown
    assert set(shown.values()) == {None}
