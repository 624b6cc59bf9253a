"""Notebooks: what a reader sees of them, with the lines of the file."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from ingest.chunking.chunk import split
from ingest.markup.notebook import read
from kb.errors import UnreadableSource
from tests.fakes import FakeEmbedder
from tests.ingest.documents import document


def markdown(*source: str) -> dict[str, object]:
    return {"cell_type": "markdown", "metadata": {}, "source": list(source)}


def code(source: str, *outputs: Mapping[str, object]) -> dict[str, object]:
    return {"cell_type": "code", "metadata": {}, "source": source.splitlines(keepends=True), "outputs": list(outputs)}


def notebook(*cells: dict[str, object], indent: int | None = 1) -> str:
    return json.dumps(
        {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=indent, ensure_ascii=False
    )


STREAM = {"output_type": "stream", "name": "stdout", "text": ["loading 10%\rloading 100%\n", "done\n"]}
FIGURE = {"output_type": "display_data", "data": {"image/png": "aGk=", "text/plain": ["<Figure>"]}, "metadata": {}}
WIDGET = {"output_type": "display_data", "data": {"text/html": ["<b>x</b>"]}, "metadata": {}}
ERROR = {"output_type": "error", "ename": "E", "evalue": "bad", "traceback": ["\x1b[0;31mTraceback\x1b[0m", "E: bad"]}


def test_cells_and_outputs_come_in_order_with_their_lines() -> None:
    text = notebook(
        markdown("# Paging 分页\n", "\n", "Some text.\n", "\n", "| a | b |\n", "|---|---|\n", "| 1 | 2 |"),
        code("x = 1\n# no heading\nprint(x)", STREAM, FIGURE, WIDGET, ERROR),
        markdown("## Second\n", "```\n", "# no heading\n", "```"),
    )
    lines = text.split("\n")
    parsed = read(text, "n.ipynb")
    assert [(block.role.value, "/".join(block.locator.heading_path), block.text) for block in parsed.blocks] == [  # type: ignore[union-attr]
        ("title", "Paging 分页", "# Paging 分页"),
        ("body", "Paging 分页", "Some text."),
        ("table", "Paging 分页", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("code", "Paging 分页", "x = 1\n# no heading\nprint(x)"),
        ("code", "Paging 分页", "loading 100%\ndone"),
        ("code", "Paging 分页", "Traceback\nE: bad"),
        ("title", "Paging 分页/Second", "## Second"),
        ("code", "Paging 分页/Second", "```\n# no heading\n```"),
    ]
    for block in parsed.blocks:
        first, last = block.text.split("\n")[0], block.text.split("\n")[-1]
        assert json.dumps(first, ensure_ascii=False)[1:-1].split("loading")[-1] in lines[block.locator.line_start - 1]  # type: ignore[union-attr]
        assert json.dumps(last, ensure_ascii=False)[1:-1] in lines[block.locator.line_end - 1]  # type: ignore[union-attr]
    assert parsed.title == "Paging 分页"
    assert {(dropped.what, dropped.reason) for dropped in parsed.dropped} == {
        ("image/png output", "what it shows cannot be read"),
        ("interactive output", "it has no form that is text"),
    }


def test_a_cell_written_as_one_string_has_one_line() -> None:
    text = notebook({"cell_type": "markdown", "metadata": {}, "source": "# T\n\ntext\n\n- a\n- b"}, indent=None)
    assert {str(block.locator) for block in read(text, "n").blocks} == {"M:T#L1-1"}
    doc = document(read(text, "n").blocks, uri="file:///n.ipynb")
    (chunk,) = split(doc, count_tokens=FakeEmbedder().count_tokens, max_tokens=128)
    assert {str(locator) for locator in chunk.locators} == {"M:T#L1-1"}


def test_the_format_before_this_one_is_read() -> None:
    old = {
        "nbformat": 3,
        "worksheets": [
            {
                "cells": [
                    {"cell_type": "heading", "level": 2, "source": ["Old"]},
                    {
                        "cell_type": "code",
                        "input": ["y = 2"],
                        "outputs": [{"output_type": "pyout", "text": ["2"], "png": "aGk="}],
                    },
                ]
            }
        ],
    }
    parsed = read(json.dumps(old), "n")
    assert [block.text for block in parsed.blocks] == ["## Old", "y = 2", "2"]


def test_attached_pictures_are_told() -> None:
    cell = markdown("![a figure](attachment:a.png)") | {"attachments": {"a.png": {"image/png": "aGk="}}}
    parsed = read(notebook(cell), "n")
    assert parsed.blocks[0].text == "![a figure](attachment:a.png)"
    assert [dropped.what for dropped in parsed.dropped] == ["attached picture"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{", "not valid JSON"), ("[]", "no cells"), ('{"cells": 1}', "no cells"), ("[" * 100_000, "not valid JSON")],
)
def test_what_is_no_notebook_says_so(text: str, reason: str) -> None:
    with pytest.raises(UnreadableSource, match=rf"n\.ipynb.*{reason}.*Jupyter"):
        read(text, "n.ipynb")


def test_p22_code_of_a_cell_with_a_fence_inside_is_not_closed() -> None:
    doc = document(read(notebook(code('"""\n```\nx\n"""')), "n").blocks, uri="file:///n.ipynb")
    (chunk,) = split(doc, count_tokens=FakeEmbedder().count_tokens, max_tokens=128)
    assert chunk.text == '"""\n```\nx\n"""'


def test_cells_of_odd_shapes_stop_nothing() -> None:
    cells = [
        {"cell_type": "code"},
        {},
        {"cell_type": "raw", "source": ["raw"]},
        {"cell_type": "code", "source": None, "outputs": [3]},
    ]
    assert [block.text for block in read(json.dumps({"cells": cells}), "n").blocks] == ["raw"]


def test_a_heading_is_no_deeper_than_headings_are() -> None:
    cell = {"cell_type": "heading", "level": 10**7, "source": ["Paging"]}
    assert [block.text for block in read(notebook(cell), "n.ipynb").blocks] == ["###### Paging"]


@pytest.mark.parametrize("odd", [5, True, 1.5, "text", {"a": 1}, [5, None]])
def test_values_of_wrong_types_stop_nothing(odd: object) -> None:
    shaped = code("shown = 1") | {"outputs": odd, "attachments": odd}
    figure = {"output_type": "display_data", "data": {"image/png": "aGk=", "text/plain": odd}}
    parsed = read(notebook(shaped, code("kept = 2", figure)), "n.ipynb")
    assert {"shown = 1", "kept = 2"} <= {block.text for block in parsed.blocks}
