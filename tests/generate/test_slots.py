from __future__ import annotations

import pytest

from generate.question import analyse
from generate.slots import slots

FILLED = [
    ("How many watts does the node draw?", "power", "It draws 700 W.", "It draws a lot."),
    ("一台机柜卖多少钱？", "money", "售价 300 万美元。", "机柜有 72 张卡。"),
    ("What does the card cost per hour?", "money", "It is $2.10 an hour.", "It has 24 GiB."),
    ("论文作者是谁？", "person", "作者是来自某大学的团队。", "论文提出了一种方法。"),
    ("Who trained the drafter?", "person", "It was trained by Red Hat.", "It was trained for long."),
    ("哪一年发布的？", "date", "2024 年发布。", "发布以后很受欢迎。"),
    ("How long did the training take?", "duration", "It took 12 days.", "It took 2,048 tokens."),
    ("缓存占多少毫秒？", "unit", "要 20 ms。", "要 20 GB。"),
    ("每个节点有多少个虚拟节点？", "count", "每个节点 160 个虚拟节点。", "虚拟节点均匀分布。"),
    ("How many slots are wasted?", "count", "At most 15 slots are wasted.", "Slots are wasted."),
    ("冗余率是多少？", "number", "冗余率为 87.5。", "冗余率很高。"),
    ("显存从多少降到多少？", "change", "从 4 GiB 降到 128 MiB。", "降到 128 MiB。"),
    ("由多少毫秒缩短为多少毫秒？", "change", "20 ms 缩短为 5 ms。", "20 ms，2,048 块。"),
    ("前缀缓存前后各占多少显存？", "change", "4 GiB 与 128 MiB", "2,048 块与 64 块"),
    ("From how much to how much does it fall?", "change", "It falls from 16 to 4.", "It falls by 12."),
    ("How many blocks are in use before and after the change?", "change", "64 instead of 2,048", "64 blocks"),
]


@pytest.mark.parametrize(("question", "name", "filled", "unfilled"), FILLED)
def test_a_slot_is_filled_by_its_sort_of_thing(question: str, name: str, filled: str, unfilled: str) -> None:
    slot = next(slot for slot in slots(analyse(question)) if slot.name == name)
    assert slot.fills(filled)
    assert not slot.fills(unfilled)


@pytest.mark.parametrize(
    "question",
    [
        "Why are blocks evicted?",
        "同一个人的后几轮都落到同一台机器上，选哪种策略？",
        "怎么摊到几张卡上？",
        "What is the price of lowering the limit?",
        "静态批处理要等到什么时候才结束？",
        "Which policy is the default?",
    ],
)
def test_a_question_that_leaves_no_such_thing_open_has_no_slot(question: str) -> None:
    assert slots(analyse(question)) == ()


def test_a_number_of_the_question_itself_fills_nothing() -> None:
    slot = slots(analyse("P=8192 时加速比是多少？"))[0]
    assert not slot.fills("P=8192 时有加速。")


def test_things_are_counted_in_the_other_language_by_any_number() -> None:
    slot = slots(analyse("一共有多少块？"))[0]
    assert slot.fills("| blocks | 5,120 |")
    assert not slot.fills("| blocks | many |")


def test_a_change_may_stand_in_two_quotes() -> None:
    slot = slots(analyse("从多少降到多少？"))[0]
    assert slot.filled_by(["各存一份：4 GiB", "共用一份：128 MiB"])
    assert slot.completed("各存一份：4 GiB", "共用一份：128 MiB")
    assert not slot.filled_by(["各存一份：4 GiB", "共用一份：64 块"])
    assert not slot.completed("从 4 GiB 到 128 MiB", "共用一份：64 块")


def test_the_values_of_the_question_are_no_change() -> None:
    assert not slots(analyse("32 个请求的块数从多少降到多少？"))[0].fills("32 个请求要 64 块。")


@pytest.mark.parametrize("question", ["降到多少？", "吞吐量提高到多少？", "延迟缩短至多少？"])
def test_what_a_value_becomes_is_no_thing_that_is_counted(question: str) -> None:
    assert [slot.name for slot in slots(analyse(question))] == ["number"]
