from __future__ import annotations

import re
from pathlib import Path

import pytest

from api.errors import details_of
from api.problems import EXIT_CODES, PROBLEMS, error_of, problem_of
from kb import errors
from kb.errors import KBError

ROOT = Path(__file__).resolve().parents[2]
ERRORS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, KBError)]


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_has_a_row_of_its_own(kind: type[KBError]) -> None:
    assert kind in PROBLEMS
    problem = problem_of(kind("what"))
    assert problem.exit_code in EXIT_CODES
    assert 400 <= problem.status < 600


@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_client_gets_back_the_error_that_the_service_raised(kind: type[KBError]) -> None:
    assert error_of(PROBLEMS[kind].type) is kind


def test_readers_are_not_told_where_a_model_runs() -> None:
    details = details_of(errors.GenerationFailed("no answer", where="qwen", endpoint="http://user:key@10.0.0.7/v1"))
    assert (details.detail, details.where) == ("no answer", "qwen")
    assert "10.0.0.7" not in details.model_dump_json()


def test_an_error_without_a_row_counts_as_its_ancestor() -> None:
    class Odd(errors.NotFound):
        pass

    assert problem_of(Odd("x")) is PROBLEMS[errors.NotFound]
    assert error_of("about:blank") is KBError


def test_docs_list_every_exit_code_and_every_problem() -> None:
    cli = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", cli, re.MULTILINE)] == list(EXIT_CODES)
    http = (ROOT / "docs" / "http.md").read_text("utf-8")
    documented = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \|", http, re.MULTILINE)
    assert documented == [(problem.slug, str(problem.status)) for problem in PROBLEMS.values()]
