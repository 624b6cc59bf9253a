"""The error tree. A message says what happened, where (file, page, time, line) and what to do next.

KBError
├── BadRequest          the caller asked for something that cannot be: an empty or endless question, an unknown filter
├── UnsupportedSource   no reader for this kind of file
├── UnreadableSource    the right kind of file, but empty, broken, encrypted, without text or without sound
├── LimitExceeded       larger or longer than the settings allow
├── NotFound            no such source, talk or article
├── IndexMismatch       the index was built by another recipe
├── LibraryBusy         another process owns the library
├── StorageFailed       the library's folder cannot be made, read or written: no right, no room, damaged
├── Unauthorized        the caller did not show the right key
├── MissingDependency   model weights or a program that is not installed
├── GenerationFailed    the language model did not give what was asked
│   ├── Truncated       … because its answer was cut at the length limit
│   └── BrokenOff       … because the connection broke while it wrote
└── UnsafeSettings      a combination of settings that must not be served
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_NAME_AND_PASSWORD = re.compile(r"(?<=://)[^/\s@]+@")  # of an address; libraries put addresses into their messages, too


class KBError(Exception):
    """Base of every error that this product raises on purpose. No name or password of an address is told.

    Args:
        what: what happened, as a sentence without its final stop.
        where: the file, page, time or line it happened at.
        remedy: what the person can do next.
    """

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what = _NAME_AND_PASSWORD.sub("", what)
        self.where = _NAME_AND_PASSWORD.sub("", where)
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        return self.told

    @property
    def told(self) -> str:
        """What anyone may be told, readers of the service, too."""
        place = f"{self.where}: " if self.where else ""
        advice = f". {self.remedy}" if self.remedy else ""
        return f"{place}{self.what}{advice}"


class BadRequest(KBError):
    pass


class UnsupportedSource(KBError):
    pass


class UnreadableSource(KBError):
    pass


class LimitExceeded(KBError):
    pass


class NotFound(KBError):
    pass


class IndexMismatch(KBError):
    pass


class LibraryBusy(KBError):
    pass


class StorageFailed(KBError):
    @classmethod
    def of(cls, error: OSError, *, where: str = "") -> StorageFailed:
        """What the operating system refused, at the file that it names."""
        return cls(
            f"the operating system refused it ({error.strerror or error})",
            where=str(error.filename or where),
            remedy="Grant the right to write there, make room on the disk, or choose another folder with --home",
        )


class Unauthorized(KBError):
    pass


class MissingDependency(KBError):
    pass


class GenerationFailed(KBError):
    """`where` names the model.

    Args:
        endpoint: URL of its server. Host and path stand in the message, which only the owner's terminal and log show.
    """

    def __init__(self, what: str, *, where: str = "", remedy: str = "", endpoint: str = "") -> None:
        self.endpoint = without_secrets(endpoint)
        super().__init__(what, where=where, remedy=remedy)

    def __str__(self) -> str:
        return f"{self.endpoint}: {self.told}" if self.endpoint else self.told


class Truncated(GenerationFailed):
    pass


class BrokenOff(GenerationFailed):
    """The reply ended in its middle. What had come until then stands."""


class UnsafeSettings(KBError):
    pass


def without_secrets(url: str) -> str:
    """The URL without what may be secret in it: a name and a password, a query."""
    try:
        parts = urlsplit(url)
    except ValueError:  # brackets that do not match
        return ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
