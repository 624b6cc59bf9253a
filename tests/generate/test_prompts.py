from __future__ import annotations

from pathlib import Path

import pytest

from generate import prompts


@pytest.mark.parametrize("path", sorted(Path(prompts.__file__).parent.glob("*.md")), ids=lambda path: path.stem)
def test_every_prompt_declares_what_it_uses(path: Path) -> None:
    prompt = prompts.load(path.stem)
    assert prompt.render(**dict.fromkeys(prompt.variables, "x"))


@pytest.mark.parametrize(
    "content",
    ["---\nvariables: [a]\n---\nHello", "---\nvariables: []\n---\nHello $a", "---\nvariables: [a]\n---\n$a costs $5"],
)
def test_a_prompt_that_lies_about_its_variables_does_not_load(content: str) -> None:
    with pytest.raises(ValueError, match="prompt p"):
        prompts.parse("p", content)


def test_rendering_needs_exactly_the_variables_and_leaves_values_alone() -> None:
    prompt = prompts.parse("p", "---\nvariables: [a]\n---\nHello $a")
    assert prompt.render(a="$b ${c}") == "Hello $b ${c}"
    with pytest.raises(ValueError, match="takes"):
        prompt.render(b="x")
