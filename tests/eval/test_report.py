"""From questions to a report, its comparison with another, the floor, and the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from eval import render, report
from eval.compare import compare, read_floor, shortfalls
from eval.report import Report
from eval.run import Result
from kb.errors import BadRequest
from tests.eval.subject import CASES, SENTENCES, case, measured


def with_scores(result: Result, **scores: float) -> Result:
    return result.model_copy(
        update={"scores": result.scores | {name.replace("_at_", "@"): scores[name] for name in scores}}
    )


def with_first(before: Report, first: Result) -> Report:
    return report.build((first, *before.cases[1:]), before.recipe)


def test_groups_hold_what_a_person_would_count() -> None:
    groups = measured().groups
    assert groups["all"]["recall@1"].value == pytest.approx(1 / 3)
    assert groups["all"]["recall@5"].value == pytest.approx(2 / 3)
    assert groups["all"]["recall@5"].n == 3
    assert groups["cross"]["mrr"].value == pytest.approx(1 / 2)
    assert groups["zh"]["ndcg@10"].value == pytest.approx(0.6309, abs=1e-4)
    assert groups["kind:unanswerable"]["refused"].value == 1.0
    assert groups["source:note"]["quote_fidelity"].value == 1.0
    assert groups["en"]["key_strings"].value == 1.0
    assert groups["en"]["key_strings"].n == 1
    assert groups["all"]["citation_recall"].value == pytest.approx(1 / 3)
    assert groups["en"]["sameness@10"].value == 1.0
    assert list(groups)[:5] == ["all", "zh", "en", "same", "cross"]
    assert measured().gaps["same − cross"]["recall@1"] == pytest.approx(1 / 2)


def test_quotes_of_a_refusal_count_for_fidelity() -> None:
    assert measured().cases[3].scores["quote_fidelity"] == 1.0


def test_a_refusal_of_what_can_be_answered_covers_and_says_nothing() -> None:
    refused = measured((case("lunch", SENTENCES[2], must_include=("noon",)),)).cases[0]
    assert refused.scores["false_refusal"] == 1.0
    assert refused.scores["key_strings"] == refused.scores["citation_recall"] == 0.0
    assert "citation_precision" not in refused.scores
    assert report.why_failed(refused) == "refused, though the corpus has the answer"


def test_what_an_answer_lacks_is_named() -> None:
    lacking = measured((case("first", SENTENCES[0], must_include=("block_hash", "layer")),)).cases[0]
    assert lacking.scores["key_strings"] == 0.0
    assert report.why_failed(lacking) == "the answer lacks layer"


def test_quotes_that_no_reader_found_are_named() -> None:
    elsewhere = measured().cases[2]
    assert elsewhere.unreadable == (0,)
    assert "no reader found" in report.why_failed(elsewhere)
    assert any("elsewhere" in line for line in render.summary(measured()))


def test_a_file_that_the_corpus_lacks_is_no_fault_of_a_reader() -> None:
    lost = measured((case("lost", SENTENCES[0], "租约", file="notes/gone.md"),))
    assert lost.cases[0].absent == ("notes/gone.md",)
    assert lost.cases[0].unreadable == ()
    assert "the corpus lacks notes/gone.md" in report.why_failed(lost.cases[0])
    assert "no reader found" not in report.why_failed(lost.cases[0])
    assert "gold files that the corpus lacks: notes/gone.md" in list(render.summary(lost))
    assert "the corpus lacks this file" in render.html(lost)


def test_without_answers_only_search_is_measured() -> None:
    assert {"key_strings", "ask_ms"}.isdisjoint(measured(answers=False).groups["all"])
    assert "## Answers" not in render.markdown(measured(answers=False))


def test_report_round_trips(tmp_path: Path) -> None:
    before = measured()
    (tmp_path / "report.json").write_text(before.model_dump_json(), "utf-8")
    assert report.read(tmp_path / "report.json") == before
    raw = json.loads(before.model_dump_json())
    assert raw["groups"]["all"]["recall@10"].keys() == {"value", "low", "high", "n"}
    assert raw["cases"][0]["retrieved"][0]["text"] == SENTENCES[0]


def test_a_comparison_names_the_cases_that_changed() -> None:
    before = measured()
    worse = with_first(before, with_scores(before.cases[0], recall_at_1=0.0))
    (changed,) = compare(before, worse).cases
    assert (changed.id, changed.verdict, str(changed.moves[0])) == ("first", "worse", "recall@1 1.00 → 0.00")
    assert compare(worse, before).cases[0].verdict == "better"
    assert compare(before, before).cases == ()
    refusing = with_first(before, with_scores(before.cases[0], false_refusal=1.0))
    assert compare(before, refusing).cases[0].verdict == "worse"
    assert any(line.startswith("worse: first") for line in render.changes(compare(before, worse)))


def test_a_comparison_of_other_questions_says_so() -> None:
    comparison = compare(measured(CASES[:2]), measured(CASES[1:]))
    assert comparison.gone == ("first",)
    assert comparison.added == ("elsewhere", "none")


def test_floor_is_held_in_both_directions() -> None:
    floor = {"all": {"recall@5": 0.9, "false_refusal": 0.0, "recall@1": 0.2, "quote_fidelity": 1.0}}
    assert [str(missed) for missed in shortfalls(measured(), floor)] == [
        "all recall@5 is 0.667, at least 0.9 is wanted"
    ]
    refusing = measured((case("lunch", SENTENCES[2]),))
    assert [missed.metric for missed in shortfalls(refusing, {"all": {"false_refusal": 0.5}})] == ["false_refusal"]
    with pytest.raises(BadRequest, match="nobody"):
        shortfalls(measured(), {"nobody": {"recall@5": 0.9}})


@pytest.mark.parametrize("text", ["{", "[]", '{"all": 1}', '{"all": {"mrr": "high"}}', b"\xff"])
def test_a_floor_that_is_none_is_named(tmp_path: Path, text: str | bytes) -> None:
    path = tmp_path / "floor.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadRequest, match=r"no floor.*") as caught:
        read_floor(path)
    assert "floor.json" in str(caught.value)


def test_tables_fit_a_terminal() -> None:
    console = Console(width=100, record=True, force_terminal=True, _environ={})  # a dumb TERM has 80 columns
    long = case("long", SENTENCES[0], SENTENCES[1], kind="typo-or-ASR-noise")
    for table in render.tables(measured((*CASES, long))):
        console.print(table)
    lines = console.export_text().splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert not any("…" in line for line in lines)
    assert any("kind:typo-or-ASR-noise" in line for line in lines)


def test_page_shows_every_case_and_runs_nothing_of_its_texts() -> None:
    hostile = case("hostile", "<script>alert(1)</script>", question="<img src=x onerror=alert(1)>")
    page = render.html(measured((*CASES, hostile)), compare(measured(), measured()))
    assert "<script" not in page
    assert "<img" not in page
    assert all(each.question in page for each in CASES)
    assert "To mend (2)" in page
    assert "http" not in page
