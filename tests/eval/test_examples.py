"""The cases over the sample material: enough of every kind, and every gold quote stands where it says."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path

import pytest

from eval.cases import Case, Gold, load_cases
from eval.compare import read_floor
from eval.judge import folded
from ingest.discover import discover
from ingest.load import load
from ingest.parsed import Reading
from kb.settings import Settings
from kb.text import detect_lang
from kb.types import Dropped, Kind

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
CASES = load_cases([ROOT / "eval/cases/examples.jsonl"])
KINDS = {
    "fact", "number", "code-identifier", "why", "how", "comparison", "version-specific", "cross-lingual", "multi-hop",
    "typo-or-ASR-noise", "unanswerable",
}  # fmt: skip


@functools.cache
def text_of(file: str) -> str:
    document = load(EXAMPLES / file, Reading(Settings()))
    return folded("\n".join(segment.text for segment in document.segments))


READ = sorted({gold for case in CASES for gold in case.quotes if gold.kind is not Kind.RECORDING}, key=str)


@pytest.mark.parametrize("file", sorted({gold.file for gold in READ}))
def test_every_gold_quote_stands_in_its_file(file: str) -> None:
    missing = [gold.quote for gold in READ if gold.file == file and folded(gold.quote) not in text_of(file)]
    assert missing == []


def test_few_cases_rest_on_what_speech_recognition_heard() -> None:
    """A transcript may change with the model; what it says is written somewhere else, too."""
    resting = [
        case.id for case in CASES if case.answerable and all(gold.kind is Kind.RECORDING for gold in case.quotes)
    ]
    assert resting == []


def test_there_are_enough_of_every_kind_in_both_languages() -> None:
    kinds = Counter(case.kind for case in CASES)
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= 4
    assert kinds["unanswerable"] >= 8
    assert min(Counter(case.lang for case in CASES).values()) >= 22
    assert min(Counter(case.lang for case in CASES if case.cross_lingual).values()) >= 4


def language(gold: Gold) -> str:
    return detect_lang(text_of(gold.file)) if gold.kind is not Kind.RECORDING else detect_lang(gold.quote)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_case_says_the_truth_about_itself(case: Case) -> None:
    assert case.lang == detect_lang(case.question)
    assert case.answerable == (case.kind != "unanswerable") == bool(case.must_include)
    if case.answerable:
        assert set(case.gold_lang) == {language(gold) for gold in case.gold}
        assert case.cross_lingual == (case.lang not in {language(gold) for gold in case.quotes})


def test_the_corpus_is_the_sample_material_alone() -> None:
    read = {path.relative_to(EXAMPLES).parts[0] for path in discover([EXAMPLES]) if not isinstance(path, Dropped)}
    assert read == {"notes", "talks"}


def test_the_floor_asks_for_what_matters() -> None:
    floor = read_floor(ROOT / "eval/cases/floor.json")
    wanted = {"recall@1", "recall@10", "ndcg@10", "key_strings", "citation_precision", "refused", "false_refusal"}
    assert wanted <= set(floor["all"])
    assert floor["all"]["quote_fidelity"] == 1.0
    assert "recall@10" in floor["cross"]
