"""Bytes to text: encodings that notes and captions come in."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingest import decode as module
from ingest.decode import decode, read_text
from kb.errors import LimitExceeded, UnreadableSource

CHINESE = "推理系统不是推理引擎\n每天调用量超过 5 亿次\n"
TRADITIONAL = "推理系統它不是推理引擎。這是一個比較長的句子，用來測試繁體中文的編碼。\n"


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "gb18030", "gbk", "gb2312"],
)
@pytest.mark.parametrize("text", [CHINESE, "KV cache 的块大小是 16 个 token\n"])
def test_chinese_in_any_encoding(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (TRADITIONAL, "big5"),
        ("naïve café, “quoted” – it’s plain text all the same\n", "cp1252"),
        ("日本語のテキストです。これはテストです。\n", "shift_jis"),
        ("第一", "gbk"),
        ("plain ASCII\n", "ascii"),
        ("", "ascii"),
    ],
)
def test_other_encodings(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_line_numbers_stay() -> None:
    lines = decode("\ufeffone\r\n\r\nthree\rfour\x0b\x0c\x85still\nsix".encode()).split("\n")
    assert lines[:3] == ["one", "", "three"]
    assert lines[3].startswith("four")
    assert lines[4:] == ["six"]


@pytest.mark.parametrize(
    ("data", "byte"),
    [
        ("hello 你".encode() + b"\xc3", 9),
        (b"\xff\xfea", 2),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 8),
        (b"abc\xff\xff\xffdef", 3),
        (b"\0" * 400, 0),
    ],
    ids=["damaged UTF-8", "half UTF-16", "picture", "noise", "zeros"],
)
def test_what_is_no_text_names_the_byte(data: bytes, byte: int) -> None:
    with pytest.raises(UnreadableSource, match=rf"^notes\.md: byte {byte} ") as caught:
        decode(data, where="notes.md")
    assert "UTF-8" in caught.value.remedy


@given(st.binary(max_size=300))
def test_any_bytes_give_text_or_a_typed_error(data: bytes) -> None:
    with contextlib.suppress(UnreadableSource):
        assert isinstance(decode(data), str)


@example("这不")
@given(st.text(alphabet="的一是在不了有和人这中大为上个国我以要他, .aZ9\n", min_size=1))
def test_common_chinese_survives_gb18030(text: str) -> None:
    data = text.encode("gb18030")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        assert decode(data) == text


def test_a_text_file_of_no_human_size_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "log.txt").open("wb") as stream:
        os.truncate(stream.fileno(), (module.MAX_MB << 20) + 1)
    with pytest.raises(LimitExceeded, match=r"log\.txt"):
        read_text(tmp_path / "log.txt")
