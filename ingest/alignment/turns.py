"""Where a speaker goes on to something else, or away from the slides, as words and pauses show it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_LEAD = r"(?:(?:好|那么|那|嗯|所以|(?:ok|okay|so|well|right|alright|all right|and|but)\b)[\s,，。.、]*)*"
_CUES = re.compile(
    rf"[\s\-–]*{_LEAD}(?:"
    r"(?:接下来|下面|下一[个页张部]|首先|其次|最后|另外|此外|再[来说看讲]|还有一[个点]|更进一步|接着|第[一二三四五六七八九十]+[个点部页]"
    r"|然后我们|(?:我们|咱们)(?:再|先|来|接着)?[来看讲说]|先看|讲讲|说说|来看|看一下|总结一下|回到)"
    r"|(?:next|now|finally|first(?:ly)?|second(?:ly)?|third(?:ly)?|last(?:ly)?|let'?s|let us|moving on|another|what if"
    r"|what about|how about|one step further|to sum(?:marize| up)|in summary|back to|going back|the (?:next|last) "
    r"|we (?:now|will now|can now|start|begin))\b)",
    re.IGNORECASE,
)
_AWAY = re.compile(
    r"终端|命令行|切到|演示一下|现场演示|提问|有[没什]有?问题|问题吗|答疑|互动环节"
    r"|\bterminal\b|\blive demo|\b(?:a|the|my) demo\b|any questions|questions (?:from|so far)|\bq ?& ?a\b"
    r"|your questions?\b",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"[回翻]到|翻回|回头看|[前上]面?[那这]?一[页张]|刚才[那这]?一?[页张]|\bback to\b|\b(?:go|going|jump) back\b"
    r"|\b(?:earlier|previous) slide",
    re.IGNORECASE,
)
_CUE, _LEAVING, _RETURNING = 1.9, 4.5, 2.0  # nats
_PAUSE, _DOUBLINGS = 1.5, 2.5  # nats for each doubling of the usual pause, and how many count at most
_SENTENCES = 10  # while a slide is shown, for which the prices of the way hold
_SHORTEST, _LONGEST = 500, 8000  # milliseconds from one of them to the next: decks are not always shown whole
_BREATH = 250  # milliseconds that no pause falls short of: recognisers give sentences that touch


def turns(texts: Sequence[str], spans: Sequence[tuple[int, int]], slides: int) -> NDArray[np.float64]:
    """Nats by which each sentence, of `spans` in milliseconds, is more likely than usual to begin something new.

    The less time a talk has for each of its slides, the more often it turns.
    """
    cues = np.array([_CUE if _CUES.match(text) else 0.0 for text in texts])
    gaps = np.array([0, *(max(0, after[0] - before[1]) for before, after in pairwise(spans))])
    usual = float(np.median(gaps)) + _BREATH
    pauses = _PAUSE * np.clip(np.log2((gaps + _BREATH) / usual), 0.0, _DOUBLINGS)
    step = min(_LONGEST, max(_SHORTEST, (spans[-1][1] - spans[0][0]) / slides / _SENTENCES))
    steps = np.diff([start for start, _ in spans], prepend=spans[0][0] - step)
    chances = np.clip(np.log(np.maximum(steps, 1) / step), -0.7, 1.6)  # more happens in a longer stretch
    ease: NDArray[np.float64] = cues + pauses + chances
    return ease


def returns(texts: Sequence[str]) -> NDArray[np.float64]:
    """Nats by which each sentence is more likely than usual to go back to an earlier slide."""
    return np.array([_RETURNING if _BACK.search(text) else 0.0 for text in texts])


def away(texts: Sequence[str]) -> NDArray[np.float64]:
    """Nats by which each sentence is more likely than usual to be said with no slide on the screen."""
    return np.array([_LEAVING if _AWAY.search(text) else 0.0 for text in texts])
