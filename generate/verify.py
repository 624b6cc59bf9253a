"""Checks, in code, that a claim stands on its evidence. It fails closed: what is not borne out is a finding."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from generate.attribute import quoted, said
from generate.cite import Statement
from generate.passages import Passage
from generate.polarity import reversals
from generate.quantity import quantities, spelled_out, supported
from generate.relation import is_related, speaks
from generate.reply import Drafted, Supporting
from kb.glossary import load_glossary
from kb.text import folded, sentences
from kb.types import Finding, Lang, Severity

_ID = re.compile(r"[a-z0-9]+", re.IGNORECASE)
_BRACKETED = re.compile(r"\s*[\[【［〔(（]\s*(?P<inside>[^\[\]【】［］〔〕()（）]{1,60}?)\s*[\]】］〕)）]")
_REFERENCE = re.compile(
    r"(?:\W*(?:and|和|与)?\W*(?:[Ee][\da-f]{0,7}|\d{1,3}|(?:evidence|source|来源|证据|资料|ref\.?)\s*\w{1,8}))+\W*"
    r"|[A-Z][\w.-]+(?: et al\.?| (?:and|&) [A-Z][\w.-]+)?,? (?:19|20)\d\d[a-z]?",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(
    r"`([^`]+)`|(?<![\w-])(--?[A-Za-z][\w-]*)|\b([A-Za-z]\w*_\w+)\b|\b([A-Za-z]+[A-Z0-9]\w*(?:[-.]\w+)*)\b"
    r"|\b(?!e\.g\b|i\.e\b|etc\b|vs\b)([A-Za-z]\w*(?:\.\w+)+\b)"
)
_VERSION = re.compile(r"\bv\d+(?:\.\d+)*\b|\b\d+\.\d+\.\d+\b")
_URL = re.compile(r"(?:https?|ftp)://[^\s)\]>\"'，。；）】]+|\bwww\.[^\s)\]>\"'，。；）】]+", re.IGNORECASE)
_MARKUP = re.compile(r"!\[|\]\(|\]\[[^\]]*\]|<\s*[/!?a-zA-Z]|&#|\b(?:javascript|vbscript|data)\s*:", re.IGNORECASE)
_POINTS_BACK = re.compile(
    r"(?:It|Its|This|These|Those|That|They|Their|Such|Thus|So|Hence|Therefore|However|But|Otherwise)\b"
    r"|这|该|此|其|它|因此|所以|从而|否则|但|而"
)
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
    quoted = list(_carriers(claim, evidence, findings))
    carried = [passage for passage in quoted if is_related(text, passage)]
    if quoted and len(carried) < len(quoted):
        severity = Severity.P3 if carried else Severity.P1
        findings.append(_finding(severity, "unrelated-quote", text, "The quote speaks of something else."))
        carried = carried or quoted
    if not carried:
        findings.append(_finding(Severity.P1, "uncited", text, "Name the evidence and copy the words that carry it."))
        return Checked(text, None, tuple(findings))
    findings += _hostile(text, carried)
    findings += [_finding(Severity.P1, rule, text, hint) for rule, hint in _unborne(text, carried)]
    read = "\n".join(f"{passage.around}\n{passage.quote}" for passage in carried)
    findings += [_finding(Severity.P1, rule, text, hint) for rule, hint in reversals(text, read)]
    if not speaks(text, lang):
        hint = f"Write this sentence in {'Chinese' if lang == 'zh' else 'English'}."
        findings.append(_finding(Severity.P1, "wrong-language", text, hint))
    return Checked(text, Statement(text, tuple(carried)), tuple(findings))


def parted(claim: Drafted) -> Iterator[Drafted]:
    """A claim of several sentences as one claim each: every sentence needs evidence of its own."""
    for start, end in sentences(claim.text):
        yield claim.model_copy(update={"text": claim.text[start:end]})


def dangling(checked: Checked) -> Checked:
    """The sentence, which follows one that was left out: if it points back, it would point at something else."""
    if not _POINTS_BACK.match(checked.text):
        return checked
    hint = "Name what the sentence speaks of; the one before it is left out."
    return replace(checked, findings=(*checked.findings, _finding(Severity.P1, "points-back", checked.text, hint)))


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


def _carriers(claim: Drafted, evidence: Mapping[str, Passage], findings: list[Finding]) -> Iterator[Passage]:
    """The verbatim passages that the claim's quotes name, each widened to whole sentences."""
    seen = set()
    for support in claim.support:
        ids = [part for part in _ID.findall(support.id) if part in evidence]
        if not ids:
            hint = f"There is no evidence {support.id!r}."
            findings.append(_finding(Severity.P1, "unknown-evidence", claim.text, hint))
        for known in ids:
            found = quoted(support, evidence[known]) or _elsewhere(support, claim, evidence, findings)
            if found is None:
                hint = f"“{support.quote[:80]}” does not stand in {known}; copy it character by character."
                findings.append(_finding(Severity.P1, "quote-not-verbatim", claim.text, hint))
            elif found.id not in seen:
                seen.add(found.id)
                yield found


