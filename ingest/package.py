"""The zip that a PPTX is: checked against bombs, and repaired so that a broken part costs one slide at most.

The copy made here holds sound parts only: what is missing or malformed is left out together with the relations that
lead to it, and a broken slide becomes an empty one, so that page numbers stay absolute (PITFALLS 15).
"""

from __future__ import annotations

import mmap
import posixpath
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING

from lxml import etree

from ingest.graphics import parse
from kb.errors import LimitExceeded, UnreadableSource
from kb.types import Dropped

if TYPE_CHECKING:
    from PIL.Image import Image

_ENTRIES = 50_000
_INFLATED = 512 * 2**20  # bytes of XML in a deck; a thousand dense slides stay below a tenth of it
_INFLATED_MEDIA = 8 * 2**30  # bytes of all parts
_PICTURE = 256 * 2**20  # bytes; a larger part is a film, and no rendering needs it
_RATIO = 200  # of a part above a mebibyte; XML of real decks shrinks 10 to 50 times
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_CONTENT_TYPES = "[Content_Types].xml"
PRESENTATION = "ppt/presentation.xml"
DOCUMENT = "word/document.xml"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_EMPTY_SLIDE = (
    b'<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    b'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    b'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><p:cSld><p:spTree>'
    b'<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/></p:spTree></p:cSld>'
    b"</p:sld>"
)
_EMPTY_RELATIONS = b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"/>'
_RAISED_BY_ZIPFILE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)


@dataclass
class _Package:
    parts: dict[str, bytes] = field(default_factory=dict)  # XML in full, others empty
    broken: dict[str, str] = field(default_factory=dict)  # part → reason
    dropped: list[Dropped] = field(default_factory=list)


def sound_copy(
    path: Path, copy: IO[bytes], *, main: str = PRESENTATION, rendering: bool = False
) -> tuple[Dropped, ...]:
    """Write a deck or a document that opens to `copy`; what had to be left out of it.

    Args:
        path: a PPTX or a DOCX file.
        copy: where the copy goes, rewound at the end.
        main: the part that the others belong to, `PRESENTATION` or `DOCUMENT`.
        rendering: copy pictures, too, and drop what a renderer would fetch from elsewhere.

    Raises:
        UnreadableSource: if the file is no zip, or of another program.
        LimitExceeded: if it is a zip bomb.
    """
    package = _Package()
    try:
        with zipfile.ZipFile(path) as archive:
            _check(archive, path)
            _load(archive, package)
            if main not in package.parts or _CONTENT_TYPES not in package.parts:
                raise zipfile.BadZipFile(package.broken.get(main) or _what_else(archive, main))
            _repair(package, local=rendering)
            with zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as target:
                for name, content in package.parts.items():
                    target.writestr(name, content if content or not rendering else _picture(archive, name))
    except zipfile.BadZipFile as error:
        suffix = "PPTX" if main == PRESENTATION else "DOCX"
        what, remedy = f"this is no {suffix} file ({error})", f"Open it in its own program and save it as {suffix}"
        raise UnreadableSource(what, where=str(path), remedy=remedy) from error
    copy.seek(0)
    return tuple(package.dropped)


def _what_else(archive: zipfile.ZipFile, main: str) -> str:
    names = archive.namelist()
    if any(name.endswith((".iwa", "Index.zip", "index.apxl")) for name in names):
        return "it is a Keynote file: in Keynote, choose File > Export To > PowerPoint or PDF"
    if PRESENTATION in names or DOCUMENT in names:
        return f"it is a {'PPTX' if PRESENTATION in names else 'DOCX'} file: give it that suffix"
    return "it holds no " + ("presentation" if main == PRESENTATION else "document")


