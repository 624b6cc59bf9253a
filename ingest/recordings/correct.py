"""What was misheard is written as it was meant, by rules; the raw text stays on the segment, and each change is listed.

Rules, the first one that fits winning: what a person added for this source, for the whole library, what the glossary
knows to be heard for a term, what sounds like a term. Those of a person hold for all speech, the others for what was
recognised by a machine. A wording that was rejected is never changed again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

from ingest.recordings.soundalike import soundalikes
from kb.glossary import load_glossary
from kb.text import HAN, stable_id
from kb.types import Correction, Decision, Document, Flag, Kind, Role, Segment

_RULES = "corrections/2"  # raise it when the rules change, so that transcripts are corrected anew

Rule = Literal["glossary", "sound", "library", "source"]


class _Wording(NamedTuple):
    heard: str
    corrected: str
    rule: Rule


class _Place(NamedTuple):
    start: int
    end: int
    wording: _Wording


def correct(document: Document, decisions: Sequence[Decision] = ()) -> Document:
    """The document as these decisions and the glossary want it, whatever it was corrected by before."""
    source = document.source
    corrector = _Corrector(standing(decisions, source.id))
    segments: list[Segment] = []
    corrections: list[Correction] = []
    for segment in document.segments:
        raw = segment.heard or segment.text
        by_machine = source.kind is Kind.RECORDING and Flag.CAPTIONS not in segment.flags
        places = corrector.places(raw, by_machine=by_machine) if segment.role is Role.SPEECH else []
        text = _replaced(raw, places)
        corrected = {Flag.CORRECTED} if text != raw else set()
        flags = segment.flags - {Flag.CORRECTED} | corrected
        update = {"text": text, "heard": raw if corrected else "", "flags": flags}
        segments.append(segment.model_copy(update=update))
        corrections += _corrections(segment, raw, places)
    return document.model_copy(update={"segments": tuple(segments), "corrections": tuple(corrections)})


def fingerprint() -> str:
    """Names the rules and the glossary."""
    return stable_id(_RULES, *map(repr, load_glossary().terms))


def standing(decisions: Sequence[Decision], source_id: str) -> list[Decision]:
    """What holds in a source, one decision a wording: that for the source before that for the library, then the latest.

    Args:
        decisions: of a library, the latest first.
    """
    holding: dict[tuple[str, str], Decision] = {}
    for scope in (source_id, None):
        for each in decisions:
            if each.source_id == scope:
                holding.setdefault((_key(each.heard), each.corrected), each)
    return list(holding.values())


def replaced(decisions: Sequence[Decision]) -> set[Decision]:
    """Accepted corrections that a later one of the same words, for the same source or the library, stands for.

    Args:
        decisions: of a library, the latest first.
    """
    found: set[Decision] = set()
    seen: set[tuple[str, str | None]] = set()
    for each in decisions:
        words = (_key(each.heard), each.source_id)
        if each.accepted and words in seen:
            found.add(each)
        elif each.accepted:
            seen.add(words)
    return found


def wording_id(heard: str, corrected: str) -> str:
    """Eight characters that name a wording on the command line."""
    return stable_id(_key(heard), corrected)[:8]


def _corrections(segment: Segment, raw: str, places: Sequence[_Place]) -> Iterator[Correction]:
    longer = 0  # than `raw` is the text so far
    for start, end, (_, corrected, rule) in places:
        yield Correction(
            id=wording_id(raw[start:end], corrected),
            order=segment.order,
            start=start + longer,
            locator=segment.locator,
            heard=raw[start:end],
            corrected=corrected,
            rule=rule,
        )
        longer += len(corrected) - (end - start)


def _replaced(raw: str, places: Sequence[_Place]) -> str:
    parts, at = [], 0
    for start, end, wording in places:
        parts += [raw[at:start], _cased(wording.corrected, raw, start)]
        at = end
    return "".join([*parts, raw[at:]])


def _cased(corrected: str, raw: str, start: int) -> str:
    """With the capital of a sentence's beginning, where the name has none of its own."""
    opens = not raw[:start].strip() and raw[start].isupper() and corrected.islower() and corrected.isascii()
    return corrected[:1].upper() + corrected[1:] if opens else corrected


class _Corrector:
    """The wordings of a source, by the decisions that hold there: what is to be replaced by what."""

    def __init__(self, decisions: Sequence[Decision]) -> None:
        self._rejected = {(_key(each.heard), each.corrected) for each in decisions if not each.accepted}
        self._by_person = _Wordings(
            _Wording(each.heard, each.corrected, "source" if each.source_id else "library")
            for each in decisions
            if each.accepted
        )

    def places(self, raw: str, *, by_machine: bool) -> list[_Place]:
        """What is replaced, in order of the text."""
        found = list(self._by_person.find(raw))
        if by_machine:
            found += _known_mishearings().find(raw)
            found += (
                _Place(start, end, _Wording(raw[start:end], name, "sound")) for start, end, name in soundalikes(raw)
            )
        places: list[_Place] = []
        for place in found:
            is_rejected = (_key(raw[place.start : place.end]), place.wording.corrected) in self._rejected
            if not is_rejected and all(place.end <= each.start or each.end <= place.start for each in places):
                places.append(place)
        return sorted(places)


class _Wordings:
    """Finds wordings in a text: Latin ones as whole words in any case, hanzi anywhere, the longest first."""

    def __init__(self, wordings: Iterator[_Wording]) -> None:
        self._by_key: dict[str, _Wording] = {}
        for each in wordings:
            self._by_key.setdefault(_key(each.heard), each)
        longest = sorted((each.heard for each in self._by_key.values()), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_pattern, longest)), re.IGNORECASE) if longest else None

    def find(self, raw: str) -> Iterator[_Place]:
        for match in self._pattern.finditer(raw) if self._pattern else ():
            wording = self._by_key.get(_key(match[0]))
            if wording is not None and match[0] != wording.corrected and not _stands(wording.corrected, match):
                yield _Place(match.start(), match.end(), wording)


@cache
def _known_mishearings() -> _Wordings:
    return _Wordings(_Wording(heard, name, "glossary") for heard, name in load_glossary().mishearings())


def _stands(corrected: str, match: re.Match[str]) -> bool:
    """Whether what was heard is a part of what was meant, all of which stands there: `KV` in `the KV cache`."""
    start = match.start() - corrected.lower().find(match[0].lower())
    return 0 <= start <= match.start() and match.string[start : start + len(corrected)].lower() == corrected.lower()


def _pattern(heard: str) -> str:
    parts = [re.escape(part) for part in re.split(r"[\s\-]+", heard.strip()) if part]
    before = "" if HAN.match(heard.strip()[:1]) else r"(?<![A-Za-z0-9])"
    after = "" if HAN.match(heard.strip()[-1:]) else r"(?![A-Za-z0-9])"
    return before + r"[\s\-]*".join(parts) + after


def _key(heard: str) -> str:
    return re.sub(r"[\s\-]+", "", unicodedata.normalize("NFKC", heard).casefold())
