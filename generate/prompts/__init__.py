"""Prompts in files beside this one; the variables that each declares are checked when it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

import yaml

from kb.text import stable_id


@dataclass(frozen=True)
class Prompt:
    """A text with `$variables`; every one is declared, and every declared one is used."""

    name: str
    text: str
    variables: frozenset[str]

    @property
    def fingerprint(self) -> str:
        return stable_id("prompt", self.name, self.text)

    def render(self, **values: str) -> str:
        """The text with its variables filled in. What is filled in is not looked at again.

        Raises:
            ValueError: if a variable is missing or unknown.
        """
        if values.keys() != self.variables:
            raise ValueError(f"prompt {self.name} takes {sorted(self.variables)}, not {sorted(values)}")
        return Template(self.text).substitute(values)


@cache
def load(name: str) -> Prompt:
    """The prompt `name`, from `generate/prompts/<name>.md`."""
    return parse(name, files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8"))


def parse(name: str, content: str) -> Prompt:
    """A prompt from its file: front matter that declares `variables`, then the text.

    Raises:
        ValueError: if the declared variables are not exactly those of the text.
    """
    _, front, text = content.split("---\n", 2)
    declared = frozenset(yaml.safe_load(front)["variables"])
    template = Template(text.strip())
    if not template.is_valid():
        raise ValueError(f"prompt {name} holds a `$` that starts no variable")
    used = frozenset(template.get_identifiers())
    if used != declared:
        raise ValueError(f"prompt {name} declares {sorted(declared)} but uses {sorted(used)}")
    return Prompt(name, template.template, declared)
