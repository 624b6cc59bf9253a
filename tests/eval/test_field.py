"""The questions that the line of refusal is fitted on: no quotes, enough of either sort in both languages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from eval.cases import load_cases
from kb.text import detect_lang

CASES = load_cases([Path(__file__).resolve().parents[2] / "eval/cases/field.jsonl"])


def test_there_are_enough_of_either_sort_in_both_languages() -> None:
    sorts = Counter((case.lang, case.answerable) for case in CASES)
    assert set(sorts) == {(lang, answerable) for lang in ("zh", "en") for answerable in (True, False)}
    assert min(sorts.values()) >= 40


def test_a_case_says_the_truth_about_itself_and_quotes_nothing() -> None:
    assert len({case.question for case in CASES}) == len(CASES)
    for case in CASES:
        assert case.lang == detect_lang(case.question)
        assert case.answerable == (case.kind != "unanswerable")
        assert not any(gold.quote for gold in case.quotes)
