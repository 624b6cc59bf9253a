from __future__ import annotations

from pathlib import Path

import pytest

from api.models import Models
from api.service import Service
from eval.cases import Case, Gold
from index.fitted import recall_weights
from kb.errors import BadRequest
from kb.settings import Settings
from kb.types import Progress, Query


def case(name: str, question: str, *gold: Gold) -> Case:
    return Case(id=name, question=question, lang="en", kind="fact", gold=gold)


def cases(notes: Path) -> list[Case]:
    """One for each line of the notes that says something."""
    lines = [
        (path.name, line)
        for path in sorted(notes.iterdir())
        for line in path.read_text("utf-8").splitlines()
        if len(line) > 20
    ]
    return [case(f"c{at}", line, Gold(file=file, quote=line)) for at, (file, line) in enumerate(lines)]


def test_fitted_weights_are_kept_and_used_from_then_on(
    filled: Service, models: Models, notes: Path, settings: Settings
) -> None:
    stages: list[Progress] = []
    fitted, line = filled.fit(cases(notes), stages.append)
    assert recall_weights(settings.home, models.embedders) == fitted.weights == models.weights
    assert fitted.unseen > 0
    assert line is None  # every question has an answer
    assert {progress.stage for progress in stages} == {"asking", "fitting", "answering"}
    assert filled.search(Query(text="blocks"))


def test_questions_without_answers_fit_nothing(filled: Service, settings: Settings) -> None:
    with pytest.raises(BadRequest, match="no question"):
        filled.fit([case("c", "lunch?")])
    assert not (settings.home / "fusion.json").exists()
