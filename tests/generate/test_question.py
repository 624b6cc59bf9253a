from __future__ import annotations

import pytest

from generate.question import analyse


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("What is the default?", 0),
        ("同一个哈希，为什么能对应多个组？", 0),
        ("What is the threshold, and what happens below it?", 2),
        ("bf16 下每层约多少字节，FP8 下又是多少？", 2),
        ("吞吐量最多提升多少，请求数提升多少？为什么？", 3),
    ],
)
def test_a_question_is_parted_where_it_asks_again(text: str, parts: int) -> None:
    assert len(analyse(text).parts) == parts


def test_terms_are_spelled_as_the_question_spells_them() -> None:
    spelled = [concept.surface for concept in analyse("Is the hybrid KV cache manager on?").concepts if concept.term]
    assert all(character < "一" for surface in spelled for character in surface)
    assert spelled


@pytest.mark.parametrize("word", ["faster", "calculated", "enabling", "stopped", "explicitly", "carries", "chosen"])
def test_words_of_all_fields_are_no_subject(word: str) -> None:
    (concept,) = (one for one in analyse(f"Zorblax {word}").concepts if one.surface != "Zorblax")
    assert not concept.noun


def test_any_size_answers_how_many_bytes() -> None:
    assert {"byte", "KiB", "GB"} <= analyse("How many bytes does it take?").units
    assert analyse("多少毫秒？").units == {"ms"}
