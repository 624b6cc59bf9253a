"""How much a sentence speaks of a slide, by words and by meaning."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ingest.alignment.decks import SlideText
from ingest.alignment.numerals import with_digits
from kb.glossary import load_glossary
from kb.text import HAN

Terms = Callable[[str], Iterable[str]]
"""The words of a text, as retrieval cuts them."""

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to rows of length 1, shape `(texts, dimension)`."""

Matrix = NDArray[np.float64]

_SLIDE_SHARE = 0.5  # of the words said on a slide that are the slide's own; the rest are the talk's
_TITLE = 2  # what a word of the title counts
_BIGRAM = 0.3  # what two hanzi count that are no word: they outlast a misheard neighbour
_STEM, _STEM_LENGTH = 0.5, 5  # what the beginning of an English word counts, whatever its ending
_STRONGEST, _ANY = 5.0, 3.0  # nats that one sentence may say for or against a slide, and for any slide at all
_SHARP = 0.6  # nats of a standard deviation of the cosines
_USUAL = 1000  # words of a talk; in a shorter one, rare words would look common
_LONGEST, _LONGEST_TITLE = 200, 80  # characters that are embedded at once: any model reads so much
_RUN = re.compile(f"{HAN.pattern}+")
_STEMMED = re.compile(rf"[A-Za-z]{{{_STEM_LENGTH + 1},}}")
_EMPTY = re.compile("[的了是个在和就这那有我们你也都不把一着吗呢吧啊么]")  # hanzi that pairs do not cross
_CONCEPT, _PAIR, _BEGINNING = "\x00", "\x01", "\x02"  # before what is no word
_WEIGHTS = {_PAIR: _BIGRAM, _BEGINNING: _STEM}


def by_words(speech: Sequence[str], slides: Sequence[SlideText], terms: Terms) -> Matrix:
    """Log-odds that the words of a sentence were drawn from a slide rather than from the talk.

    Shape `(sentences, slides)`, from 0. Slides are unigram models, mixed with that of the whole talk (Jelinek-Mercer
    smoothing: Zhai and Lafferty, 2004). Names of the glossary meet across languages, spoken numbers as digits.
    """
    said = [_tokens(text, terms) for text in speech]
    shown = [_bag(slide, terms) for slide in slides]
    talk: Counter[str] = sum([*said, *shown], Counter())
    size, whole = [max(1, bag.total()) for bag in shown], max(_USUAL, talk.total())
    votes: dict[str, NDArray[np.float64]] = {}
    for token in set().union(*shown):
        own = np.array([bag[token] / total for bag, total in zip(shown, size, strict=True)])
        common = (talk[token] + 0.5) / whole
        vote = np.log1p(_SLIDE_SHARE / (1 - _SLIDE_SHARE) * own / common)
        votes[token] = vote * _WEIGHTS.get(token[0], 1.0)
    odds = np.zeros((len(speech), len(slides)))
    for row, tokens in zip(odds, said, strict=True):
        for token in tokens.keys() & votes.keys():
            row += votes[token]
    top = odds.max(axis=1, keepdims=True)  # taken out first: what a long passage shares is too much for exp
    level = top + np.log(np.exp(odds - top).mean(axis=1, keepdims=True))
    likely: Matrix = np.clip(odds - level, -_STRONGEST, _STRONGEST) + np.minimum(level, _ANY)
    return likely


def by_meaning(speech: Sequence[str], slides: Sequence[SlideText], embed: Embed) -> Matrix:
    """Log-odds that a sentence means a slide rather than any of them, by its cosine to the nearest part of each."""
    parts = [(number, part) for number, slide in enumerate(slides) for part in _parts(slide)]
    if not parts or len(slides) < 2:
        return np.zeros((len(speech), len(slides)))
    speech = [text[:_LONGEST] for text in speech]
    texts = list(dict.fromkeys(speech))
    place = {text: number for number, text in enumerate(texts)}
    cosines = (embed(texts) @ embed([part for _, part in parts]).T).astype(np.float64)[[place[t] for t in speech]]
    nearest = np.full((len(speech), len(slides)), -1.0)
    for column, (number, _) in enumerate(parts):
        nearest[:, number] = np.maximum(nearest[:, number], cosines[:, column])
    nearest -= nearest.mean(axis=0, keepdims=True)
    nearest -= nearest.mean(axis=1, keepdims=True)
    nearest *= _SHARP / max(float(nearest.std()), 1e-6)
    nearest -= np.log(np.exp(nearest).mean(axis=1, keepdims=True))
    return nearest


def _tokens(text: str, terms: Terms) -> Counter[str]:
    plain = with_digits(text)
    concepts = (_CONCEPT + term.en[0] for term in load_glossary().find(text) if term.en)
    pairs = (_PAIR + run[at : at + 2] for run in _RUN.findall(_EMPTY.sub(" ", plain)) for at in range(len(run) - 1))
    words = [*terms(plain)]
    stems = (_BEGINNING + word[:_STEM_LENGTH] for word in words if _STEMMED.fullmatch(word))
    return Counter([*words, *concepts, *pairs, *stems])


def _bag(slide: SlideText, terms: Terms) -> Counter[str]:
    bag = _tokens("\n".join(slide.parts), terms)
    for token, count in _tokens(slide.title, terms).items():
        bag[token] += _TITLE * count
    return bag


def _parts(slide: SlideText) -> list[str]:
    """The title with each text below it, in pieces that every model reads whole; an empty slide has none."""
    texts = [text[at : at + _LONGEST] for text in slide.parts for at in range(0, len(text), _LONGEST)]
    title = slide.title[:_LONGEST_TITLE]
    return [f"{title}\n{text}".strip() for text in texts] or [title] * bool(title)
