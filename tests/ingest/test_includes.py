"""What a note includes stands in its place; nothing outside its documentation is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.chunking.chunk import split
from ingest.load import load
from ingest.markup import notes
from ingest.parsed import Parsed, Reading
from kb.settings import Settings
from kb.types import Mark
from tests.fakes import FakeEmbedder

READING = Reading(Settings())


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A documentation with a file beside it that nobody may include."""
    (tmp_path / "secret.txt").write_text("hidden words", encoding="utf-8")
    root = tmp_path / "project"
    files = {
        "mkdocs.yml": "",
        ".env": "hidden words",
        "docs/parts/intro.md": "---\ntitle: Not mine\n---\nThe first part.\n\n## Below\n\nThe second part.\n\n\n",
        "docs/parts/run.sh": "#!/bin/sh\n# --8<-- [start:go]\nvllm serve\n\n# no heading\n# --8<-- [end:go]\nrest\n",
        "docs/_partial.mdx": "A *partial*.\n",
        "docs/loop.md": '--8<-- "loop2.md"\n',
        "docs/loop2.md": 'Turn.\n--8<-- "loop.md"\n',
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root / "docs"


def read(docs: Path, text: str, name: str = "note.md") -> Parsed:
    (docs / name).write_text(text, encoding="utf-8")
    return notes.read(docs / name, READING)


def told(parsed: Parsed) -> list[tuple[str, str]]:
    return [(str(block.locator), block.text) for block in parsed.blocks]


def test_an_included_note_stands_where_it_was_asked_for_and_lines_behind_it_stay(docs: Path) -> None:
    parsed = read(docs, '# Guide\n\n--8<-- "parts/intro.md"\n\nBehind it.\n')
    assert told(parsed) == [
        ("M:Guide#L1-1", "# Guide"),
        ("M:Guide#L3-3", "The first part."),
        ("M:Guide/Below#L3-3", "## Below"),
        ("M:Guide/Below#L3-3", "The second part."),
        ("M:Guide/Below#L5-5", "Behind it."),
    ]
    assert parsed.title == "Guide"


def test_a_section_of_code_goes_into_its_fence(docs: Path) -> None:
    parsed = read(docs, '!!! tip\n    ```sh\n    --8<-- "docs/parts/run.sh:go"\n    ```\n\nEnd.\n')
    assert told(parsed) == [
        ("M:#L1-4", "!!! tip\n    ```sh\n    vllm serve\n\n    # no heading\n    ```"),
        ("M:#L6-6", "End."),
    ]


@pytest.mark.parametrize(
    ("directive", "text"),
    [
        ('--8<-- "parts/run.sh:3:3"', "vllm serve"),
        ('--8<-- "parts/run.sh::1"', "#!/bin/sh"),
        ("--8<--\nparts/run.sh::1\n; parts/intro.md\n--8<--", "#!/bin/sh"),
        ("{% include-markdown 'parts/intro.md' %}", "The first part."),
        ("import Part from './_partial.mdx'\n\n<Part />", "A *partial*."),
    ],
)
def test_ways_to_include(docs: Path, directive: str, text: str) -> None:
    assert text in [block.text for block in read(docs, f"{directive}\n").blocks]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("../../secret.txt", "no such file"),
        ("/etc/hostname", "no such file"),
        (".env", "no such file"),
        ("../.env", "no such file"),
        ("link.txt", "no such file"),
        ("parts", "no such file"),
        ("https://example.org/a.md", "network"),
        ("parts/run.sh:nothing", "no section"),
        ("loop.md", "includes itself"),
        ("note.md", "includes itself"),
    ],
)
def test_part2_36_what_may_not_be_included_is_told_and_its_line_stays(docs: Path, target: str, reason: str) -> None:
    (docs / "link.txt").symlink_to(docs.parent.parent / "secret.txt")
    parsed = read(docs, f'Text.\n\n--8<-- "{target}"\n')
    assert any(reason in dropped.reason and "note.md, line 3" in dropped.where for dropped in parsed.dropped)
    assert "hidden words" not in " ".join(block.text for block in parsed.blocks)


def test_many_inclusions_end(docs: Path) -> None:
    for level in range(9):
        (docs / f"bomb{level}.md").write_text(f'--8<-- "bomb{level + 1}.md"\n' * 12, encoding="utf-8")
    (docs / "bomb9.md").write_text("boom\n" * 50, encoding="utf-8")
    parsed = read(docs, 'Text.\n\n--8<-- "bomb3.md"\n')
    assert {dropped.reason.split(":")[-1] for dropped in parsed.dropped} == {
        "too many files deep",
        " no more is included",
    }
    assert len(parsed.dropped) < 9
    assert sum(block.text.count("\n") for block in parsed.blocks) < 25_000


def test_a_note_without_a_documentation_includes_from_its_own_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "up.md").write_text("hidden words", encoding="utf-8")
    (tmp_path / "a/beside.md").write_text("Beside.", encoding="utf-8")
    parsed = read(tmp_path / "a", '--8<-- "beside.md"\n\n--8<-- "../up.md"\n')
    assert [text for _, text in told(parsed)] == ["Beside.", '--8<-- "../up.md"']