def _elsewhere(
    support: Supporting, claim: Drafted, evidence: Mapping[str, Passage], findings: list[Finding]
) -> Passage | None:
    """Where a quote that does not stand where it was said to stand does, or else what says the claim itself.

    Small models mix up ids and copy badly what they tell rightly. What code finds is verbatim, and is held against the
    claim like any quote.
    """
    if len(folded(support.quote)) >= _TELLING:
        found = next((one for passage in evidence.values() if (one := quoted(support, passage))), None)
        if found is not None:
            findings.append(_finding(Severity.P3, "misplaced-quote", support.quote, "It stands in other evidence."))
            return found
    found = said(claim.text, support.quote, evidence)
    if found is not None:
        findings.append(_finding(Severity.P3, "quote-mended", support.quote, "Code found the words that carry it."))
    return found


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


def identifiers(text: str) -> Iterator[str]:
    """Code, flags, variables and names of software in `text`."""
    for found in _IDENTIFIER.finditer(text):
        yield folded(next(filter(None, found.groups())))


def _unborne(text: str, carried: Sequence[Passage]) -> Iterator[tuple[str, str]]:
    """What the cited evidence does not bear out.

    Numbers and versions must stand in the quotes, with the headings and table header above them; identifiers may also
    stand elsewhere in the cited chunk, because a claim names what its paragraph is about.
    """
    quotes = "\n".join(f"{p.around}\n{p.quote}\n{p.hit.source.version or ''}" for p in carried)
    chunks = "\n".join(f"{p.hit.source.title}\n{p.hit.chunk.full_text}\n{quotes}" for p in carried)
    return unborne(text, quotes, chunks)


def unborne(text: str, evidence: str, around: str) -> Iterator[tuple[str, str]]:
    """Versions and numbers with their units that `evidence` does not hold, identifiers that `around` does not: the rule
    that `text` breaks, and a hint for whoever writes it anew."""
    held, known = folded(evidence), folded(around).casefold()
    for version in _VERSION.findall(text):
        if not re.search(rf"(?<![\d.]){re.escape(version.lstrip('v'))}(?!\d)", held):
            yield "unsupported-version", f"{version} does not stand in the cited evidence."
    for quantity in (*quantities(text), *spelled_out(text)):
        if not supported(quantity, evidence):
            yield "unsupported-number", f"{quantity.written} does not stand in the cited evidence."
    for name in identifiers(text):
        if not _stands(name, text, known):
            yield "unsupported-identifier", f"{name} does not stand in the cited evidence."


def _stands(name: str, claim: str, evidence: str) -> bool:
    """Whether the evidence, folded and in small letters, has this identifier, or its term under another name."""
    if has_identifier(name, evidence):
        return True
    names = (term.names("und") for term in load_glossary().find(claim))
    spelled = name.casefold()
    terms = (all_ for all_ in names if any(spelled in re.split(r"[\s-]", one.casefold()) for one in all_))
    return any(other.casefold() in evidence for all_ in terms for other in all_)


def has_identifier(name: str, text: str) -> bool:
    """Whether `text`, folded and in small letters, has `name` or several of it (`GPUs`), and not merely something
    longer that begins or ends like it."""
    if name.endswith("s") and name[:-1].isupper() and has_identifier(name[:-1], text):
        return True
    joined = "_" in name or name.startswith("-")
    before = r"(?<![A-Za-z0-9_])" if name[0].isalnum() else ""
    after = r"(?![A-Za-z0-9_-])" if joined else r"s?(?![A-Za-z0-9_])"
    return bool(re.search(before + re.escape(name.casefold()) + (after if name[-1].isalnum() else ""), text))
