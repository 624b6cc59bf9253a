from __future__ import annotations

from pathlib import Path

import pytest

from generate.answer import Answerer
from generate.disagree import disagreements, on_subject
from generate.extract import read
from generate.passages import Passage, passages
from generate.question import analyse
from kb.types import Query, Support
from tests.generate.material import documents, hit, searcher


def passage(text: str, title: str, version: str | None = None) -> Passage:
    return passages([hit(text, title=title, version=version)])[0]


OLD = ("The default value of `max_num_seqs` is 128 sequences for each engine.", "Old", "0.9.0")
NEW = ("The default value of `max_num_seqs` is 256 sequences for each engine.", "New", "0.33.0")


def test_sources_that_disagree_are_set_side_by_side_with_their_versions() -> None:
    old, new = passage(*OLD), passage(*NEW)
    (statement,) = disagreements([old], [old, new], "en")
    assert statement.support is Support.CONFLICT
    assert statement.passages == (old, new)
    assert statement.text == f"Sources disagree: v0.9.0: “{OLD[0]}”; v0.33.0: “{NEW[0]}”."


def test_a_disagreement_is_told_once_and_in_the_questions_language() -> None:
    old, new = passage(*OLD), passage(*NEW)
    (statement,) = disagreements([old, new], [old, new], "zh")
    assert statement.text.startswith("资料说法不一：v0.9.0：“")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "The default value of `max_num_seqs` is 128 sequences.",
            "The default value of `max_num_seqs` is 128 sequences.",
        ),
        ("The default value of `max_num_seqs` is 128.", "The default value of `max_num_batched_tokens` is 256."),
        ("Llama-8B reaches 120 tokens/s on one H100.", "Llama-70B reaches 30 tokens/s on one H100."),
        ("The pool holds 16 blocks for each request.", "Prefill of 2048 tokens takes a whole step of the engine."),
        ("The pool holds 16 blocks for a request.", "The pool holds 4 GiB for a request."),
        ("Blocks are shared by requests.", "Blocks are shared by 16 requests."),
    ],
)
def test_what_speaks_of_something_else_is_no_disagreement(one: str, other: str) -> None:
    left, right = passage(one, "One"), passage(other, "Other")
    assert disagreements([left], [left, right], "en") == []


def test_within_one_source_nothing_disagrees() -> None:
    both = passages([hit(f"{OLD[0]}\n\n{NEW[0]}")])
    assert disagreements(both[:1], both, "en") == []


def test_an_extractive_answer_shows_the_disagreement(tmp_path: Path) -> None:
    notes = {f"vllm_docs_{version}/limits.md": f"# Limits\n\n{text}\n" for text, _, version in (OLD, NEW)}
    notes |= {"vllm_docs_0.9.0/other.md": "# Other\n\nThe scheduler preempts the latest request.\n"}
    answer = Answerer(searcher(documents(tmp_path, notes)).search).ask("What is the default of max_num_seqs?")
    conflict = next(claim for claim in answer.claims if claim.support is Support.CONFLICT)
    assert len(conflict.citations) == 2
    assert {one.version for one in answer.citations} == {"0.9.0", "0.33.0"}
    assert answer.as_of == "0.9.0, 0.33.0"
    assert "128" in conflict.text
    assert "256" in conflict.text


ROWS = (
    "# Settings\n\n## Memory\n\nPrefix caching is on. A hit on one block finds the whole prefix.\n\n"
    "| | value |\n|---|---|\n| block of 16 tokens | {} MiB |\n"
)


@pytest.mark.parametrize(
    ("question", "is_told"),
    [
        ("How much MiB does a block of 16 tokens take in memory?", True),
        ("Why does a hit on one block mean that the whole prefix is the same?", False),
        ("How many tokens per second does a block of the engine generate?", False),
    ],
)
def test_a_disagreement_is_told_only_where_it_is_about_what_is_asked(
    question: str, is_told: bool, tmp_path: Path
) -> None:
    notes = {f"service-{version}/settings.md": ROWS.format(size) for version, size in (("1.0", 2), ("2.0", 1))}
    found = searcher(documents(tmp_path, notes)).search(Query(text=question, limit=10))
    reading = read(analyse(question), passages(found), found)
    rows = [one.passage for one in reading.scored if "MiB" in one.passage.quote]
    assert len(rows) == 2
    assert disagreements(rows[:1], rows, "en")
    assert bool(disagreements(rows[:1], on_subject(reading), "en", reading.question.units)) is is_told
