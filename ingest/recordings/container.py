"""The files that recordings come in, opened by FFmpeg's parsers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kb.errors import UnreadableSource
from kb.text import printable

if TYPE_CHECKING:
    from av.container import InputContainer

# Only these parsers run, whatever a file claims to be: a playlist would open other files and addresses.
_OPTIONS = {
    "format_whitelist": "wav,w64,mp3,mov,mp4,m4a,flac,ogg,matroska,webm,aac",
    "protocol_whitelist": "file",
}


@contextmanager
def opened(path: Path) -> Iterator[InputContainer]:
    """The container of a recording, for as long as it is needed.

    Raises:
        UnreadableSource: if it has no audio track, or is no recording that can be opened.
    """
    import av

    try:
        container = av.open(str(path.absolute()), metadata_errors="ignore", options=_OPTIONS)
    except (av.FFmpegError, ValueError) as error:
        raise UnreadableSource(
            "this is no recording that can be opened: broken, cut off, or another kind of file",
            where=printable(str(path)),
            remedy="Check that a player plays it, or copy it again",
        ) from error
    with container:
        if not container.streams.audio:
            raise UnreadableSource(
                "no audio track in it", where=printable(str(path)), remedy="Export the video with its sound"
            )
        yield container
