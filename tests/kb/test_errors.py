from __future__ import annotations

import pytest

from kb import errors
from kb.errors import GenerationFailed, KBError, Truncated, UnreadableSource, without_secrets


def test_a_message_says_what_where_and_what_to_do() -> None:
    error = UnreadableSource("the file is encrypted", where="deck.pdf", remedy="Save it without a password")
    assert str(error) == "deck.pdf: the file is encrypted. Save it without a password"
    assert (error.what, error.where, error.remedy) == (
        "the file is encrypted",
        "deck.pdf",
        "Save it without a password",
    )


def test_the_drawn_tree_is_the_tree() -> None:
    def names(parent: type[KBError]) -> set[str]:
        return {child.__name__ for child in parent.__subclasses__()}.union(*map(names, parent.__subclasses__()))

    assert errors.__doc__ is not None
    drawn = {
        line.split()[1] if line[0] in "├└" else line.split()[2] for line in errors.__doc__.splitlines() if "── " in line
    }
    assert drawn == names(KBError)


@pytest.mark.parametrize("kind", [GenerationFailed, Truncated])
def test_the_address_of_a_model_is_the_owners_alone_and_holds_no_key(kind: type[GenerationFailed]) -> None:
    error = kind("no answer", where="qwen", remedy="Wait", endpoint="http://user:key@10.0.0.7:8000/v1?token=t#f")
    assert error.told == "qwen: no answer. Wait"
    assert str(error) == "http://10.0.0.7:8000/v1: qwen: no answer. Wait"


def test_an_address_that_is_none_is_not_told() -> None:
    assert str(GenerationFailed("no answer", endpoint="http://[user:key@x")) == "no answer"


def test_no_password_of_an_address_is_told() -> None:
    error = KBError("no answer (at https://me:pa55@q.example:6333/x?a=b@c)", where="collection c at http://pa55@q/")
    assert str(error) == "collection c at http://q/: no answer (at https://q.example:6333/x?a=b@c)"
    assert without_secrets("http://me:pa55@q.example/v1?token=pa55") == "http://q.example/v1"
