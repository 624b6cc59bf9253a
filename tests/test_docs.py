"""Documents that lie fail here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from pydantic import BaseModel

from kb.settings import Settings

ROOT = Path(__file__).resolve().parents[1]


def variables(model: type[BaseModel], prefix: str = "KB_") -> list[str]:
    names = []
    for name, field in model.model_fields.items():
        nested = field.annotation
        if isinstance(nested, type) and issubclass(nested, BaseModel):
            names += variables(nested, f"{prefix}{name.upper()}_")
        else:
            names.append(prefix + name.upper())
    return names


def test_every_setting_is_documented_and_nothing_else() -> None:
    documented = re.findall(r"^\| `(KB_\w+)`", (ROOT / "docs" / "settings.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(documented) == sorted(variables(Settings))


def test_readme_is_short_and_its_links_lead_somewhere() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert len(readme.splitlines()) < 200
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", readme):
        assert (ROOT / target).exists(), target


def test_docs_link_to_files_that_exist() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_readme_names_the_commands_of_the_makefile() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)", readme))
    assert {"demo", "test"} <= named <= targets


def test_questions_of_the_documents_can_be_pasted_into_a_shell() -> None:
    options_with_values = {"--lang", "--kind", "--home"}
    for page in (ROOT / "README.md", ROOT / "examples" / "README.md", *(ROOT / "docs").rglob("*.md")):
        for line in re.findall(r"^(?:\$ )?kb ((?:ask|search) .*)$", page.read_text("utf-8"), re.MULTILINE):
            words = shlex.split(line.partition(";")[0], comments=True)[1:]
            asked = [
                word
                for before, word in zip(("", *words), words, strict=False)
                if not word.startswith("-") and before not in options_with_values
            ]
            assert len(asked) == 1, f"{page.name}: kb {line}"


def test_changelog_keeps_the_form() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "## [Unreleased]" in changelog
    assert set(re.findall(r"^### (\w+)", changelog, re.MULTILINE)) <= {
        "Added",
        "Changed",
        "Deprecated",
        "Removed",
        "Fixed",
        "Security",
    }
