"""A folder with a `talk.yaml` is a talk: its recording, captions, deck and notes belong together.

    title: Paged attention, step by step
    date: 2026-05-12
    speakers: [Ann Li, 王伟]
    version: "0.33.0"
    url: https://example.org/watch?v=1
    language: zh
    media: [talk.mp4, talk.srt, slides.pdf]   # without it, every file of the folder belongs to the talk

Only `title` is needed. A talk is named by its title, so no two folders may have the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import date as Date  # noqa: N812
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ingest.decode import read_text
from ingest.markup.frontmatter import language
from kb.errors import UnreadableSource
from kb.text import printable, slug
from kb.types import Lang, Talk

TALK_FILE = "talk.yaml"
_LONGEST_ID = 80  # bytes; it names a folder, whose name most file systems end at 255, and stands in addresses


class _TalkFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str = Field(min_length=1)
    date: Date | None = None
    speakers: tuple[str, ...] = ()
    version: str | None = None
    url: str | None = None
    language: Lang = "und"
    media: tuple[str, ...] | None = None

    @field_validator("title")
    @classmethod
    def _names_something(cls, title: str) -> str:
        if not slug(title).strip("-_"):
            raise ValueError("it holds no letter and no digit, so nothing can be named by it")
        return title

    @field_validator("speakers", "media", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @field_validator("language", mode="before")
    @classmethod
    def _primary(cls, value: object) -> object:
        return (language(value) or value) if isinstance(value, str) else value

    @field_validator("url")
    @classmethod
    def _published(cls, url: str | None) -> str | None:
        if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname):
            raise ValueError("it must begin with https:// or http://")
        return url

    @field_validator("media")
    @classmethod
    def _inside(cls, media: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for name in media or ():
            if "\0" in name or PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise ValueError(f"{printable(name)} lies outside the talk's folder")
        return media


def talk_of(path: Path) -> Talk | None:
    """The talk that a file belongs to: that of the nearest folder above it with a `talk.yaml`.

    Raises:
        UnreadableSource: if that file is no valid description of a talk; names the line.
    """
    folder = folder_of(path)
    if folder is None:
        return None
    file = _parse(folder / TALK_FILE)
    if file.media is not None:
        listed = {(folder / name).resolve() for name in file.media}
        if missing := next((item for item in sorted(listed) if not item.exists()), None):
            raise _invalid(folder / TALK_FILE, None, f"media lists {printable(missing.name)}, which is not there")
        if path.resolve() not in listed:
            return None
    return Talk(
        id=talk_id(file.title),
        title=file.title,
        speakers=file.speakers,
        date=file.date,
        version=file.version,
        url=file.url,
        lang=file.language,
    )


def folder_of(path: Path) -> Path | None:
    """The talk's folder: the nearest one above a file with a `talk.yaml`."""
    return next((folder for folder in path.absolute().parents if _stands_in(folder)), None)


def check_alone(talk: Talk, folder: Path, others: Iterable[Path]) -> None:
    """Two talks of one title would silently become one.

    Args:
        talk: what `folder` describes.
        others: folders that had a talk of this id when they were read.

    Raises:
        UnreadableSource: if one of `others` has it still; names both. Also if that one's description has broken since.
    """
    for other in sorted(others):
        if other == folder or not _stands_in(other) or other.samefile(folder):
            continue
        if talk_id(_parse(other / TALK_FILE).title) == talk.id:
            raise UnreadableSource(
                f"the talk in {printable(str(other))} has this title already",
                where=printable(str(folder / TALK_FILE)),
                remedy="Give one of them another title",
            )


def talk_id(title: str) -> str:
    """The slug of the title; of a long one its beginning, and a hash that tells it from others that begin alike."""
    whole = slug(title)
    encoded = whole.encode()
    if len(encoded) <= _LONGEST_ID:
        return whole
    mark = f"-{hashlib.sha256(encoded).hexdigest()[:8]}"
    return encoded[: _LONGEST_ID - len(mark)].decode(errors="ignore").rstrip("-_") + mark


def _stands_in(folder: Path) -> bool:
    try:
        return (folder / TALK_FILE).is_file()
    except PermissionError:
        return False


def _parse(path: Path) -> _TalkFile:
    try:
        # Composed, not constructed: every scalar stays text, so that version 0.20 does not become 0.2.
        root = yaml.compose(read_text(path), Loader=yaml.SafeLoader)
    except OSError as error:
        raise _invalid(path, None, f"it cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise _invalid(path, mark.line + 1 if mark else None, "this is no valid YAML") from error
    if not isinstance(root, yaml.MappingNode):
        raise _invalid(path, None, "this is no list of fields such as `title: …`")
    lines: dict[str, int] = {}
    values: dict[str, str | list[str] | None] = {}
    for key, value in root.value:
        name, line = str(key.value), key.start_mark.line + 1
        if name in lines:
            raise _invalid(path, line, f"{printable(name)} stands here a second time")
        lines[name] = line
        if not (isinstance(value, yaml.ScalarNode) and value.value in ("", "~", "null")):
            values[name] = _plain(value)
    try:
        return _TalkFile.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        field = str(problem["loc"][0])
        reason = _REASONS.get(problem["type"], problem["msg"].removeprefix("Value error, "))
        raise _invalid(path, lines.get(field), f"{printable(field)}: {reason}") from error


_REASONS = {
    "extra_forbidden": f"no such field; there are {', '.join(_TalkFile.model_fields)}",
    "missing": "a talk needs one",
    "literal_error": "it must be zh or en",
}


def _plain(node: yaml.Node) -> str | list[str] | None:
    if isinstance(node, yaml.SequenceNode):
        return [str(item.value) for item in node.value]
    return str(node.value) if isinstance(node, yaml.ScalarNode) else None


def _invalid(path: Path, line: int | None, reason: str) -> UnreadableSource:
    where = printable(str(path)) + (f" line {line}" if line else "")
    return UnreadableSource(reason, where=where, remedy="Correct it, or remove the file to read the folder without it")
