from __future__ import annotations

import pytest

from index.recipe import from_json, mismatch, to_json
from index.store import IndexRecipe

E5 = "multilingual-e5-small@1571fc982750 query='query: ' document='passage: ' mean normalised"
USE = "use-multilingual-3@0db566fd0af8 normalised"
BUILT = IndexRecipe(
    f"dense: {E5} | cross: {USE} | lexical: terms/1 bm25 | chunks: structure/1 384", {"dense": 384, "cross": 512}
)
REMEDY = "Build it anew with `kb rebuild` (the originals are not read again), or go back to the old settings"


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (
            IndexRecipe(BUILT.fingerprint.replace("structure/1", "structure/2"), BUILT.dense),
            "the index was built with chunks: structure/1 384, the settings ask for chunks: structure/2 384",
        ),
        (
            IndexRecipe(f"dense: {E5} | lexical: terms/2 bm25 | chunks: structure/1 384", {"dense": 384}),
            f"the index was built with cross: {USE} of 512 numbers and lexical: terms/1 bm25, "
            "the settings ask for no cross and lexical: terms/2 bm25",
        ),
        (
            IndexRecipe(BUILT.fingerprint, {"dense": 768, "cross": 512}),
            f"the index was built with dense: {E5} of 384 numbers, the settings ask for dense: {E5} of 768 numbers",
        ),
        (
            IndexRecipe("other/1", {}),
            f"the index was built with dense: {E5} of 384 numbers and cross: {USE} of 512 numbers and "
            "lexical: terms/1 bm25 and chunks: structure/1 384 and no recipe, the settings ask for no dense and "
            "no cross and no lexical and no chunks and recipe: other/1",
        ),
    ],
)
def test_p29_a_mismatch_names_only_what_differs(wanted: IndexRecipe, told: str) -> None:
    assert str(mismatch(BUILT, wanted, "library/index")) == f"library/index: {told}. {REMEDY}"


def test_parts_without_a_name_are_compared_too() -> None:
    told = mismatch(IndexRecipe("one | two", {}), IndexRecipe("three | two", {}), "")
    assert told.what == "the index was built with recipe: one two, the settings ask for recipe: three two"


def test_an_index_without_a_recipe_says_so() -> None:
    assert str(mismatch(None, BUILT, "")) == f"the index carries no recipe that can be read. {REMEDY}"


def test_a_recipe_is_the_same_after_it_was_stored() -> None:
    assert from_json(to_json(BUILT)) == BUILT


@pytest.mark.parametrize("stored", [None, "", {}, {"fingerprint": 1, "dense": {}}, {"fingerprint": "x", "dense": []}])
def test_what_is_no_recipe_is_none(stored: object) -> None:
    assert from_json(stored) is None
