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
