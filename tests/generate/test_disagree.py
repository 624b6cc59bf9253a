from __future__ import annotations

from pathlib import Path

import pytest

from generate.answer import Answerer
from generate.disagree import disagreements
from generate.passages import Passage, passages
from kb.types import Support
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
