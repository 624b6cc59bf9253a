"""Quotes stay in their language; a reader of the other one gets a translation beside them, marked as such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generate import prompts
from generate.borne import has_identifier, identifiers
from generate.fence import LANGUAGES, defanged, nonce
from generate.llm import LanguageModel, Message, Meter
from generate.quantity import quantities, supported
from generate.relation import speaks
from generate.reply import Asked, read, schema_of
from generate.verify import is_plain, visible
from kb.errors import GenerationFailed
from kb.text import folded
from kb.types import Citation, Dropped, Lang

PROMPTS = ("gloss", "quotes")


class _Gloss(Asked):
    n: int
    text: str


class _Glosses(Asked):
    glosses: tuple[_Gloss, ...]


@dataclass(frozen=True)
class Glossed:
    """The citations that got a gloss, and the glosses that did not hold."""

    citations: tuple[Citation, ...]
    dropped: tuple[Dropped, ...]


def gloss(llm: LanguageModel, citations: Sequence[Citation], lang: Lang, meter: Meter) -> Glossed:
    """Translate the quotes that are not in `lang`. A quote without a translation is still one: nothing is raised."""
    foreign = {one.n: one for one in citations if not speaks(one.quote, lang)}
    if not foreign:
        return Glossed((), ())
    try:
        written = _written(llm, foreign, lang, meter)
    except GenerationFailed as error:
        return Glossed((), (Dropped(what="translations of the quotes", where="gloss", reason=error.what),))
    held, dropped = [], []
    for n, citation in foreign.items():
        text = " ".join(written.get(n, "").split())
        if fault := _fault(text, citation.quote, lang):
            dropped.append(Dropped(what=f"translation of [{n}]", where="gloss", reason=fault))
        else:
            held.append(citation.model_copy(update={"gloss": text}))
    return Glossed(tuple(held), tuple(dropped))


def _written(llm: LanguageModel, citations: Mapping[int, Citation], lang: Lang, meter: Meter) -> Mapping[int, str]:
    mark = nonce()
    quotes = "\n\n".join(f"[{n}] {defanged(one.quote)}" for n, one in citations.items())
    message = Message(
        system=prompts.load("gloss").render(language=LANGUAGES[lang], nonce=mark),
        user=prompts.load("quotes").render(nonce=mark, quotes=quotes),
        nonce=mark,
    )
    text = llm.complete(message, schema=schema_of(_Glosses), meter=meter)
    return {one.n: visible(one.text) for one in read(text, _Glosses).glosses}


def _fault(text: str, quote: str, lang: Lang) -> str:
    """Why a gloss is not shown; empty if it holds. Numbers and identifiers must be the quote's, all of them."""
    if not text:
        return "there is none"
    if not speaks(text, lang):
        return "it is in the wrong language"
    if not is_plain(text, quote):
        return "it holds a link or markup"
    for one, other in ((text, quote), (quote, text)):
        known = folded(other).casefold()
        for quantity in quantities(one):
            if not supported(quantity, other):
                return f"{quantity.written} stands in one of the two only"
        if missing := next((name for name in identifiers(one) if not has_identifier(name, known)), ""):
            return f"{missing} stands in one of the two only"
    return ""