def is_encrypted(path: Path) -> bool:
    """An Office file that asks for a password is a container of the old format, with a stream of this name."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(_ENCRYPTED) >= 0


def relation_targets(parts: Mapping[str, bytes], source: str) -> dict[str, str]:
    """The parts that the relations of a part lead to, by their ids."""
    relations = parse(parts.get(_relations_of(source), _EMPTY_RELATIONS))
    return {relation.get("Id", ""): _resolve(source, relation.get("Target", "")) for relation in relations}


def open_picture(path: Path, part: str) -> Image | None:
    """A picture of the deck; None where it is missing, broken, larger than any picture, or of an unknown format."""
    from PIL import Image

    try:
        with zipfile.ZipFile(path) as archive, Image.open(BytesIO(_picture(archive, part))) as picture:
            picture.load()
            return picture.copy()
    except (zipfile.BadZipFile, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def _picture(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        entry = archive.getinfo(name)
        return archive.read(entry) if entry.file_size <= _PICTURE else b""
    except (KeyError, *_RAISED_BY_ZIPFILE):
        return b""


def _check(archive: zipfile.ZipFile, path: Path) -> None:
    entries = archive.infolist()
    remedy = "Check where the file comes from; a deck is never like this"
    if len(entries) > _ENTRIES:
        raise LimitExceeded(
            f"the deck holds {len(entries)} files, more than {_ENTRIES}", where=str(path), remedy=remedy
        )
    text = sum(entry.file_size for entry in entries if _is_xml(entry.filename))
    everything = sum(entry.file_size for entry in entries)
    if text > _INFLATED or everything > _INFLATED_MEDIA:
        what = f"the deck would inflate to {everything // 2**20} MiB, {text // 2**20} of them XML"
        raise LimitExceeded(what, where=str(path), remedy=remedy)
    for entry in entries:
        if entry.file_size > 2**20 and entry.file_size > _RATIO * max(1, entry.compress_size):
            what = f"{entry.filename} would inflate more than {_RATIO} times, like a zip bomb"
            raise LimitExceeded(what, where=str(path), remedy=remedy)


def _is_xml(name: str) -> bool:
    return name.endswith((".xml", ".rels"))


def _load(archive: zipfile.ZipFile, package: _Package) -> None:
    for entry in archive.infolist():
        name = entry.filename
        package.parts[name] = b""
        if not _is_xml(name):
            continue
        try:
            package.parts[name] = archive.read(entry)
            parse(package.parts[name])
        except _RAISED_BY_ZIPFILE as error:
            package.broken[name] = str(error)
        except etree.XMLSyntaxError as error:
            package.broken[name] = f"its XML is malformed ({error})"
    for name in package.broken:
        package.parts.pop(name, None)


def _repair(package: _Package, *, local: bool) -> None:
    slides = (
        {name: number for number, name in enumerate(_slides(package), start=1)} if PRESENTATION in package.parts else {}
    )
    for name, number in slides.items():
        if name not in package.parts:
            reason = package.broken.get(name, "its part is missing in the file")
            package.dropped.append(Dropped(what="slide", where=f"P:{number}", reason=reason))
            package.parts[name] = _EMPTY_SLIDE
            package.parts[_relations_of(name)] = _EMPTY_RELATIONS
    for name in [name for name in package.parts if name.endswith(".rels")]:
        _drop_dead_relations(package, name, slides.get(_source_of(name)), local=local)


def _slides(package: _Package) -> Iterator[str]:
    """Part names of the slides in the order of the show, hidden ones included."""
    targets = relation_targets(package.parts, PRESENTATION)
    for slide in parse(package.parts[PRESENTATION]).iterfind(".//{*}sldIdLst/{*}sldId"):
        yield targets.get(slide.get(f"{{{_RELATIONS}}}id", ""), "")


def _drop_dead_relations(package: _Package, name: str, slide: int | None, *, local: bool) -> None:
    source = _source_of(name)
    relations = parse(package.parts[name])
    for relation in list(relations):
        target, kind = relation.get("Target", ""), relation.get("Type", "").rpartition("/")[2]
        if relation.get("TargetMode") == "External":
            if local and kind != "hyperlink":
                relations.remove(relation)
            continue
        part = _resolve(source, target)
        if part in package.parts:
            continue
        relations.remove(relation)
        if slide is not None:
            reason = package.broken.get(part, f"{target or 'its part'} is missing in the file")
            package.dropped.append(Dropped(what=kind or "part", where=f"P:{slide}", reason=reason))
    package.parts[name] = etree.tostring(relations, xml_declaration=True, encoding="UTF-8", standalone=True)


def _relations_of(name: str) -> str:
    folder, _, file = name.rpartition("/")
    return f"{folder}/_rels/{file}.rels".lstrip("/")


def _source_of(relations: str) -> str:
    folder, _, file = relations.rpartition("/")
    return posixpath.join(posixpath.dirname(folder), file.removesuffix(".rels"))


def _resolve(source: str, target: str) -> str:
    if target.startswith("#"):  # a place in the part itself
        return source
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(source), target)).lstrip("/")
