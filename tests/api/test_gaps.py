"""What the corpus lacks: collected, grouped, closed once it is there."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog
from fastapi.testclient import TestClient

from api.models import Models
from api.service import Service
from generate.llm import Abandoned
from kb.errors import BadRequest
from kb.types import Feedback, GapGroup
from tests.api.conftest import open_fake
from tests.fakes import FakeEmbedder

LUNCH = ("What did the team have for lunch last Friday?", "What did the team have for lunch on last Friday?")
FOOTBALL = "Who won the football match yesterday?"


@pytest.fixture
def lacking(filled: Service) -> Service:
    for question in (*LUNCH, FOOTBALL, LUNCH[0]):
        assert filled.ask(question).refused
    return filled


def test_questions_that_ask_for_the_same_are_one_group(lacking: Service) -> None:
    lunch, football = lacking.gaps()
    assert [gap.question for gap in lunch.gaps] == [LUNCH[0], LUNCH[1]]
    assert (lunch.times, football.times) == (3, 1)
    assert "lunch" in {word.casefold() for word in lunch.missing}
    assert lunch.first_asked_at <= lunch.asked_at
    assert football.question == FOOTBALL
    assert lacking.gaps() == lacking.gaps()


def test_filed_questions_are_embedded_once_for_all_processes(
    lacking: Service, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = lacking.gaps()
    monkeypatch.setattr(FakeEmbedder, "embed_query", lambda *_: pytest.fail("a filed question was embedded again"))
    with open_fake(models.settings, models) as another:
        assert another.gaps() == groups


def test_a_gap_closes_when_a_new_source_answers_it(lacking: Service, tmp_path: Path) -> None:
    assert lacking.recheck_gaps() == []
    note = tmp_path / "lunch.md"
    note.write_text("# Lunch\n\nThe team had dumplings for lunch last Friday.\n", encoding="utf-8")
    list(lacking.add([note]))
    assert {gap.question for gap in lacking.recheck_gaps()} == set(LUNCH)
    assert [group.question for group in lacking.gaps()] == [FOOTBALL]
    assert [group.question for group in lacking.gaps(closed=True)] == [LUNCH[0]]
    lacking.remove("lunch.md")
    assert lacking.ask(LUNCH[0]).refused  # lacking again, so it is open again
    assert LUNCH[0] in {group.question for group in lacking.gaps()}


def test_nobody_is_rechecked_for_who_has_gone(lacking: Service, tmp_path: Path) -> None:
    """PITFALLS 40: work for a caller who left ends."""
    note = tmp_path / "lunch.md"
    note.write_text("# Lunch\n\nThe team had dumplings for lunch last Friday.\n", encoding="utf-8")
    list(lacking.add([note]))
    with pytest.raises(Abandoned):
        lacking.recheck_gaps(is_abandoned=lambda: True)
    assert lacking.gaps(closed=True) == []
    looks = iter([False, True])
    with pytest.raises(Abandoned):
        lacking.recheck_gaps(is_abandoned=lambda: next(looks))
    assert len(lacking.gaps(closed=True)) <= 1


def test_a_bad_rating_is_a_gap_until_a_good_one(filled: Service) -> None:
    question = "What does --block-size set?"
    answer = filled.ask(question)
    filled.rate(Feedback(question=question, good=True, recipe=answer.recipe))
    assert filled.gaps() == []
    filled.rate(Feedback(question=question, good=False, recipe=answer.recipe))
    (bad,) = filled.gaps()
    assert bad.gaps[0].origin == "rated"
    assert bad.nearest == answer.citations[:3]
    assert filled.recheck_gaps() == []  # that it is answered is no news
    filled.rate(Feedback(question=question, good=True, recipe=answer.recipe))
    assert filled.gaps() == []
    with pytest.raises(BadRequest, match="empty"):
        filled.rate(Feedback(question=" ", good=False))


def test_no_question_reaches_the_log(lacking: Service) -> None:
    structlog.reset_defaults()  # a command before it may have asked for warnings alone
    with structlog.testing.capture_logs() as events:
        lacking.rate(Feedback(question=LUNCH[0], good=False))
        lacking.recheck_gaps()
    assert events
    assert "lunch" not in repr(events)


def test_over_http(client: TestClient, owner: dict[str, str]) -> None:
    client.post("/v1/ask", json={"question": FOOTBALL})
    rated = client.post("/v1/feedback", json={"question": "What does --block-size set?", "good": False})
    assert rated.json()["good"] is False
    groups = [GapGroup.model_validate(group) for group in client.get("/v1/gaps").json()]
    assert {group.gaps[0].origin for group in groups} == {"refused", "rated"}
    assert client.get("/v1/gaps?closed=true").json() == []
    assert client.post("/v1/gaps/recheck").status_code == 401
    assert client.post("/v1/gaps/recheck", headers=owner).json() == []
