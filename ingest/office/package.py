"""The zip that a PPTX is: checked against bombs, and repaired so that a broken part costs one slide at most.

The copy made here holds sound parts only: what is missing or malformed is left out together with the relations that
lead to it, and a broken slide becomes an empty one, so that page numbers stay absolute (PITFALLS 15).
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from lxml import etree

from ingest.office.archive import (
    CONTENT_TYPES,
    DOCUMENT,
    PRESENTATION,
    RAISED_BY_ZIPFILE,
    check_bomb,
    is_xml,
    picture_bytes,
    what_else,
)
from ingest.office.graphics import parse
from kb.errors import UnreadableSource
from kb.types import Dropped

_RELATION_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_EMPTY_SLIDE = (
    b'<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    b'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    b'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><p:cSld><p:spTree>'
    b'<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/></p:spTree></p:cSld>'
    b"</p:sld>"
)
_EMPTY_RELATIONS = b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"/>'
_ROOT_RELATIONS = "_rels/.rels"
_ROOT = (
    b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
    b'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="%s"/>'
    b"</Relationships>"
)


@dataclass
class _Package:
    parts: dict[str, bytes] = field(default_factory=dict)  # XML in full, others empty
    broken: dict[str, str] = field(default_factory=dict)  # part → reason
    dropped: list[Dropped] = field(default_factory=list)
    told: set[str] = field(default_factory=set)  # broken parts that are told at the slides that use them


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
            check_bomb(archive, path)
            _load(archive, package)
            if main not in package.parts or CONTENT_TYPES not in package.parts:
                raise zipfile.BadZipFile(package.broken.get(main) or what_else(archive, main))
            _repair(package, local=rendering)
            with zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as target:
                for name, content in package.parts.items():
                    target.writestr(name, content if content or not rendering else picture_bytes(archive, name))
    except zipfile.BadZipFile as error:
        suffix = "PPTX" if main == PRESENTATION else "DOCX"
        what, remedy = f"this is no {suffix} file ({error})", f"Open it in its own program and save it as {suffix}"
        raise UnreadableSource(what, where=str(path), remedy=remedy) from error
    copy.seek(0)
    return tuple(package.dropped)


def relation_targets(parts: Mapping[str, bytes], source: str) -> dict[str, str]:
    """The parts that the relations of a part lead to, by their ids."""
    relations = parse(parts.get(_relations_of(source), _EMPTY_RELATIONS))
    return {relation.get("Id", ""): _resolve(source, relation.get("Target", "")) for relation in relations}


def _load(archive: zipfile.ZipFile, package: _Package) -> None:
    for entry in archive.infolist():
        name = entry.filename
        package.parts[name] = b""
        if not is_xml(name):
            continue
        try:
            package.parts[name] = archive.read(entry)
            root = etree.QName(parse(package.parts[name])).localname
            if name.endswith(".rels") and root != "Relationships":
                package.broken[name] = f"it holds {root} instead of relations"
        except RAISED_BY_ZIPFILE as error:
            package.broken[name] = str(error)
        except etree.XMLSyntaxError as error:
            package.broken[name] = f"its XML is malformed ({error})"
    for name in package.broken:
        package.parts.pop(name, None)


def _repair(package: _Package, *, local: bool) -> None:
    slides: dict[str, int] = {}
    if PRESENTATION in package.parts:
        _find_slides(package)
        for number, name in enumerate(_slides(package), start=1):
            slides.setdefault(name, number)
    package.parts.setdefault(_ROOT_RELATIONS, _ROOT % (PRESENTATION if slides else DOCUMENT).encode())
    for name, number in slides.items():
        if name and name not in package.parts:
            reason = package.broken.get(name, "its part is missing in the file")
            package.dropped.append(Dropped(what="slide", where=f"P:{number}", reason=reason))
            package.parts[name] = _EMPTY_SLIDE
            package.parts[_relations_of(name)] = _EMPTY_RELATIONS
    for name in [name for name in package.parts if name.endswith(".rels")]:
        _drop_dead_relations(package, name, slides.get(_source_of(name)), local=local)
    untold = {name: reason for name, reason in package.broken.items() if name not in {*slides, *package.told}}
    package.dropped += [Dropped(what="part", where=name, reason=reason) for name, reason in untold.items()]


def _find_slides(package: _Package) -> None:
    """Lead a slide whose relation is missing to another slide, so that it keeps its number; it is told as lost."""
    targets, show = relation_targets(package.parts, PRESENTATION), parse(package.parts[PRESENTATION])
    slides = show.findall(".//{*}sldIdLst/{*}sldId")
    sound = [slide.get(_RELATION_ID, "") for slide in slides if slide.get(_RELATION_ID) in targets]
    for number, slide in enumerate(slides, start=1):
        if sound and slide.get(_RELATION_ID) not in targets:
            slide.set(_RELATION_ID, sound[0])
            reason = "nothing in the file says which part it is"
            package.dropped.append(Dropped(what="slide", where=f"P:{number}", reason=reason))
    package.parts[PRESENTATION] = etree.tostring(show, xml_declaration=True, encoding="UTF-8", standalone=True)


def _slides(package: _Package) -> Iterator[str]:
    """Part names of the slides in the order of the show, hidden ones included."""
    targets = relation_targets(package.parts, PRESENTATION)
    for slide in parse(package.parts[PRESENTATION]).iterfind(".//{*}sldIdLst/{*}sldId"):
        yield targets.get(slide.get(_RELATION_ID, ""), "")


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
            package.told.add(part)
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
