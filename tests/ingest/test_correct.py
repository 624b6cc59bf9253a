"""Mishearings are written as they were meant; the raw text stays, and every change is listed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.recordings.correct import correct, wording_id
from ingest.recordings.soundalike import soundalikes
from kb.glossary import load_glossary
from kb.types import Decision, Document, Flag, Kind, Role, Segment, Source, Time

NAMES = sorted({name for term in load_glossary().terms for name in (*term.zh, *term.en, *term.abbr)})


def at(number: int) -> Time:
    return Time(start_ms=number * 1000, end_ms=number * 1000 + 900)


def document(*texts: str, kind: Kind = Kind.RECORDING, flags: frozenset[Flag] = frozenset()) -> Document:
    source = Source(id="s", kind=kind, uri="file:///talk.wav", sha256="0" * 64, title="Talk")
    segments = [
        Segment(
            source_id="s",
            order=n,
            text=text,
            locator=Time(start_ms=n * 1000, end_ms=n * 1000 + 900),
            role=Role.SPEECH,
            flags=flags,
        )
        for n, text in enumerate(texts)
    ]
    return Document(source=source, segments=tuple(segments))


def texts(of: Document) -> list[str]:
    return [segment.text for segment in of.segments]


@pytest.mark.parametrize(
    ("heard", "meant", "rule"),
    [
        ("The KV cash is small.", "The KV cache is small.", "glossary"),
        ("Profil reads the prompt.", "Prefill reads the prompt.", "glossary"),
        ("the this aggregated prefill", "the disaggregated prefill", "glossary"),
        ("Export parallelism serves it.", "Expert parallelism serves it.", "sound"),
        ("time the first token grows", "time to first token grows", "glossary"),
        ("他的剑址，缓存要重新计算。", "他的键值缓存要重新计算。", "sound"),
        ("涨量并性切分每一层", "张量并行切分每一层", "sound"),
        ("先投机，解码再说", "先投机解码再说", "sound"),
        ("分组查宣注意力更少", "分组查询注意力更少", "sound"),
        ("调度气抢占请求", "调度器抢占请求", "sound"),
        ("一个词元的KV幻存", "一个词元的KV 缓存", "glossary"),
    ],
)
def test_what_was_misheard_is_corrected_and_listed(heard: str, meant: str, rule: str) -> None:
    fixed = correct(document("Hello.", heard))
    assert texts(fixed) == ["Hello.", meant]
    assert [segment.heard for segment in fixed.segments] == ["", heard]
    assert [segment.flags for segment in fixed.segments] == [frozenset(), {Flag.CORRECTED}]
    (change,) = fixed.corrections
    assert fixed.segments[1].text[change.start :].casefold().startswith(change.corrected.casefold())
    assert (change.order, change.locator, change.rule) == (1, at(1), rule)
    assert change.heard in heard
    assert change.corrected.casefold() in meant.casefold()


@pytest.mark.parametrize(
    "said",
    [
        "The KV cashier pays.",
        "a mixture of experts, and data parallel training",
        "chunked prefills and continuous batching",
        "唯独这一节码农没有资源",
        "分页注意力，键值缓存",
        "我们坚持请求帮助",
        "full attention and sparse attention",
        "disaggregated prefill and online inference with expert parallelism in reasoning mode",
        "它的适用场景和内存布局，由调度策略与分配方式决定。",
        "每个注意力层采用的注意力策略，以及模型接收的流式数据",
    ],
)
def test_what_was_said_right_stays(said: str) -> None:
    fixed = correct(document(said))
    assert texts(fixed) == [said]
    assert fixed.corrections == ()


def test_no_name_of_the_glossary_is_corrected() -> None:
    assert texts(correct(document(*NAMES))) == NAMES


def test_only_speech_that_a_machine_heard_is_corrected_by_itself() -> None:
    for untouched in (
        document("The KV cash.", kind=Kind.CAPTIONS),
        document("The KV cash.", flags=frozenset({Flag.CAPTIONS})),
    ):
        assert correct(untouched) == untouched
        assert texts(correct(untouched, [Decision(heard="KV cash", corrected="KV cache", accepted=True)])) == [
            "The KV cache."
        ]


# --- decisions ----------------------------------------------------------------------------------------------------


def decision(heard: str, corrected: str, *, accepted: bool = True, source: str | None = None) -> Decision:
    return Decision(heard=heard, corrected=corrected, accepted=accepted, source_id=source)


def test_what_a_person_added_for_the_source_goes_first_then_for_the_library() -> None:
    added = [decision("资源", "显存"), decision("资源", "词元", source="s"), decision("唯独", "维度", source="other")]
    fixed = correct(document("每块16个资源，唯独它"), added)
    assert texts(fixed) == ["每块16个词元，唯独它"]
    assert [change.rule for change in fixed.corrections] == ["source"]


def test_a_rejected_correction_never_comes_back_and_others_stay() -> None:
    heard = document("The KV cash in blocks, and export parallelism.")
    rejected = decision("KV Cash", "KV cache", accepted=False)
    for before in (heard, correct(heard)):
        fixed = correct(before, [rejected])
        assert texts(fixed) == ["The KV cash in blocks, and expert parallelism."]
    none = correct(correct(heard), [rejected, decision("export parallelism", "expert parallelism", accepted=False)])
    assert none == heard, "nothing says that anything was corrected"
    assert texts(correct(correct(heard, [rejected]))) == ["The KV cache in blocks, and expert parallelism."]


def test_a_decision_for_the_source_overrides_that_for_the_library() -> None:
    decisions = [
        decision("KV cash", "KV cache", accepted=False),
        decision("KV cash", "KV cache", source="s"),
    ]
    assert texts(correct(document("the KV cash"), decisions)) == ["the KV cache"]


def test_the_latest_of_two_decisions_about_the_same_words_holds() -> None:
    latest_first = [decision("资源", "词元"), decision("资源", "显存")]
    assert texts(correct(document("16个资源"), latest_first)) == ["16个词元"]


def test_correcting_anew_starts_from_the_raw_text() -> None:
    heard = document("KV cash, 资源")
    once = correct(heard, [decision("资源", "词元")])
    assert correct(once, [decision("资源", "词元")]) == once
    assert correct(once, [decision("KV cash", "KV cache", accepted=False)]).segments == heard.segments


def test_a_wording_has_one_id_however_it_is_written() -> None:
    assert wording_id("KV  Cash", "KV cache") == wording_id("kv-cash", "KV cache")


@given(
    st.lists(st.sampled_from([*NAMES[::9], "KV cash", "剑址", "，", " ", "资源", "export parallelism", "。", "the"]))
)
def test_raw_text_and_changes_account_for_the_whole_text(parts: list[str]) -> None:
    raw = "".join(parts)
    fixed = correct(document(raw), [decision("资源", "词元")])
    (segment,) = fixed.segments
    assert (segment.heard or segment.text) == raw
    assert bool(segment.heard) == bool(fixed.corrections)
    assert all(change.heard in raw for change in fixed.corrections)
    spans = [(place.start, place.end) for place in soundalikes(raw)]
    assert all(left[1] <= right[0] for left, right in pairwise(spans))


def test_a_correction_that_holds_what_was_heard_leaves_what_is_right() -> None:
    decision = Decision(heard="KV", corrected="KV cache", accepted=True)
    assert texts(correct(document("The KV cache, the kv cache and the KV."), [decision])) == [
        "The KV cache, the kv cache and the KV cache."
    ]
