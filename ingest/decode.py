"""Bytes of a text file to canonical text, whatever encoding they are in."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from kb.errors import LimitExceeded, UnreadableSource
from kb.text import HAN, canonical, printable

MAX_MB = 64  # of a text file: a hundred times a long book
_SAMPLE = 1 << 16  # bytes that decide on an encoding

_READABLE = re.compile(rf"[\t\n\r -~\u00a0-\u00ff\u2010-\u2027\u3000-\u303f\uff01-\uff5e]|{HAN.pattern}")
# The UTF-32 marks come first: the little-endian one begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def read_text(path: Path) -> str:
    """The canonical text of a file; line numbers are those of the file.

    Raises:
        LimitExceeded: if the file is larger than `MAX_MB`.
        UnreadableSource: if its bytes are no text in any encoding that can be told.
    """
    if path.stat().st_size > MAX_MB << 20:
        raise LimitExceeded(
            f"a text file of more than {MAX_MB} MiB", where=printable(str(path)), remedy="Split it into smaller files"
        )
    return decode(path.read_bytes(), where=printable(str(path)))


def decode(data: bytes, *, where: str = "") -> str:
    """Canonical text of bytes: by byte order mark, as UTF-8, as UTF-16 without a mark, as GB18030, as what
    charset-normalizer finds.

    Raises:
        UnreadableSource: naming the offset of the first byte that fits nowhere.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _strictly(data[len(mark) :], encoding, len(mark), where)
    if b"\0" not in data[:_SAMPLE]:
        try:
            return canonical(data.decode())
        except UnicodeDecodeError as error:
            failed = error.start
        return _strictly(data, _narrow(data, failed, where), 0, where)
    return _strictly(data, _wide(data, where), 0, where)


def _strictly(data: bytes, encoding: str, offset: int, where: str) -> str:
    try:
        return canonical(data.decode(encoding))
    except UnicodeDecodeError as error:
        raise UnreadableSource(
            f"byte {offset + error.start} is not valid {encoding.upper()}", where=where, remedy="Save it as UTF-8"
        ) from error


def _wide(data: bytes, where: str) -> str:
    """UTF-16 has NULs in every other byte of its Latin letters and blanks: all on one side."""
    even, odd = data[:_SAMPLE:2].count(0), data[1:_SAMPLE:2].count(0)
    if len(data) % 2 == 0 and min(even, odd) * 20 <= max(even, odd):
        encoding = "utf-16-le" if odd > even else "utf-16-be"
        text = data[:_SAMPLE].decode(encoding, errors="replace")
        if len(_READABLE.findall(text)) >= 0.9 * len(text):
            return encoding
    raise UnreadableSource(
        f"byte {data.index(0)} is NUL: this is no text file", where=where, remedy="Save it as UTF-8 text"
    )


def _narrow(data: bytes, failed: int, where: str) -> str:
    kept, lost = _as_utf8(data)
    if kept > lost:  # UTF-8 with a few bad bytes
        return "utf-8"
    if _reads_as_gb(data):
        return "gb18030"
    return "utf-8" if kept == lost else _guess(data, failed, where)


def _reads_as_gb(data: bytes) -> bool:
    """Whether the bytes beyond ASCII are the usual characters of GB 2312, and so Chinese in any of its supersets.

    Nearly all double bytes decode as GB18030, so validity says little. But running Chinese keeps to the 3,755 hanzi of
    level 1 (rows B0 to D7) and to punctuation (rows A1 to A3); Big5, Shift-JIS and Latin-1 scatter elsewhere.
    """
    sample = data[:_SAMPLE]
    usual = pairs = at = 0
    while at < len(sample) - 1:
        lead, trail = sample[at], sample[at + 1]
        if lead < 0x80:
            at += 1
            continue
        pairs += 1
        usual += trail >= 0xA1 and (0xA1 <= lead <= 0xA3 or 0xB0 <= lead <= 0xD7)
        at += 4 if 0x30 <= trail <= 0x39 else 2
    return pairs > 0 and usual >= 0.85 * pairs


def _as_utf8(data: bytes) -> tuple[int, int]:
    """How many characters of three bytes and more UTF-8 reads in the data, and how many bytes it does not.

    Usual hanzi in GB18030 can look like three bytes of UTF-8, each time behind a byte that fits nowhere.
    """
    text = data[:_SAMPLE].decode(errors="replace")
    return sum(character > "\u07ff" and character != "\ufffd" for character in text), text.count("\ufffd")


def _guess(data: bytes, failed: int, where: str) -> str:
    """Among the encodings that notes in Chinese and English come in, those beside GB18030 and Unicode."""
    from charset_normalizer import from_bytes

    sample = data if len(data) <= _SAMPLE else data[: data.rfind(b"\n", 0, _SAMPLE) + 1 or _SAMPLE]
    best = from_bytes(sample, cp_isolation=["big5", "big5hkscs", "shift_jis", "euc_jp", "cp1252"]).best()
    accents = sum(byte >= 0x80 for byte in sample)
    if best is None or (best.encoding == "cp1252" and accents * 4 > len(sample)):
        raise UnreadableSource(
            f"byte {failed} is not valid UTF-8, and no other encoding fits", where=where, remedy="Save it as UTF-8"
        )
    return best.encoding
