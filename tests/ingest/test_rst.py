from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.markup.restructured import read
from kb.types import Mark
from tests.ingest.documents import lines_told

TEXT = """\
Intro.

=====
Title
=====

Text of
two lines.

.. note::

   Inside.

.. code-block:: rst

   Sub
   ---

Sub
---

+---+---+
| a | b |
+---+---+

前缀缓存
~~~~~~~~

.. math:: x

Sub
---
* a

  b
"""


def test_sections_and_lines(capfd: pytest.CaptureFixture[str]) -> None:
    parsed = read(TEXT)
    lines = TEXT.split("\n")
    found = []
    for block in parsed.blocks:
        mark = block.locator
        assert isinstance(mark, Mark)
        assert block.text == "\n".join(lines[mark.line_start - 1 : mark.line_end])
        found.append((block.role.value, "/".join(mark.heading_path), mark.line_start, mark.anchor))
    assert found == [
        ("body", "", 1, ""),
        ("title", "Title", 3, "title"),
        ("body", "Title", 7, "title"),
        ("body", "Title", 10, "title"),
        ("code", "Title", 14, "title"),
        ("title", "Title/Sub", 19, "sub"),
        ("table", "Title/Sub", 22, "sub"),
        ("title", "Title/Sub/前缀缓存", 26, "section-1"),
        ("math", "Title/Sub/前缀缓存", 29, "section-1"),
        ("title", "Title/Sub", 31, "sub-1"),
        ("body", "Title/Sub", 33, "sub-1"),
    ]
    assert parsed.title == "Title"
    assert capfd.readouterr() == ("", "")


def test_nothing_is_included_or_made_raw(capfd: pytest.CaptureFixture[str]) -> None:
    text = "T\n=\n\n.. include:: /etc/hostname\n\n.. raw:: html\n   :file: /etc/hostname\n\n"
    text += ".. csv-table::\n   :file: /etc/hostname\n\n:unknown:`x` |y| `z`_\n\n.. nosuch::\n"
    assert "\n".join(block.text for block in read(text).blocks).split() == text.split()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "text",
    [
        "Bad\n==\n\nText",
        "====\n\nText",
        "A\n=\n\nB\n-\n\nC\n~\n\nD\n=\n\nE\n~\n\nx",
        "a\u2028b\n\nT\n=\n",
        "x::\n\n  y",
    ],
)
def test_odd_structure_loses_nothing(text: str) -> None:
    covered = [
        number
        for block in read(text).blocks
        if isinstance(block.locator, Mark)
        for number in range(block.locator.line_start, block.locator.line_end + 1)
    ]
    lines = text.split("\n")
    assert [number for number in covered if lines[number - 1].strip()] == [
        number for number, line in enumerate(lines, 1) if line.strip()
    ]


def told(text: str) -> list[tuple[str, str]]:
    return [(block.role.value, block.text) for block in read(text, "n.rst").blocks]


def test_literal_blocks_are_code_and_the_words_before_them_text() -> None:
    assert told("Run it::\n\n  vllm serve\n\n  # no heading\n\nDone.\n") == [
        ("body", "Run it::"), ("code", "  vllm serve\n\n  # no heading"), ("body", "Done."),
    ]  # fmt: skip


def test_a_table_with_blank_lines_is_one_block() -> None:
    table = "=====  =====\nname   size\n=====  =====\na      1\n\nb      2\n=====  ====="
    assert told(f"{table}\n\nAfter.\n") == [("table", table), ("body", "After.")]


def test_a_long_directive_comes_apart_at_its_code() -> None:
    text = ".. note::\n\n   First.\n\n   .. code-block:: sh\n\n" + "      run\n" * 8 + "\n   Last.\n\nAfter.\n"
    assert [role for role, _ in told(text)] == ["body", "body", "code", "body", "body"]


def test_what_the_page_does_not_show_is_told() -> None:
    text = ".. _label:\n\nT\n=\n\n.. a comment\n   that goes on\n\n.. highlight:: c\n\n..\n   empty\n\n"
    text += ".. _site: https://x.y\n\n.. [1] A note.\n"
    assert [text for _, text in told(text)] == ["T\n=", ".. _site: https://x.y", ".. [1] A note."]
    assert [(dropped.what, dropped.where) for dropped in read(text, "n.rst").dropped] == [
        ("link target", "n.rst, line 1"), ("2 × comment", "n.rst, lines 6-7, 11-12"), ("directive", "n.rst, line 9"),
    ]  # fmt: skip


def test_fields_of_a_note_say_its_date_and_version() -> None:
    parsed = read("T\n=\n\n:Author: A\n:Date: 2026-03-01\n:Version: 0.20\n\nText.\n", "n.rst")
    assert (str(parsed.date), parsed.version) == ("2026-03-01", "0.20")


PARTS = st.sampled_from(
    [
        "Text of\ntwo lines.", "* a\n\n  b\n* c", ".. note::\n\n   Inside.\n\n   More.", "Run::\n\n  code\n\n  more",
        ".. code-block:: sh\n\n   x", ".. comment\n   goes on", ".. _label:", "..", "Sub\n---", "====\nTop\n====",
        "====  ====\na     b\n\nc     d\n====  ====",
        "+---+\n| a |\n+---+", ".. |x| image:: a.png", ".. [1] note", ":Date: 2026-03-01", "  indented",
        "term\n  definition", "::\n\n  x", ".. highlight:: c",
    ]
)  # fmt: skip


@settings(deadline=None, max_examples=80)
@given(parts=st.lists(PARTS, max_size=8), glue=st.sampled_from(["\n\n", "\n", "\n\n\n"]))
def test_every_line_is_in_one_block_or_told(parts: list[str], glue: str) -> None:
    text = glue.join(parts)
    lines = text.split("\n")
    parsed = read(text, "n.rst")
    seen: list[int] = []
    for block in parsed.blocks:
        assert isinstance(block.locator, Mark)
        numbers = range(block.locator.line_start, block.locator.line_end + 1)
        assert block.text == "\n".join(lines[number - 1] for number in numbers)
        seen += numbers
    assert seen == sorted(set(seen))
    told = lines_told(parsed)
    assert [line for number, line in enumerate(lines, 1) if line.strip() and number not in told] == []
