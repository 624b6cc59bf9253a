from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generate.passages import passages
from kb.types import Role
from tests.generate.material import hit

NOTE = """Intro sentence. 第二句在这里。
- an item with `--flag`
1. numbered item

| Name | Default |
| --- | --- |
| `a_b` | 32 |

```python
x = f(1)
# a comment
```
"""


def test_sentences_items_rows_and_code_lines_are_passages_and_markup_is_not() -> None:
    found = [(p.quote, p.form) for p in passages([hit(NOTE)])]
    assert found == [
        ("Intro sentence.", "prose"),
        ("第二句在这里。", "prose"),
        ("an item with `--flag`", "prose"),
        ("numbered item", "prose"),
        ("| `a_b` | 32 |", "row"),
        ("x = f(1)", "code"),
        ("# a comment", "code"),
    ]


def test_a_row_keeps_the_words_of_its_header() -> None:
    row = next(p for p in passages([hit(NOTE, context="Guide > Settings")]) if p.form == "row")
    assert "Default" in row.around
    assert "Settings" in row.around


def test_captions_without_punctuation_are_joined_to_a_readable_length() -> None:
    cues = "今天来到推理系统系列里面\n去真正的了解一下什么是推理系统\n那推理系统它不是推理引擎\n所以可以区分下来"
    found = [p.quote for p in passages([hit(cues, role=Role.SPEECH)])]
    assert len(found) == 2
    assert "\n".join(found) == cues


def test_an_enumeration_inside_a_sentence_and_a_wrapped_line_stay_whole() -> None:
    slide = "缺点：1. 重复问题；2. 效果差\n通过在每个时间步保留最可能\n的候选词来降低丢失潜在的\n高概率序列的风险。"
    assert [p.quote for p in passages([hit(slide)])] == [
        "缺点：1. 重复问题；2. 效果差",
        "通过在每个时间步保留最可能\n的候选词来降低丢失潜在的\n高概率序列的风险。",
    ]


def test_the_label_of_a_box_is_no_part_of_what_it_says() -> None:
    box = '!!! note\n    This feature is experimental.\n\n!!! warning "Mind the gap"\n    It may change.'
    assert [p.quote for p in passages([hit(box)])] == ["This feature is experimental.", "It may change."]


def test_the_keywords_of_a_note_are_no_statement() -> None:
    assert [p.quote for p in passages([hit("tags: [PagedAttention, KV cache]\n\nBlocks stop the waste.")])] == [
        "Blocks stop the waste."
    ]


def test_text_that_two_chunks_share_is_given_once() -> None:
    assert len(passages([hit("The same sentence."), hit("The same sentence.")])) == 1


@given(
    st.text(alphabet=st.sampled_from("ab 1.。|-`#\n中文>*:"), max_size=200), st.sampled_from([Role.BODY, Role.SPEECH])
)
def test_every_passage_is_a_verbatim_slice_with_a_place(text: str, role: Role) -> None:
    for passage in passages([hit(text, role=role)]) if text else ():
        assert passage.quote == text[passage.start : passage.end]
        assert passage.quote.strip() == passage.quote != ""
        assert passage.evidence().quote == passage.quote


@pytest.mark.parametrize("count", [1, 3])
def test_part2_03_ids_are_opaque_and_stable(count: int) -> None:
    found = passages([hit(NOTE)] * count)
    assert len({p.id for p in found}) == len(found)
    assert all(len(p.id) == 8 and p.id[0] == "e" for p in found)
    assert [p.id for p in found] == [p.id for p in passages([hit(NOTE)])]
