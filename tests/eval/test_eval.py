"""The harness, against a subject whose worth is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from eval import report
from eval.cases import Case, Gold, load_cases
from eval.metrics import estimate, ranking
from eval.run import run
from kb.errors import BadRequest
from kb.types import (
    Answer,
    Chunk,
    Citation,
    Claim,
    Document,
    Filters,
    Hit,
    Kind,
    Mark,
    Query,
    Refusal,
    Role,
    Segment,
    Source,
    Span,
)

SENTENCES = ("The cache key is (block_hash, group_id).", "租约默认 30 秒。", "Lunch is at noon.")


class KnownSubject:
    """Finds the sentences in a fixed order and cites the first; refuses what speaks of lunch."""

    source = Source(id="s", kind=Kind.NOTE, uri="file:///corpus/notes/cache.md", sha256="0", title="Cache")

    def search(self, query: Query) -> Sequence[Hit]:
        return [self._hit(number) for number in range(len(SENTENCES))][: query.limit]

    def ask(self, question: str, filters: Filters) -> Answer:
        if "lunch" in question:
            refusal = Refusal(reason="nothing on lunch")
            return Answer(question=question, lang="en", text="", mode="extractive", refused=refusal, recipe="r")
        citation = Citation(
            n=1,
            evidence_id="E1",
            source_id="s",
            title="Cache",
            kind=Kind.NOTE,
            locator=Mark(line_start=1, line_end=1),
            quote=SENTENCES[0],
            href="#",
        )
        return Answer(
            question=question,
            lang="en",
            text=f"{SENTENCES[0]} [1]",
            mode="extractive",
            claims=(Claim(text=SENTENCES[0], citations=(1,)),),
            citations=(citation,),
            recipe="r",
        )

    def show(self, name: str) -> Document:
        segments = tuple(
            Segment(
                source_id="s",
                order=number,
                text=text,
                locator=Mark(line_start=number + 1, line_end=number + 1),
                role=Role.BODY,
            )
            for number, text in enumerate(SENTENCES)
        )
        return Document(source=self.source, segments=segments)

    def _hit(self, number: int) -> Hit:
        text = SENTENCES[number]
        mark = Mark(line_start=number + 1, line_end=number + 1)
        chunk = Chunk(
            id=str(number),
            source_id="s",
            order=number,
            text=text,
            context="",
            spans=(Span(start=0, end=len(text), order=number, offset=0, locator=mark),),
            role=Role.BODY,
            lang="en",
            tokens=9,
            recipe="c",
        )
        return Hit(
            chunk=chunk, source=self.source, score=1.0, ranks=(), quote=text, locator=mark, href="#", thumbnail=None
        )


def case(identity: str, quote: str | None, **more: object) -> Case:
    gold = (Gold(file="notes/cache.md", quote=quote),) if quote else ()
    fields = {"id": identity, "question": "What?", "lang": "en", "kind": "fact", "gold": gold} | more
    return Case.model_validate(fields)


CASES = (
    case("first", SENTENCES[0], must_include=("block_hash", "nowhere|group_id")),
    case("second", "租约默认30秒", lang="zh", cross_lingual=True),
    case("elsewhere", "not in the corpus"),
    case("none", None, question="lunch?", kind="unanswerable"),
)


def built() -> report.Report:
    return report.build(run(CASES, KnownSubject(), on_progress=lambda _done, _total: None), "recipe")


def test_groups_hold_what_a_person_would_count() -> None:
    groups = built().groups
    assert groups["all"]["recall@1"].value == pytest.approx(1 / 3)
    assert groups["all"]["recall@5"].value == pytest.approx(2 / 3)
    assert groups["all"]["recall@5"].n == 3
    assert groups["cross"]["mrr"].value == pytest.approx(1 / 2)
    assert groups["zh"]["ndcg@10"].value == pytest.approx(0.6309, abs=1e-4)
    assert groups["kind:unanswerable"]["refused"].value == 1.0
    assert groups["source:note"]["quote_fidelity"].value == 1.0
    assert groups["en"]["key_strings"].value == 1.0
    assert groups["all"]["citation_recall"].value == pytest.approx(1 / 3)


def test_report_round_trips_and_names_what_changed(tmp_path: Path) -> None:
    before = built()
    (tmp_path / "report.json").write_text(before.model_dump_json(), "utf-8")
    again = report.read(tmp_path / "report.json")
    assert again == before
    worse = before.cases[0].model_copy(update={"scores": before.cases[0].scores | {"recall@1": 0.0}})
    after = before.model_copy(update={"cases": (worse, *before.cases[1:])})
    assert [(c.id, c.metric, c.before, c.after) for c in report.compare(before, after)] == [
        ("first", "recall@1", 1.0, 0.0)
    ]


def test_floor_is_held_in_both_directions(tmp_path: Path) -> None:
    floor = tmp_path / "floor.json"
    floor.write_text(json.dumps({"all": {"recall@5": 0.9, "false_refusal": 0.1, "recall@1": 0.2}}))
    assert [shortfall.metric for shortfall in report.shortfalls(built(), floor)] == ["recall@5"]
    floor.write_text(json.dumps({"nobody": {"recall@5": 0.9}}))
    with pytest.raises(BadRequest, match="nobody"):
        report.shortfalls(built(), floor)


def test_page_shows_every_case_and_runs_nothing_of_its_texts() -> None:
    hostile = case("hostile", "<script>alert(1)</script>", question="<img src=x onerror=alert(1)>")
    page = report.html(report.build(run([*CASES, hostile], KnownSubject(), on_progress=lambda _d, _t: None), "recipe"))
    assert "<script" not in page
    assert "<img" not in page
    assert all(each.id in page for each in CASES)
    assert "http" not in page.replace("http-equiv", "")


def test_twins_earn_nothing() -> None:
    once = ranking([frozenset({0}), frozenset(), frozenset({1})], quotes=2, gold=2)
    twice = ranking([frozenset({0}), frozenset({0}), frozenset({1})], quotes=2, gold=2)
    assert once["ndcg@10"] == twice["ndcg@10"] < 1
    assert once["all_gold@10"] == 1.0


def test_nothing_found_is_zero_everywhere() -> None:
    assert set(ranking([frozenset()] * 20, quotes=1, gold=1).values()) == {0.0}
    assert set(ranking([], quotes=1, gold=1).values()) == {0.0}


def test_intervals_hold_the_mean_and_repeat() -> None:
    cell = estimate([0.0, 1.0, 1.0, 1.0])
    assert cell.low <= cell.value <= cell.high
    assert cell == estimate([0.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is no case"), ('{"id": "x"}', "is no case"), ("\n\n", "no cases")],
)
def test_bad_cases_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(text)
    with pytest.raises(BadRequest, match=message) as caught:
        load_cases([path])
    assert "cases.jsonl" in str(caught.value)


def test_ids_come_once(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join([CASES[0].model_dump_json()] * 2), "utf-8")
    with pytest.raises(BadRequest, match="twice"):
        load_cases([path])
