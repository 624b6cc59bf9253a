from __future__ import annotations

import json
from pathlib import Path

import pytest

from ingest import notes
from ingest.chunk import split
from ingest.parsed import Reading
from kb.errors import UnreadableSource
from kb.settings import Settings
from kb.text import find_quote
from kb.types import Mark
from tests.fakes import FakeEmbedder
from tests.ingest.documents import document

READING = Reading(Settings())


def test_plain_text_comes_in_paragraphs(tmp_path: Path) -> None:
    path = tmp_path / "a.TXT"
    path.write_bytes("\ufeffOne\r\ntwo\r\n\r\n  三\r\n# no heading\r\n".encode())
    parsed = notes.read(path, READING)
    assert [(block.text, str(block.locator)) for block in parsed.blocks] == [
        ("One\ntwo", "M:#L1-2"),
        ("  三\n# no heading", "M:#L4-5"),
    ]
    assert parsed.title is None


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.md", "# T\n\nx", "M:T#L3-3"),
        ("a.markdown", "# T\n\nx", "M:T#L3-3"),
        ("a.rst", "T\n=\n\nx", "M:T#L4-4"),
        ("a.po", 'msgid "a"\nmsgstr "b"\n', "M:#L1-2"),
    ],
)
def test_each_format_has_its_reader(tmp_path: Path, name: str, text: str, place: str) -> None:
    (tmp_path / name).write_text(text)
    assert str(notes.read(tmp_path / name, READING).blocks[-1].locator) == place


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf", b"---\ntitle: T\n---\n", b"***\n"])
def test_a_file_without_text_is_an_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.md").write_bytes(data)
    with pytest.raises(UnreadableSource, match=r"a\.md: it holds no text"):
        notes.read(tmp_path / "a.md", READING)


def test_p26_a_byte_order_mark_does_not_hide_front_matter(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbf---\r\ntitle: T\r\n---\r\n\r\nx\r\n")
    parsed = notes.read(tmp_path / "a.md", READING)
    assert (parsed.title, str(parsed.blocks[0].locator)) == ("T", "M:#L5-5")


@pytest.mark.corpus
@pytest.mark.parametrize("cases", ["dev.jsonl", "dev_natural.jsonl"])
def test_quotes_of_the_questions_stand_whole_in_one_chunk(corpus: Path, cases: str) -> None:
    wanted: dict[str, list[str]] = {}
    for line in (corpus.parent / "eval" / cases).read_text("utf-8").splitlines():
        case = json.loads(line)
        for gold in case["gold"] + case.get("alternatives", []):
            if Path(gold["file"]).suffix in (".md", ".txt", ".po"):
                wanted.setdefault(gold["file"], []).append(gold["quote"])
    missing = []
    for file, quotes in wanted.items():
        doc = document(notes.read(corpus / file, READING).blocks, title=file, uri=(corpus / file).as_uri())
        chunks = split(doc, count_tokens=FakeEmbedder().count_tokens, max_tokens=384)
        assert all(isinstance(locator, Mark) for chunk in chunks for locator in chunk.locators)
        missing += [(file, quote) for quote in quotes if not any(find_quote(quote, chunk.text) for chunk in chunks)]
    assert missing == []
