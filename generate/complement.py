"""What a model leaves out of what the evidence says: the quotes of the extractive answer that its sentences lack.

A model that is set must not cost a reader what the product would have shown without one.
"""

from __future__ import annotations

from collections.abc import Sequence

from generate.borne import has_identifier, identifiers
from generate.passages import Passage
from generate.quantity import quantities, supported
from generate.readable import readable
from generate.relation import words
from kb.text import folded
from kb.types import Claim, Lang

_SAID = 0.6  # of a quote's words, from which a sentence says it

_LEADS = {
    "en": (
        "In the words of the sources:",
        "Nothing that the model wrote stood up to the checks. In the words of the sources:",
        "The model found no answer in the evidence. What comes nearest, in the words of the sources:",
    ),
    "zh": (
        "原文：",
        "模型写的内容没有一句通过核对，原文如下：",
        "模型认为资料没有回答这个问题，最接近的原文如下：",
    ),
}


def lead(lang: Lang, claims: Sequence[Claim], *, is_declined: bool) -> str:
    """What stands above the quotes: why they are there."""
    below, instead, against = _LEADS["zh" if lang == "zh" else "en"]
    return below if claims else against if is_declined else instead


def remaining(
    quotes: Sequence[Passage], claims: Sequence[Claim], cited: Sequence[Passage], things: int
) -> list[Passage]:
    """Those of `quotes` that a reader of the claims would miss.

    Of the best ones, as many as `things` are asked, those with a figure or a name that no claim has, and of those
    without any, the ones that no claim cites or says. Where no claim says or rests on any of the best, the model speaks
    of something else: then the others, too.
    """
    if not claims:
        return list(quotes)
    said = "\n".join(claim.text for claim in claims)
    best, others = quotes[:things], quotes[things:]
    missed = [quote for quote in best if not _is_said(quote, said, cited)]
    if len(missed) == len(best) and not any(_is_cited(quote, cited) for quote in best):
        missed += [quote for quote in others if not _is_cited(quote, cited) and not _is_said(quote, said, cited)]
    return missed


def _is_cited(quote: Passage, cited: Sequence[Passage]) -> bool:
    return any(map(quote.overlaps, cited))


def _is_said(quote: Passage, said: str, cited: Sequence[Passage]) -> bool:
    text = readable(quote)
    counted, named = list(quantities(text)), list(identifiers(text))
    if counted or named:
        known = folded(said).casefold()
        return all(supported(one, said) for one in counted) and all(has_identifier(one, known) for one in named)
    own = words(text)
    return _is_cited(quote, cited) or len(own & words(said)) >= _SAID * len(own)
