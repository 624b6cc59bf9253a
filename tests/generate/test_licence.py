from __future__ import annotations

import pytest

from generate.licence import as_evidence, is_licence
from kb.types import Hit
from tests.generate.material import hit


def at(path: str) -> Hit:
    found = hit("Permission is granted free of charge; no fee is charged.", title=path)
    return found.model_copy(update={"source": found.source.model_copy(update={"uri": f"file:///corpus/{path}"})})


@pytest.mark.parametrize(
    "path",
    ["LICENSE", "LICENSES/vllm.txt", "docs/LICENCE.md", "COPYING", "NOTICE.txt", "LICENSE-APACHE", "mit-license.txt"],
)
def test_the_text_of_a_licence_is_known_by_its_name(path: str) -> None:
    assert is_licence(at(path).source)


@pytest.mark.parametrize(
    "path", ["licensing-server.md", "noticeboard.md", "copying-blocks.en.md/x.md", "notes/cache.md"]
)
def test_other_sources_are_not(path: str) -> None:
    assert not is_licence(at(path).source)


@pytest.mark.parametrize(
    ("question", "counts"),
    [
        ("Under which licence may I use the course?", True),
        ("Is there a warranty?", True),
        ("这些笔记用什么许可证发布？", True),
        ("What annual licence fee is charged per node?", False),
        ("Which blocks may be copied free of charge?", False),
        ("收费多少？", False),
    ],
)
def test_a_licence_is_evidence_only_for_its_terms(question: str, counts: bool) -> None:
    note = at("notes/cache.md")
    assert as_evidence(question, [at("LICENSES/vllm.txt"), note]) == (
        [at("LICENSES/vllm.txt"), note] if counts else [note]
    )
