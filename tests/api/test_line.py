from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from api.line import fit_line, open_answerer, recall_line
from api.models import Models
from api.service import Service
from eval.cases import Case
from generate.answer import Answerer
from generate.refuse import packaged
from tests.api.test_fitting import case, cases
from tests.fakes import FakeEmbedder

ABSENT = "Zorblax Quuxify Frobnitz Wombatron Gribblo Snorfel Plimbus Dingleb Hooptia Vermix Torqua Blenzor".split()  # noqa: SIM905


class Another(FakeEmbedder):
    fingerprint = "another/1"


def asked(notes: Path, answerer: Answerer) -> list[Case]:
    """Lines of the notes that name something, and questions on things that no note speaks of."""
    nowhere = [case(f"n{at}", f"Who sells the {name} at {at} euros?") for at, name in enumerate(ABSENT)]
    found = [one.model_copy(update={"id": f"{one.id}-{copy}"}) for copy in range(8) for one in cases(notes)]
    found = [one for one in found if not answerer.strength(one.question).is_hopeless]
    return found + nowhere


def test_a_line_that_is_worth_more_is_kept_with_its_recipe_and_used(
    filled: Service, models: Models, notes: Path
) -> None:
    answerer = open_answerer(filled._finder.find, models)
    answerer.calibration = replace(packaged(), threshold=1.0)  # refuses everything
    line = fit_line(answerer, asked(notes, answerer), models)
    assert line is not None
    assert line.is_taken
    assert line.refused > line.false_refusal
    assert line.before_false_refusal == 1.0
    assert answerer.calibration == line.calibration == recall_line(models)
    assert open_answerer(filled._finder.find, models).calibration == line.calibration
    assert recall_line(replace(models, embedder=Another())) is None


def test_too_few_questions_leave_the_line(filled: Service, models: Models, notes: Path) -> None:
    assert fit_line(open_answerer(filled._finder.find, models), cases(notes)[:3], models) is None
    assert recall_line(models) is None


@pytest.mark.parametrize("content", ["{", "{}", '{"recipe": "x", "values": {}}'])
def test_a_broken_file_is_no_line(filled: Service, models: Models, content: str) -> None:
    (models.settings.home / "refusal.json").write_text(content, "utf-8")
    assert recall_line(models) is None
    assert open_answerer(filled._finder.find, models).calibration == packaged()
