"""A PDF by hand: just enough to place text on pages in the ways that readers stumble over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_TO_UNICODE = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CMapName /T def /CMapType 2 def 1 begincodespacerange <0000> <FFFF> endcodespacerange
1 beginbfrange <0000> <FFFF> <0000> endbfrange endcmap end end"""

FONTS = {
    # Latin, with the code 1 drawing the ligature fi.
    "F": "/Type1 /BaseFont /Helvetica /Encoding << /Type /Encoding /BaseEncoding /WinAnsiEncoding "
    "/Differences [1 /fi] >>",
    # Chinese through a predefined CMap, without ToUnicode: the codes are UCS-2 (PITFALLS 16).
    "G": "/Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H /DescendantFonts [<< /Type /Font "
    "/Subtype /CIDFontType0 /BaseFont /STSong-Light /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) "
    "/Supplement 4 >> /DW 1000 /FontDescriptor << /Type /FontDescriptor /FontName /STSong-Light /Flags 4 >> >>]",
    # Code: all characters are of one width.
    "C": "/Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding",
    # Glyph numbers that ToUnicode maps to themselves: any character at all; M is the same of fixed width.
    "U": "/Type0 /BaseFont /Any /Encoding /Identity-H /ToUnicode {to_unicode} 0 R /DescendantFonts [<< /Type /Font "
    "/Subtype /CIDFontType2 /BaseFont /Any /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> "
    "/DW 1000 /FontDescriptor << /Type /FontDescriptor /FontName /Any /Flags 4 /Ascent 800 /Descent -200 >> >>]",
}
FONTS["M"] = FONTS["U"].replace("/Any", "/AnyMono")


@dataclass(frozen=True)
class Sheet:
    """A page of 600 by 800 points; `content` are drawing operators."""

    content: str
    rotate: int = 0
    notes: tuple[str, ...] = ()  # annotations, as the body of their dictionaries


def text(x: float, y: float, words: str, *, size: float = 12, font: str = "F") -> str:
    """Operators that write one line, its baseline starting at x, y from the bottom left."""
    shown = f"({words})" if font in "FC" else f"<{words.encode('utf-16-be').hex()}>"
    return f"BT /{font} {size} Tf {x} {y} Td {shown} Tj ET\n"


def picture(x: float, y: float, width: float, height: float) -> str:
    """Operators that draw a picture of one black pixel."""
    data = "BI /W 1 /H 1 /CS /G /BPC 8 /F /AHx ID 00> EI"
    return f"q {width} 0 0 {height} {x} {y} cm {data} Q\n"


def rule(x1: float, y1: float, x2: float, y2: float) -> str:
    """Operators that draw a line."""
    return f"{x1} {y1} m {x2} {y2} l S\n"


def frame(x: float, y: float, width: float, height: float, *, fill: bool = False) -> str:
    """Operators that draw a rectangle, its lower left corner at x, y; a filled one in light grey."""
    return f"q 0.9 g {x} {y} {width} {height} re {'f' if fill else 'S'} Q\n"


def outline(x: float, y: float, size: float = 8) -> str:
    """Operators that draw a shape with curves, as a letter that was turned into outlines."""
    curve = f"{x} {y + size} {x + size} {y + size} {x + size} {y} c"
    return f"{x} {y} m {curve} {x} {y} l {x} {y + 1} l {x + 1} {y + 1} l {x + 2} {y} l {x + 3} {y} l f\n"


def write_pdf(path: Path, sheets: Sequence[Sheet], *, title: str = "", labels: str = "") -> Path:
    """A PDF with one page a sheet; `labels` is a number tree such as `0 << /S /r >>`."""
    bodies: list[bytes] = []

    def add(body: str | bytes) -> int:
        bodies.append(body if isinstance(body, bytes) else body.encode("latin-1"))
        return len(bodies)

    catalog, tree = add(b""), add(b"")
    to_unicode = add(_stream(_TO_UNICODE))
    fonts = " ".join(f"/{name} << /Type /Font /Subtype {body} >>" for name, body in FONTS.items())
    fonts = fonts.replace("{to_unicode}", str(to_unicode))
    kids, fields = [], list[int]()
    for sheet in sheets:
        content = add(_stream(sheet.content.encode("latin-1")))
        notes = [add(f"<< /Type /Annot {note} >>") for note in sheet.notes]
        annotations = " ".join(f"{note} 0 R" for note in notes)
        fields += [number for number, note in zip(notes, sheet.notes, strict=True) if "/Widget" in note]
        kids.append(
            add(
                f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 600 800] /Rotate {sheet.rotate} "
                f"/Resources << /Font << {fonts} >> >> /Contents {content} 0 R /Annots [{annotations}] >>"
            )
        )
    info = add(f"<< /Title ({title}) >>")
    page_labels = f"/PageLabels << /Nums [{labels}] >>" if labels else ""
    form = f"/AcroForm << /Fields [{' '.join(f'{number} 0 R' for number in fields)}] >>" if fields else ""
    bodies[catalog - 1] = f"<< /Type /Catalog /Pages {tree} 0 R {page_labels} {form} >>".encode()
    bodies[tree - 1] = f"<< /Type /Pages /Kids [{' '.join(f'{k} 0 R' for k in kids)}] /Count {len(kids)} >>".encode()
    path.write_bytes(_file(bodies, catalog, info))
    return path


def _stream(data: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(data), data)


def _file(bodies: list[bytes], catalog: int, info: int) -> bytes:
    out, offsets = b"%PDF-1.7\n", []
    for number, body in enumerate(bodies, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(bodies) + 1
    return out + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root %d 0 R /Info %d 0 R >>\n" % (
        size, table, size, catalog, info,
    ) + b"startxref\n%d\n%%%%EOF\n" % len(out)  # fmt: skip
