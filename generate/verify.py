"""Checks, in code, that a claim stands on its evidence. It fails closed: what is not borne out is a finding."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from generate.cite import Statement
from generate.passages import Passage
from generate.quantity import quantities, supported
from generate.question import content_terms
from generate.reply import Drafted, Supporting
from kb.text import HAN, detect_lang, find_quote, fold, sentences
from kb.types import Finding, Severity

_ID = re.compile(r"[a-z0-9]+", re.IGNORECASE)
_BRACKETED = re.compile(r"\s*[\[【［〔(（]\s*(?P<inside>[^\[\]【】［］〔〕()（）]{1,60}?)\s*[\]】］〕)）]")
_REFERENCE = re.compile(
    r"(?:\W*(?:and|和|与)?\W*(?:[Ee][\da-f]{0,7}|\d{1,3}|(?:evidence|source|来源|证据|资料|ref\.?)\s*\w{1,8}))+\W*"
    r"|[A-Z][\w.-]+(?: et al\.?| (?:and|&) [A-Z][\w.-]+)?,? (?:19|20)\d\d[a-z]?",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(
    r"`([^`]+)`|(?<![\w-])(--?[A-Za-z][\w-]*)|\b([A-Za-z]\w*_\w+)\b|\b([A-Za-z]+[A-Z0-9]\w*(?:[-.]\w+)*)\b"
    r"|\b([A-Za-z]\w*(?:\.\w+)+\b)"
)
_VERSION = re.compile(r"\bv\d+(?:\.\d+)*\b|\b\d+\.\d+\.\d+\b")
_URL = re.compile(r"(?:https?|ftp)://[^\s)\]>\"'，。；）】]+|\bwww\.[^\s)\]>\"'，。；）】]+", re.IGNORECASE)
_MARKUP = re.compile(r"!\[|\]\(|\]\[[^\]]*\]|<\s*[/!?a-zA-Z]|&#|\b(?:javascript|vbscript|data)\s*:", re.IGNORECASE)


@dataclass(frozen=True)
class Checked:
    """A claim after the checks: a statement if anything carries it, and what was found."""

    statement: Statement | None
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing was found that forbids to show it; repaired markers (P3) do not."""
        return self.statement is not None and all(finding.severity is Severity.P3 for finding in self.findings)


def check(claim: Drafted, evidence: Mapping[str, Passage]) -> Checked:
    """Hold one claim against the evidence that was given to the model, by id."""
    findings: list[Finding] = []
    text = _without_references(claim.text, evidence, findings)
    carried = list(_carriers(claim, evidence, findings))
    if not carried:
        findings.append(_finding(Severity.P1, "uncited", text, "Name the evidence and copy the words that carry it."))
        return Checked(None, tuple(findings))
    findings += _hostile(text, carried)
    findings += _unborne(text, carried)
    if not _related(text, carried):
        findings.append(_finding(Severity.P1, "unrelated-quote", text, "The quote shares no word with the sentence."))
    return Checked(Statement(text, tuple(carried)), tuple(findings))


def _finding(severity: Severity, rule: str, place: str, hint: str) -> Finding:
    return Finding(severity=severity, rule=rule, place=place, hint=hint)


def _without_references(text: str, evidence: Mapping[str, Passage], findings: list[Finding]) -> str:
    """The text without references that the model wrote itself; numbering is code's work."""

    def drop(found: re.Match[str]) -> str:
        inside = unicodedata.normalize("NFKC", found["inside"])
        if inside not in evidence and not _REFERENCE.fullmatch(inside):
            return found[0]
        if not all(part in evidence for part in _ID.findall(inside)):
            findings.append(
                _finding(Severity.P3, "invented-reference", found[0].strip(), "References are made by code.")
            )
        return ""

    return " ".join(_BRACKETED.sub(drop, text).split())


def _carriers(claim: Drafted, evidence: Mapping[str, Passage], findings: list[Finding]) -> Iterator[Passage]:
    """The verbatim passages that the claim's quotes name, each widened to whole sentences."""
    seen = set()
    for support in claim.support:
        ids = [part for part in _ID.findall(support.id) if part in evidence]
        if not ids:
            hint = f"There is no evidence {support.id!r}."
            findings.append(_finding(Severity.P1, "unknown-evidence", claim.text, hint))
        for passage in (evidence[known] for known in ids):
            quoted = _quoted(support, passage)
            if quoted is None:
                hint = f"“{support.quote[:80]}” does not stand in {passage.id}; copy it character by character."
                findings.append(_finding(Severity.P1, "quote-not-verbatim", claim.text, hint))
            elif quoted.id not in seen:
                seen.add(quoted.id)
                yield quoted


def _quoted(support: Supporting, passage: Passage) -> Passage | None:
    span = find_quote(support.quote, passage.quote)
    if span is None:
        return None
    touched = [(a, b) for a, b in sentences(passage.quote) if a < span[1] and b > span[0]]
    start = min([span[0], *(a for a, _ in touched[:1])])
    end = max([span[1], *(b for _, b in touched[-1:])])
    return replace(passage, start=passage.start + start, end=passage.start + end)


def _hostile(text: str, carried: Sequence[Passage]) -> Iterator[Finding]:
    quotes = "\n".join(passage.quote for passage in carried)
    for url in _URL.findall(text):
        if url.rstrip(".,;") not in quotes:
            yield _finding(Severity.P0, "foreign-link", url, "Only links of the quoted evidence may appear.")
    outside_code = re.sub(r"`[^`]*`", "", text)
    if _MARKUP.search(outside_code):
        yield _finding(Severity.P0, "markup", text, "Write plain text: no links, images or HTML.")


def _unborne(text: str, carried: Sequence[Passage]) -> Iterator[Finding]:
    """Numbers with their units, versions and identifiers that the cited evidence does not hold.

    Numbers and versions must stand in the quotes, with the headings and table header above them; identifiers may also
    stand elsewhere in the cited chunk, because a claim names what its paragraph is about.
    """
    quotes = "\n".join(f"{p.around}\n{p.quote}\n{p.hit.source.version or ''}" for p in carried)
    chunks = fold("\n".join(f"{p.hit.source.title}\n{p.hit.chunk.full_text}\n{quotes}" for p in carried)).text
    for version in _VERSION.findall(text):
        if version.lstrip("v") not in fold(quotes).text:
            yield _finding(Severity.P1, "unsupported-version", text, f"{version} does not stand in the cited evidence.")
    for quantity in quantities(text):
        if not supported(quantity, quotes):
            hint = f"{quantity.written} does not stand in the cited evidence."
            yield _finding(Severity.P1, "unsupported-number", text, hint)
    for found in _IDENTIFIER.finditer(text):
        name = fold(next(filter(None, found.groups()))).text
        if name.casefold() not in chunks.casefold():
            yield _finding(Severity.P1, "unsupported-identifier", text, f"{name} does not stand in the cited evidence.")


def _related(text: str, carried: Sequence[Passage]) -> bool:
    """A claim shares a content word with its quote, unless they are in different languages."""
    lang = detect_lang(text)
    same = [passage for passage in carried if detect_lang(passage.quote) == lang]
    words = content_terms(text)
    if not same or not words or (not HAN.search(text) and lang != "en"):
        return True
    return bool(words & frozenset().union(*(content_terms(f"{p.around}\n{p.quote}") for p in same))) or len(same) < len(
        carried
    )
