from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from pytest_socket import disable_socket

from ingest.chunking.chunk import split
from ingest.decode import read_text
from ingest.formats import KINDS
from ingest.load import load
from ingest.markup import notes
from ingest.parsed import Reading
from kb.errors import UnreadableSource
from kb.settings import Settings
from kb.text import find_quote, sentences
from kb.types import Kind, Mark
from tests.fakes import FakeEmbedder
from tests.ingest.documents import document, lines_told

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
    with pytest.raises(UnreadableSource, match=r"a\.md: it holds no text\. Write something in it, or list it"):
        notes.read(tmp_path / "a.md", READING)


def test_p26_a_byte_order_mark_does_not_hide_front_matter(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbf---\r\ntitle: T\r\n---\r\n\r\nx\r\n")
    parsed = notes.read(tmp_path / "a.md", READING)
    assert (parsed.title, str(parsed.blocks[0].locator)) == ("T", "M:#L5-5")


NOTES = {
    ".md": '# T\n\n![p](http://127.0.0.1:9/a.png) [x](http://127.0.0.1:9)\n\n--8<-- "http://127.0.0.1:9/a.md"\n',
    ".markdown": "Text.\n",
    ".mdx": "import A from 'http://127.0.0.1:9/a.mdx'\n\n<A />\n\nText.\n",
    ".txt": "Text.\n",
    ".rst": "T\n=\n\n.. include:: http://127.0.0.1:9/a.rst\n\n.. csv-table::\n   :url: http://127.0.0.1:9/a.csv\n\nText.\n",
    ".ipynb": '{"cells": [{"cell_type": "markdown", "source": ["![p](http://127.0.0.1:9/a.png)"]}]}',
    ".html": '<!DOCTYPE html SYSTEM "http://127.0.0.1:9/x.dtd"><p>Text.<img src="http://127.0.0.1:9/a.png">',
    ".htm": "<p>Text.</p>",
    ".po": 'msgid "a"\nmsgstr "b"\n',
}


@pytest.mark.parametrize("suffix", sorted(NOTES))
def test_p21_no_note_reaches_for_the_network(tmp_path: Path, suffix: str) -> None:
    assert KINDS[suffix] is Kind.NOTE
    path = tmp_path / f"a{suffix}"
    path.write_text(NOTES[suffix], encoding="utf-8")
    disable_socket()
    assert load(path, READING).segments


HOSTILE = {
    "dashes": "-" * 200_000 + "8<",
    "marks": "text -8<- [start" * 20_000,
    "tags": "<div " + '<a "' * 50_000,
    "blanks in a tag": "<div>\n<a" + " " * 200_000,
    "comments": "<div>\n" + "<!--" * 50_000,
    "imports": "import " * 50_000,
    "brackets": "x\n" + "\\[\n" * 10_000,
    "dollars": "$$a" * 50_000,
    "colons": ":::a\n" * 4_000,
    "tabs": '=== "a"\n' * 4_000,
    "keys": "---\n" + "a:\n" * 10_000,
    "pipes": "|" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_repetition_takes_no_time(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.mdx"
    path.write_text(f"# T\n\n{HOSTILE[name]}\n" if name != "keys" else HOSTILE[name], encoding="utf-8")
    began = time.process_time()
    list(sentences("\n".join(block.text for block in notes.read(path, READING).blocks)))
    assert time.process_time() - began < 5


def test_a_long_line_of_a_notebook_takes_no_time(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    output = {"output_type": "stream", "text": ["x" * 500_000]}
    path.write_text(
        json.dumps({"cells": [{"cell_type": "code", "source": "x", "outputs": [output]}]}), encoding="utf-8"
    )
    began = time.process_time()
    assert len(notes.read(path, READING).blocks) == 2
    assert time.process_time() - began < 5


# --- nothing is lost --------------------------------------------------------------------------------------------

_FACT = re.compile(r"(?:title|lang|language|date|version|url|licence|license)\s*:")


def lost(path: Path) -> list[tuple[int, str]]:
    """Lines of a note that are in no block and that no `Dropped` names, and that say something."""
    lines = read_text(path).split("\n")
    told = lines_told(notes.read(path, READING))
    front = lines.index("---", 1) + 1 if lines[0] == "---" and "---" in lines[1:] else 0
    return [
        (number, line)
        for number, line in enumerate(lines, 1)
        if number not in told and set(line.strip()) - set("-*_ ") and not (number <= front and _FACT.match(line))
    ]


@pytest.mark.corpus
def test_every_line_of_every_note_of_the_corpus_is_a_segment_or_told(corpus: Path) -> None:
    paths = sorted(path for suffix in ("*.md", "*.txt") for path in corpus.rglob(suffix))
    assert len(paths) > 80
    assert {path.name: missing for path in paths if (missing := lost(path))} == {}


@pytest.mark.corpus
def test_every_translated_entry_of_the_corpus_is_a_segment(corpus: Path) -> None:
    (path,) = corpus.rglob("*.po")
    text = read_text(path)
    parsed = notes.read(path, READING)
    left_out = sum(int(dropped.what.split()[0]) for dropped in parsed.dropped)
    entries = len(re.findall(r'(?m)^(?:#~ )?msgid "', text)) - 1
    assert len(parsed.blocks) + left_out == entries


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
