"""What speech recognition invents is taken out again, whichever transcriber was at work.

Whisper models say, with high confidence, what their training captions said over silence (credits, thanks for watching),
repeat a phrase in a loop, and echo the words that they were told to expect: SYSTRAN/faster-whisper issues 465, 506 and
843. Everything that is removed is given back with its time and the reason.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from ingest.parsed import Block
from kb.text import HAN
from kb.types import Dropped

if TYPE_CHECKING:
    import opencc

LOOP = 3  # the same sentence so many times in a row is a loop; twice, people do say

_CREDITS = re.compile(
    r"字幕(由|製作|制作|生成|提供|志愿|志願|组|組)|amara\.?org|(请|請)不吝(点|點)(赞|贊)|打(赏|賞)支持|(明镜|明鏡)与?與?(点点|點點)"
    r"|(感谢|感謝|谢谢|謝謝)(观看|觀看|收看|您的观看|大家的?观看)|(订阅|訂閱)我的(频道|頻道)|(优优|優優)独播|中文字幕"
    r"|subtitles? by|subtitles made by|captions? by|transcribed by|thanks? (you )?for watching|please subscribe"
    r"|like and subscribe|subscribe to (my|our|the) channel",
    re.IGNORECASE,
)
_LONGEST_CREDIT = 40  # characters: a longer sentence that contains such words says something else, too
_LOOP_INSIDE = re.compile(r"(?P<phrase>.{2,40}?)(?:[\s,，、.。]*(?P=phrase)){4,}")


def clean(heard: Iterable[Block | Dropped], prompt: tuple[str, ...]) -> Iterator[Block | Dropped]:
    """Sentences as they are written, without credits, loops and echoes of `prompt`; each removal as a `Dropped`."""
    echo = _letters("".join(prompt))
    terms = {_letters(term) for term in prompt}
    for _, run in groupby(heard, key=lambda item: _letters(item.text) if isinstance(item, Block) else id(item)):
        items = list(run)
        loop = len(items) >= LOOP
        for item in items[:1] if loop else items:
            yield from _sentence(item, echo, terms) if isinstance(item, Block) else (item,)
        for item in items[1:] if loop else ():
            yield _dropped(item, "a phrase in a loop: kept once") if isinstance(item, Block) else item


def _sentence(block: Block, echo: str, terms: set[str]) -> Iterator[Block | Dropped]:
    letters = _letters(block.text)
    if not letters:
        yield _dropped(block, "no words")
    elif len(block.text) <= _LONGEST_CREDIT and _CREDITS.search(block.text):
        yield _dropped(block, "a phrase of subtitle credits, invented over silence")
    elif letters in echo and letters not in terms and not any(letters in term for term in terms):
        yield _dropped(block, "an echo of the words that the transcriber was told to expect")
    else:
        text = _LOOP_INSIDE.sub(lambda loop: loop["phrase"], block.text)
        if text != block.text:
            yield _dropped(block, f"a phrase in a loop: kept once, as {text!r}")
        yield replace(block, text=as_written(text))


def as_written(text: str) -> str:
    """Chinese as it is written: in Simplified script, with full-width punctuation; other text as it is."""
    if not HAN.search(text):
        return text
    text = _FIGURE_IN_WORD.sub("一", str(_converter().convert(text)))
    return _HALF_WIDTH.sub(lambda mark: _FULL_WIDTH[mark[0].strip()], text)


_FULL_WIDTH = {",": "，", "?": "？", "!": "！", ":": "：", ";": "；"}
_FIGURE_IN_WORD = re.compile(r"(?<!\d)1(?=[共起定样般直旦])")  # recognisers write the word 一共 with a figure
_HALF_WIDTH = re.compile(rf"(?<={HAN.pattern})[,?!:;]\s*|[,?!:;]\s*(?={HAN.pattern})")


@cache
def _converter() -> opencc.OpenCC:
    import opencc

    return opencc.OpenCC("t2s")


def _letters(text: str) -> str:
    """Letters and digits alone, in one case and script, for comparing."""
    return "".join(c for c in unicodedata.normalize("NFKC", as_written(text)).casefold() if c.isalnum())


def _dropped(block: Block, reason: str) -> Dropped:
    return Dropped(what=block.text, where=str(block.locator), reason=reason)
