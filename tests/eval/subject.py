"""A subject whose worth is known: three sentences, always found in the same order."""

from __future__ import annotations

from collections.abc import Sequence

from eval.cases import Case, Gold
from eval.report import Report, build
from eval.run import run
from kb.errors import NotFound
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
    Rank,
    Refusal,
    Role,
    Segment,
    Source,
    Span,
)

SENTENCES = ("The cache key is (block_hash, group_id).", "租约默认 30 秒。", "Lunch is at noon.")


def source(file: str = "notes/cache.md", identity: str = "s") -> Source:
    return Source(id=identity, kind=Kind.NOTE, uri=f"file:///corpus/{file}", sha256="0", title="Cache")


def line(number: int) -> Mark:
    return Mark(line_start=number + 1, line_end=number + 1)


def hit(text: str, number: int = 0, *, of: Source | None = None, twins: tuple[str, ...] = ()) -> Hit:
    of = of or source()
    span = Span(start=0, end=len(text), order=number, offset=0, locator=line(number))
    chunk = Chunk(
        id=str(number),
        source_id=of.id,
        order=number,
        text=text,
        context="",
        spans=(span,),
        role=Role.BODY,
        lang="en",
        tokens=9,
        recipe="c",
    )
    return Hit(
        chunk=chunk,
        source=of,
        score=1.0,
        ranks=(Rank(list="lexical", rank=number + 1, score=1.0),),
        quote=text,
        locator=line(number),
        href="#",
        twins=twins,
    )


def citation(quote: str, number: int = 0, source_id: str = "s") -> Citation:
    return Citation(
        n=1,
        evidence_id="E1",
        source_id=source_id,
        title="Cache",
        kind=Kind.NOTE,
        locator=line(number),
        quote=quote,
        href="#",
    )


def answer(*citations: Citation, text: str = "", refused: Refusal | None = None) -> Answer:
    return Answer(
        question="?",
        lang="en",
        text=text,
        mode="extractive",
        claims=(Claim(text=text, citations=(1,)),) if citations else (),
        citations=citations,
        refused=refused,
        recipe="r",
    )


class KnownSubject:
    """Finds the sentences in a fixed order and cites the first; refuses what speaks of lunch."""

    def search(self, query: Query) -> Sequence[Hit]:
        return [hit(text, number) for number, text in enumerate(SENTENCES)][: query.limit]

    def ask(self, question: str, filters: Filters) -> Answer:
        if "lunch" in question:
            return answer(
                text="Nothing on noon.",
                refused=Refusal(reason="nothing on lunch", nearest=(citation(SENTENCES[2], 2),)),
            )
        return answer(citation(SENTENCES[0]), text=f"{SENTENCES[0]} [1]")

    def show(self, name: str) -> Document:
        if name not in ("s", "notes/cache.md"):
            raise NotFound(f"no source {name}")
        segments = tuple(
            Segment(source_id="s", order=number, text=text, locator=line(number), role=Role.BODY)
            for number, text in enumerate(SENTENCES)
        )
        return Document(source=source(), segments=segments)


def case(identity: str, *quotes: str, file: str = "notes/cache.md", **more: object) -> Case:
    gold = tuple(Gold(file=file, quote=quote) for quote in quotes)
    fields = {"id": identity, "question": f"What of {identity}?", "lang": "en", "kind": "fact", "gold": gold} | more
    return Case.model_validate(fields)


CASES = (
    case("first", SENTENCES[0], must_include=("block_hash", "nowhere|group_id")),
    case("second", "租约默认30秒", lang="zh", cross_lingual=True),
    case("elsewhere", "not in the corpus"),
    case("none", question="lunch?", kind="unanswerable"),
)


def measured(cases: Sequence[Case] = CASES, *, answers: bool = True) -> Report:
    return build(run(cases, KnownSubject(), answers=answers, on_progress=lambda _done, _total: None), "recipe")
