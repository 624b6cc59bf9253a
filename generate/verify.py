"""Checks, in code, that a claim stands on its evidence. It fails closed: what is not borne out is a finding."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from generate.attribute import carrying, quoted
from generate.borne import unborne_by
from generate.cite import Statement
from generate.passages import Passage
from generate.polarity import reversals
from generate.reasons import added_reasons
from generate.relation import is_related, speaks
from generate.reply import Drafted, Supporting
from kb.text import HAN, sentences
from kb.types import Finding, Lang, Severity

_ID = re.compile(r"[a-z0-9]+", re.IGNORECASE)
_BRACKETED = re.compile(r"\s*[\[【［〔(（]\s*(?P<inside>[^\[\]【】［］〔〕()（）]{1,60}?)\s*[\]】］〕)）]")
_REFERENCE = re.compile(
    r"(?:\W*(?:and|和|与)?\W*(?:[Ee][\da-f]{0,7}|\d{1,3}|(?:evidence|source|来源|证据|资料|ref\.?)\s*\w{1,8}))+\W*"
    r"|[A-Z][\w.-]+(?: et al\.?| (?:and|&) [A-Z][\w.-]+)?,? (?:19|20)\d\d[a-z]?",
    re.IGNORECASE,
)
_URL = re.compile(r"(?:https?|ftp)://[^\s)\]>\"'，。；）】]+|\bwww\.[^\s)\]>\"'，。；）】]+", re.IGNORECASE)
_MARKUP = re.compile(r"!\[|\]\(|\]\[[^\]]*\]|<\s*[/!?a-zA-Z]|&#|\b(?:javascript|vbscript|data)\s*:", re.IGNORECASE)
_POINTS_BACK = re.compile(
    r"(?:It|Its|This|These|Those|That|They|Their|Such|Thus|So|Hence|Therefore|However|But|Otherwise)\b"
    r"|这|该|此|其|它|因此|所以|从而|否则|但|而"
)
_FLAG = re.compile(r"`?(?<![\w-])--[A-Za-z][\w-]*`?")
_WORD = re.compile(r"[A-Za-z0-9_]+")
_ITEM_NUMBER = re.compile(r"[(（]?\d{1,2}[.、)）]")
_MORE = 2  # times as long as its quotes with what stands above them: such a sentence says what they do not
_TELLING = 8  # characters of a quote that can be looked for in other evidence


@dataclass(frozen=True)
class Checked:
    """A claim after the checks: its sentence, a statement if anything carries it, and what was found."""

    text: str
    statement: Statement | None
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing was found that forbids to show it; what was mended (P3) does not."""
        return self.statement is not None and all(finding.severity is Severity.P3 for finding in self.findings)


def check(claim: Drafted, evidence: Mapping[str, Passage], lang: Lang = "und") -> Checked:
    """Hold one sentence against the evidence that was given to the model, by id; `lang` is the question's."""
    findings: list[Finding] = []
    text = _without_references(visible(claim.text), evidence, findings)
    named = list(_carriers(claim, text, evidence, findings))
    carried = [passage for passage in named if is_related(text, passage)]
    if named and len(carried) < len(named):
        severity = Severity.P3 if carried else Severity.P1
        findings.append(_finding(severity, "unrelated-quote", text, "The quote speaks of something else."))
        carried = carried or named
    if not carried:
        if not any(finding.severity is Severity.P1 for finding in findings):
            findings.append(_finding(Severity.P1, "uncited", text, "Name the evidence that carries it."))
        return Checked(text, None, tuple(findings))
    findings += _hostile(text, carried)
    findings += [_finding(Severity.P1, rule, text, hint) for rule, hint in unborne_by(carried, text)]
    read = "\n".join(passage.in_context for passage in carried)
    if _length(text) > _MORE * _length(read):
        hint = "It says far more than its quotes. Say what they say, or name what says the rest."
        findings.append(_finding(Severity.P1, "says-more", text, hint))
    turned = dict([*_turned(text, read, carried[0]), *added_reasons(text, carried)])
    findings += [_finding(Severity.P1, rule, text, hint) for rule, hint in turned.items()]
    if not speaks(text, lang):
        hint = f"Write this sentence in {'Chinese' if lang == 'zh' else 'English'}."
        findings.append(_finding(Severity.P1, "wrong-language", text, hint))
    return Checked(text, Statement(text, tuple(carried)), tuple(findings))


def parted(claim: Drafted) -> Iterator[Drafted]:
    """A claim of several sentences as one claim each: every sentence needs evidence of its own."""
    parts = [claim.text[start:end] for start, end in sentences(claim.text)]
    for part in [part for part in parts if not _ITEM_NUMBER.fullmatch(part)] or parts:
        yield claim.model_copy(update={"text": part})