def test_chunks_of_what_is_included_point_to_the_line_that_asks(docs: Path) -> None:
    (docs / "long.py").write_text("\n".join(f"value_{n} = {n}" for n in range(120)), encoding="utf-8")
    (docs / "note.md").write_text('# T\n\n```py\n--8<-- "long.py"\n```\n\nEnd.\n', encoding="utf-8")
    document = load(docs / "note.md", READING)
    chunks = split(document, count_tokens=FakeEmbedder().count_tokens, max_tokens=128)
    marks = [locator for chunk in chunks for locator in chunk.locators]
    assert {(mark.line_start, mark.line_end) for mark in marks if isinstance(mark, Mark)} == {(1, 1), (3, 5), (7, 7)}


def test_what_a_note_includes_is_part_of_what_it_means(docs: Path) -> None:
    note, plain = docs / "note.md", docs / "plain.md"
    note.write_text('--8<-- "parts/run.sh"\n', encoding="utf-8")
    plain.write_text("Nothing is included.\n", encoding="utf-8")
    before = notes.means(note), notes.means(plain)
    (docs / "parts/run.sh").write_text("changed\n", encoding="utf-8")
    assert notes.means(note) != before[0]
    assert notes.means(plain) == before[1] == ""


# --- reStructuredText -------------------------------------------------------------------------------------------


def test_restructured_text_includes_notes_code_and_tables(docs: Path) -> None:
    (docs / "part.rst").write_text("Below\n-----\n\nIncluded.\n", encoding="utf-8")
    (docs / "table.csv").write_text("model,size\nsmall,1 GB\n", encoding="utf-8")
    text = (
        "Guide\n=====\n\n.. include:: part.rst\n\n.. literalinclude:: parts/run.sh\n"
        "   :language: sh\n   :lines: 3-3\n\n"
        ".. csv-table:: Sizes\n   :file: table.csv\n\nBehind.\n"
    )
    parsed = read(docs, text, "note.rst")
    assert [(block.role.value, str(block.locator), block.text) for block in parsed.blocks] == [
        ("title", "M:Guide#L1-2", "Guide\n====="),
        ("title", "M:Guide/Below#L4-4", "Below\n-----"),
        ("body", "M:Guide/Below#L4-4", "Included."),
        ("code", "M:Guide/Below#L6-6", ".. code-block:: sh\n\n   vllm serve"),
        ("table", "M:Guide/Below#L10-10", ".. csv-table:: Sizes\n   :file: table.csv\n\n   model,size\n   small,1 GB"),
        ("body", "M:Guide/Below#L13-13", "Behind."),
    ]


@pytest.mark.parametrize("target", ["/etc/hostname", "../../secret.txt", "http://x.y/a.rst", "nothing.rst"])
def test_restructured_text_that_may_not_be_included_is_told(docs: Path, target: str) -> None:
    parsed = read(docs, f"Text.\n\n.. include:: {target}\n", "note.rst")
    (dropped,) = parsed.dropped
    assert dropped.where == "note.rst, line 3"
    assert parsed.blocks[-1].text == f".. include:: {target}"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (":start-line: 1\n   :end-line: 2", "two"),
        (":start-after: one", "two\nthree"),
        (":end-before: three", "one\ntwo"),
        (":start-line: x", ""),
    ],
)
def test_parts_of_included_text(docs: Path, options: str, text: str) -> None:
    (docs / "part.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    parsed = read(docs, f"Text.\n\n.. include:: part.txt\n   {options}\n", "note.rst")
    last = parsed.blocks[-1].text
    assert last == text if text else (parsed.dropped and last.startswith(".. include::"))


def test_many_inclusions_in_restructured_text_end(docs: Path) -> None:
    for number in range(4):
        (docs / f"{number}.rst").write_text(f"Text {number}\n\n" + f".. include:: {number + 1}.rst\n" * 30, "utf-8")
    (docs / "4.rst").write_text("Last\n", "utf-8")
    told = [
        item.reason
        for item in read(docs, ".. include:: 0.rst\n", "note.rst").dropped
        if "no more is included" in item.reason
    ]
    assert len(told) == 1


def test_lines_that_are_asked_for_again_and_again_end(docs: Path) -> None:
    (docs / "long.py").write_text("x = 1\n" * 1000, "utf-8")
    parsed = read(docs, f"Text\n\n.. literalinclude:: long.py\n   :lines: {'1-,' * 50_000}\n", "note.rst")
    assert "no more is included" in parsed.dropped[0].reason


@pytest.mark.parametrize(
    ("name", "line"), [("note.md", '--8<-- "wide.txt"\n'), ("note.rst", ".. include:: wide.txt\n")]
)
def test_a_long_line_is_not_multiplied(docs: Path, name: str, line: str) -> None:
    (docs / "wide.txt").write_text("word " * 200_000, "utf-8")
    parsed = read(docs, "Text.\n\n" + line * 60, name)
    assert sum(len(block.text) for block in parsed.blocks) < 5_000_000
    assert [item for item in parsed.dropped if "no more is included" in item.reason]
