from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from ingest.markup.translations import read
from kb.errors import UnreadableSource
from kb.text import find_quote
from kb.types import Flag, Mark

HEADER = 'msgid ""\nmsgstr ""\n"Language: zh_CN\\n"\n"PO-Revision-Date: 2026-07-29 10:14+0000\\n"\n\n'
TEXT = (
    HEADER
    + '#: ../../source/guide.md:1\nmsgid "Guide"\nmsgstr "指南"\n\n'
    + '#: ../../source/guide.md:3\nmsgid ""\n"A long "\n"text"\nmsgstr ""\n"很长的"\n"\\"文字\\""\n\n'
    + '#: ../../source/guide.md:5\n#, fuzzy\nmsgid "a"\nmsgstr "甲"\n\n'
    + 'msgid "b"\nmsgstr ""\n\nmsgid "c"\nmsgstr ""\n\n'
    + 'msgid "%d block"\nmsgid_plural "%d blocks"\nmsgstr[0] "%d 块"\n\n'
    + '#~ msgid "old"\n#~ msgstr "旧"\n'
)


def test_translations_stand_with_their_lines() -> None:
    parsed = read(TEXT, "guide.po")
    assert [(block.text, str(block.locator)) for block in parsed.blocks] == [
        ("指南", "M:source%2Fguide.md~#L6-8"),
        ('很长的"文字"', "M:source%2Fguide.md~#L10-16"),
        ("%d 块", "M:#L29-31"),
    ]
    assert [block.original for block in parsed.blocks] == ["Guide", "A long text", "%d block\n%d blocks"]
    assert all(block.flags == {Flag.TRANSLATION} for block in parsed.blocks)
    assert (parsed.title, parsed.lang, parsed.date) == ("指南", "zh", date(2026, 7, 29))
    assert {(d.what, d.reason.split()[0]) for d in parsed.dropped} == {
        ("1 entry", "fuzzy"), ("2 entries", "untranslated"), ("1 entry", "obsolete"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "text", ["not a catalogue", "", 'msgid "a"\nmsgstr ""\n', 'msgid "a\nmsgstr b', "/etc/hostname"]
)
def test_what_is_no_catalogue_says_so(text: str) -> None:
    with pytest.raises(UnreadableSource, match=r"guide\.po"):
        read(text, "guide.po")


def test_line_separators_do_not_shift_lines() -> None:
    parsed = read(HEADER + 'msgid "a"\nmsgstr "甲\u2028乙"\n\nmsgid "b"\nmsgstr "丙"\n', "guide.po")
    assert isinstance(parsed.blocks[1].locator, Mark)
    assert parsed.blocks[1].locator.line_start == 9


@pytest.mark.corpus
def test_wrapped_translations_of_the_corpus_are_found_whole(corpus: Path) -> None:
    (path,) = corpus.rglob("*.po")
    parsed = read(path.read_text("utf-8"), path.name)
    for quote in (
        "第一部分与最后一部分合并，第二部分与倒数第二部分合并，依此类推，从而为每个设备分配计算平衡的块。",
        "摘要：PCP 通过序列拆分加速预填充",
    ):
        assert any(find_quote(quote, block.text) for block in parsed.blocks)