def dangling(checked: Checked) -> Checked:
    """The sentence, which follows one that was left out: if it points back, it would point at something else."""
    if not _POINTS_BACK.match(checked.text):
        return checked
    hint = "Name what the sentence speaks of; the one before it is left out."
    return replace(checked, findings=(*checked.findings, _finding(Severity.P1, "points-back", checked.text, hint)))


def _length(text: str) -> int:
    """How much a text says, alike in both languages: a word is worth two hanzi."""
    return len(HAN.findall(text)) + 2 * len(_WORD.findall(text))


def _finding(severity: Severity, rule: str, place: str, hint: str) -> Finding:
    return Finding(severity=severity, rule=rule, place=place, hint=hint)


def visible(text: str) -> str:
    """Without characters that are not seen and would steer what is."""
    return "".join(
        c if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") else " " * c.isspace() for c in text
    )


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


def _carriers(claim: Drafted, text: str, evidence: Mapping[str, Passage], findings: list[Finding]) -> Iterator[Passage]:
    """The verbatim passages that carry the claim, in whole sentences: where its quotes stand; where it gives none, or
    none that stands anywhere, what says it in the evidence that it names."""
    found: dict[str, Passage] = {}
    bare: dict[str, str] = {}  # id to a quote that stands nowhere, empty where there is none
    for support in claim.support:
        ids = [part for part in _ID.findall(support.id) if part in evidence]
        if not ids:
            hint = f"There is no evidence {support.id!r}."
            findings.append(_finding(Severity.P1, "unknown-evidence", claim.text, hint))
        for known in ids:
            passage = quoted(support, evidence[known]) or _elsewhere(support, evidence, findings)
            if passage is None:
                bare[known] = bare.get(known) or support.quote
            else:
                found.setdefault(passage.id, passage)
    for passage in _saying(claim, text, bare, evidence, findings) if bare else ():
        found.setdefault(passage.id, passage)
    yield from found.values()


def _elsewhere(support: Supporting, evidence: Mapping[str, Passage], findings: list[Finding]) -> Passage | None:
    """Where a quote that does not stand where it was said to stand does."""
    for passage in evidence.values() if len(support.quote.strip()) >= _TELLING else ():
        if found := quoted(support, passage):
            findings.append(_finding(Severity.P3, "misplaced-quote", support.quote, "It stands in other evidence."))
            return found
    return None


def _saying(
    claim: Drafted, text: str, bare: Mapping[str, str], evidence: Mapping[str, Passage], findings: list[Finding]
) -> list[Passage]:
    """What says the claim in the evidence that it names, else in any; a finding where nothing does.

    Of what the two have, that is taken which bears out the claim's numbers and names; the checks hold either to them.
    """
    altered = "; ".join(f"“{quote[:80]}”" for quote in bare.values() if quote)
    named = carrying(text, [evidence[key] for key in bare])
    found = named
    if not named or any(unborne_by(named, text)):
        other = carrying(text, list(evidence.values()))
        found = other if other and not (named and any(unborne_by(other, text))) else named
    if found and altered:
        findings.append(_finding(Severity.P3, "quote-mended", altered, "Code found the words that carry it."))
    elif altered:
        hint = f"{altered} does not stand in {' or '.join(bare)}; copy it character by character."
        findings.append(_finding(Severity.P1, "quote-not-verbatim", claim.text, hint))
    elif not found:
        hint = f"This is not found in {' or '.join(bare)}. Copy the words that say it, or leave it out."
        findings.append(_finding(Severity.P1, "unsaid", claim.text, hint))
    return found


def _turned(text: str, read: str, first: Passage) -> Iterator[tuple[str, str]]:
    """What turns all that carries the claim round, or the sentence that carries most of it; a flag is called as it is,
    whichever way it goes."""
    said = _FLAG.sub(" ", text)
    yield from reversals(said, _FLAG.sub(" ", read))
    for rule, hint in reversals(said, _FLAG.sub(" ", first.quote)):
        if rule == "turned-direction":
            yield rule, hint


def _hostile(text: str, carried: Sequence[Passage]) -> Iterator[Finding]:
    quotes = "\n".join(passage.quote for passage in carried)
    for url in _foreign_links(text, quotes):
        yield _finding(Severity.P0, "foreign-link", url, "Only links of the quoted evidence may appear.")
    if _has_markup(text):
        yield _finding(Severity.P0, "markup", text, "Write plain text: no links, images or HTML.")


def _foreign_links(text: str, quotes: str) -> list[str]:
    return [url for url in _URL.findall(text) if url.rstrip(".,;") not in quotes]


def _has_markup(text: str) -> bool:
    return bool(_MARKUP.search(re.sub(r"`[^`]*`", "", text)))  # code may show what it likes


def is_plain(text: str, quote: str) -> bool:
    """Whether `text` has no markup, and no link that `quote` lacks."""
    return not _has_markup(text) and not _foreign_links(text, quote)
