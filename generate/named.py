"""Titles of chapters by a language model, each checked against what is said and shown in its chapter."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from generate import prompts
from generate.borne import unborne
from generate.fence import LANGUAGES, defanged, nonce
from generate.llm import LanguageModel, Message, Meter
from generate.polarity import reversals
from generate.question import content_terms
from generate.reply import Asked, read, schema_of
from generate.titles import WIDEST, Part, Titles, title_of, width
from kb.errors import GenerationFailed
from kb.glossary import load_glossary
from kb.types import Lang

_PROMPT_TOKENS = 700  # the instructions, and what JSON needs
_NEW = 0.34  # share of a title's words that need not stand in the chapter: they may be its own words in another form
_log = structlog.get_logger(__name__)


class _Reply(Asked):
    titles: tuple[str, ...]


def titles_by(llm: LanguageModel, meter: Meter) -> Titles:
    """Titles that the model writes; where one does not hold, or the model fails, the one from slides and terms.

    Naming raises `Abandoned` as soon as `meter` says that nobody waits.
    """

    def named(parts: Sequence[Part], lang: Lang) -> list[str]:
        own = title_of(parts, lang)
        titles: list[str] = []
        for part, offered, safe in zip(parts, _offered(llm, parts, lang, meter), own, strict=True):
            rest = {*titles, *own} - {safe}
            titles.append(offered if offered not in rest and _holds(offered, part) else safe)
        return titles

    return named


def _offered(llm: LanguageModel, parts: Sequence[Part], lang: Lang, meter: Meter) -> Sequence[str]:
    """One title for each part; empty ones where the model gives none."""
    nothing = [""] * len(parts)
    mark = nonce()
    room = max(80, (llm.context_tokens - llm.max_tokens - _PROMPT_TOKENS) // len(parts))  # of characters, as tokens
    shown = "\n\n".join(f"Chapter {number}\n{defanged(_text(part)[:room])}" for number, part in enumerate(parts, 1))
    request = prompts.load("chapters").render(nonce=mark, language=LANGUAGES[lang], chapters=shown)
    message = Message("You write short, plain titles.", request, nonce=mark)
    try:
        titles = read(llm.complete(message, schema=schema_of(_Reply), meter=meter), _Reply).titles
    except GenerationFailed as error:
        _log.warning("no_titles", error=str(error)[:200])
        return nothing
    return [" ".join(title.split()) for title in titles] if len(titles) == len(parts) else nothing


def _text(part: Part) -> str:
    """Slides first, then what is said."""
    slides = dict.fromkeys(line.screen.title for line in part if line.screen and line.screen.title)
    return "\n".join([*slides, *(line.text for line in part)])


def _holds(title: str, part: Part) -> bool:
    """Whether it fits, its words stand in the chapter, as they are or in the other language, and it neither brings a
    number or a name of its own nor turns round what is said: as `verify.check` holds claims against their evidence."""
    if not title or width(title) > WIDEST or not all(character.isprintable() for character in title):
        return False
    text = _text(part)
    if any(unborne(title, text, text)) or any(reversals(title, text)):
        return False
    known = content_terms(text)
    known |= {word for term in load_glossary().find(text) for name in term.names("und") for word in content_terms(name)}
    words = content_terms(title)
    return bool(words) and len(words - known) <= _NEW * len(words)
