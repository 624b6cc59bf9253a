from __future__ import annotations

from importlib import resources

import pytest

from index.sparse import terms
from kb.text import HAN
from kb.words import Words, forms, load_words

WORDS = Words([(("淘汰", "驱逐"), ("evict",)), (("块",), ("block",)), (("位置",), ("slot", "position"))])


def test_a_word_is_known_in_all_its_forms() -> None:
    assert WORDS.counterparts("evicted") == ("淘汰", "驱逐")
    assert WORDS.counterparts("Blocks") == ("块",)
    assert {"slot", "slots", "positions"} <= set(WORDS.counterparts("位置"))
    assert WORDS.counterparts("kernel") == ()


def test_only_words_of_the_other_language_are_put_into_it() -> None:
    assert WORDS.expand(["哪些", "块", "evict"], "zh") == ["淘汰", "驱逐"]
    assert "blocks" in WORDS.expand(["哪些", "块", "evict"], "en")
    assert not any(HAN.search(word) for word in WORDS.expand(["块", "evict"], "en"))


@pytest.mark.parametrize(
    ("word", "some"),
    [
        ("store", {"stores", "stored", "storing"}),
        ("drop", {"drops", "dropped", "dropping"}),
        ("load", {"loads", "loaded", "loading"}),
        ("copy", {"copies", "copied", "copying"}),
        ("delay", {"delays", "delayed"}),
        ("miss", {"misses", "missed"}),
        ("fine-tune", {"fine-tune"}),
    ],
)
def test_regular_endings(word: str, some: set[str]) -> None:
    assert some | {word} <= set(forms(word))


def test_every_word_of_the_list_is_one_that_the_tokenizer_gives() -> None:
    """Others would never be met."""
    text = resources.files("kb").joinpath("words.tsv").read_text("utf-8")
    lines = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    words = [word for sides in lines for side in sides for word in side.split()]
    assert all(len(sides) == 2 for sides in lines)
    assert [word for word in words if word.replace("-", "") not in terms(word)] == []


def test_the_list_is_known_from_both_sides() -> None:
    words = load_words()
    assert "evicted" in words.counterparts("淘汰")
    assert "淘汰" in words.counterparts("evicted")
