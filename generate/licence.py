"""The texts of licences that lie beside sources: they say under which terms files may be used, and nothing about what
the files speak of. They can be found like any source, but they are evidence only where their terms are asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kb.files import path_of
from kb.types import Hit, Source

# The file names of GitHub's licence detection (licensee) and the folder of the REUSE specification.
_NAME = re.compile(
    r"(?:un)?licen[cs]es?(?:[-._].*)?|copying(?:[-._].*)?|copyright(?:\.\w+)?|notice(?:\.\w+)?|.*[-._]licen[cs]e(?:\.txt|\.md)?",
    re.IGNORECASE,
)
_FOLDER = re.compile(r"licen[cs]es", re.IGNORECASE)
_TERMS = re.compile(
    r"licen[cs](?:e|ed|ing)\b(?!\s+(?:fees?|costs?|prices?|keys?|servers?))|copyright|warrant(?:y|ies)\b"
    r"|redistribut|patent|版权|许可(?!.{0,4}费)|授权条款|专利|再分发|免责",
    re.IGNORECASE,
)


def is_licence(source: Source) -> bool:
    """Whether the source is the text of a licence, by the name of its file or folder."""
    path = path_of(source.uri)
    return bool(_NAME.fullmatch(path.name)) or bool(_FOLDER.fullmatch(path.parent.name))


def as_evidence(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """The hits that may answer: those in a licence's text only if the question asks for its terms."""
    return [hit for hit in hits if _TERMS.search(question) or not is_licence(hit.source)]
