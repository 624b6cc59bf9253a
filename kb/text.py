"""Text as people write it in Chinese and English: normalisation, sentences, verbatim quotes, stable ids.

Stored text is `canonical`: NFC, with radical look-alikes folded. Compatibility folding (NFKC) is for matching only, so
that quotes and their offsets never shift.
"""

from __future__ import annotations

import re
import unicodedata
import uuid
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

_NAMESPACE = uuid.UUID("7b0e0b5a-8f0c-5d0e-9d53-3d1d8f1f6f4b")

# PDF fonts map hanzi to look-alike radicals. The Kangxi block (U+2F00) has compatibility decompositions, the supplement
# (U+2E80) mostly has none: these pairs are Unicode's property Equivalent_Unified_Ideograph.
_SUPPLEMENT = dict(
    zip(
        "⺁⺂⺃⺄⺅⺆⺇⺈⺉⺊⺋⺌⺍⺎⺏⺐⺑⺒⺓⺔⺕⺖⺗⺘⺙⺛⺜⺝⺞⺟⺠⺡⺢⺣⺤⺥⺦⺧⺨⺩⺪⺫⺬⺭⺮⺯⺰⺱⺲⺳⺴⺵⺶⺷⺸⺹⺺⺻⺼⺽"
        "⺾⺿⻀⻁⻂⻃⻄⻅⻆⻇⻈⻉⻊⻋⻌⻍⻎⻏⻐⻑⻒⻓⻔⻕⻖⻗⻘⻙⻚⻛⻜⻝⻞⻟⻠⻡⻢⻣⻤⻥⻦⻧⻨⻩⻪⻫⻬⻭⻮⻯⻰⻱⻲⻳",
        "厂乛乚乙亻冂𠘨刀刂卜㔾小小兀尣尢𡯂巳幺彑彐忄心扌攵旡日月歺母民氵氺灬爫爫丬牛犭王𤴔目示礻𥫗糹纟罓罒㓁冗𦉫羊𦍌𦍋耂肀聿肉𦥑"
        "艹艹艹虎衤覀西见角𧢲讠贝𧾷车辶辶辶邑钅長镸长门𨸏阝雨青韦页风飞食𩙿飠饣𩠐马骨鬼鱼鸟卤麦黄黾斉齐歯齿竜龙龜亀龟",
        strict=True,
    )
)
_KANGXI = {chr(code): unicodedata.normalize("NFKC", chr(code)) for code in range(0x2F00, 0x2FD6)}
_RADICALS = str.maketrans(_SUPPLEMENT | _KANGXI)

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
HAN = re.compile(f"[{_HAN}]")
_SEPARATORS = re.compile("[\v\f\x1c-\x1f\x85\u2028\u2029]")
_LATIN_WORD = re.compile(r"[A-Za-z]{2,}")


def canonical(text: str) -> str:
    """The stored form: NFC, radicals folded to hanzi, line ends as `\\n`, control characters gone.

    Separators that editors do not count as line ends (form feed, U+2028 and the like) become blanks: no line number
    moves, and no words run together.
    """
    text = _SEPARATORS.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
    return unicodedata.normalize("NFC", text.translate(_RADICALS))


def detect_lang(text: str) -> Literal["zh", "en", "und"]:
    """Chinese where hanzi carry the text: a Chinese sentence full of English terms is still Chinese.

    A hanzi weighs as much as a Latin word of two letters or more; a fifth of that weight makes a text Chinese.
    """
    hanzi, words = len(HAN.findall(text)), len(_LATIN_WORD.findall(text))
    if not hanzi and not words:
        return "und"
    return "zh" if hanzi >= 0.2 * (hanzi + words) else "en"


def stable_id(*parts: str) -> str:
    """A UUID made from content: the same parts give the same id on every machine, ever."""
    return str(uuid.uuid5(_NAMESPACE, "\x1f".join(parts)))


def slug(text: str) -> str:
    """An anchor or file name that keeps hanzi; equal to `pymdownx.slugs.slugify(case="lower")`, as the site uses it."""
    text = re.sub(r"</?[^>]*>", "", unicodedata.normalize("NFC", text)).strip().lower()
    return re.sub(r"[ ]", "-", re.sub(r"[^\w\- ]", "", text))


def printable(text: str) -> str:
    """`text` for a terminal or a log: control, direction and surrogate characters as escapes, so that none acts."""
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") else c
        for c in text
    )


# --- quotes -----------------------------------------------------------------------------------------------------


class Folded(NamedTuple):
    """A text in its matching form; character `i` of it began at `offsets[i]` of the original."""

    text: str
    offsets: tuple[int, ...]


def fold(text: str) -> Folded:
    """The one normalisation under which a quote must stand verbatim: width, white space and hyphenation.

    Compatibility forms become plain ones (`ﬁ` → `fi`, `Ａ` → `A`), a hyphen at a line's end joins the halves of a word,
    white space becomes one blank and vanishes beside hanzi. Case, punctuation and digits stay.
    """
    characters: list[str] = []
    offsets: list[int] = []
    text_joined = _HYPHENATED.sub(lambda found: "\x00" * len(found[0]), text)
    end = 0
    for run in _AS_IT_IS.finditer(text_joined):  # most of any text: taken over whole
        _fold_marks(text_joined, end, run.start(), characters, offsets)
        if characters and characters[-1] == " " and _is_han(run[0][0]):
            characters.pop()
            offsets.pop()
        characters += run[0]
        end = run.end()
        offsets += range(run.start(), end)
    _fold_marks(text_joined, end, len(text_joined), characters, offsets)
    if characters and characters[-1] == " ":
        characters.pop()
        offsets.pop()
    return Folded("".join(characters), tuple(offsets))


def folded(text: str) -> str:
    """`fold(text).text`, in half the time."""
    plain = _CHANGES.sub(lambda found: "".join(map(_plain, found[0])), _HYPHENATED.sub("", text))
    return _BLANKS.sub(" ", _BESIDE_HAN.sub("", plain)).strip(" ")


def _fold_marks(text: str, start: int, end: int, characters: list[str], offsets: list[int]) -> None:
    """Fold `text[start:end]`, which holds white space and characters that may change, behind what was folded before."""
    for position in range(start, end):
        for character in _plain(text[position]):
            if character == " ":
                if not characters or characters[-1] == " " or _is_han(characters[-1]):
                    continue
            elif characters and characters[-1] == " " and _is_han(character):
                characters.pop()
                offsets.pop()
            characters.append(character)
            offsets.append(position)


@cache
def _plain(character: str) -> str:
    """What one character is in the matching form; nothing for marks that are not seen. Folding is mostly this."""
    if character == "\x00" or unicodedata.category(character) == "Cf":
        return ""
    plain = unicodedata.normalize("NFKC", character.translate(_RADICALS))
    return "".join(" " if one.isspace() else one for one in plain)


def _is_han(character: str) -> bool:
    return character > "\u33ff" and HAN.match(character) is not None


# Visible ASCII, a blank in it, common hanzi and these marks fold to themselves.
_AS_IT_IS = re.compile("(?:[!-~]+(?: [!-~]+)*|[\u4e00-\u9fff。、“”‘’《》【】「」]+)+")
_CHANGES = re.compile("[^ !-~\u4e00-\u9fff。、“”‘’《》【】「」]+")
_BLANKS = re.compile("  +")
_BESIDE_HAN = re.compile(f"(?<=[{_HAN}]) +| +(?=[{_HAN}])")
_HYPHENATED = re.compile(r"(?<=[a-z])-\n[ \t]*(?=[a-z])")


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Where `quote` stands in `text` after `fold`, as offsets into `text`; None where it does not."""
    needle = folded(unicodedata.normalize("NFC", quote))  # as stored text is
    if not needle:
        return None
    haystack = fold(text)
    at = haystack.text.find(needle)
    if at < 0:
        return None
    return haystack.offsets[at], haystack.offsets[at + len(needle) - 1] + 1


# --- sentences --------------------------------------------------------------------------------------------------

_CLOSERS = r"”’\"'）)】\]」』》*_`"
_STOP = re.compile(
    rf"[。！？；!?…]*[。！？；][!?…]*[{_CLOSERS}]*"  # Chinese stops end a sentence wherever they stand
    rf"|[!?…]+[{_CLOSERS}]*(?=\s|$)|[!?]+(?=[{_HAN}])"  # others need white space behind them: `?a=1`, `a != b`
    rf"|(?<!\d)\.[{_CLOSERS}]*(?=\s|$)"
    rf"|(?<=\d)\.[{_CLOSERS}]*(?=\s+[A-Z{_HAN}]|\s*$)"
)
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Fig|fig|Eq|No|Dr|Mr|Ms|approx|al|Inc|v)|\b[A-Z])\.$")
_ENUMERATOR = re.compile(r"[\s>*+-]*\d{1,4}\.")
_ITEM = re.compile(r"\s*(?:[-*+•]\s|\d+[.)、]\s?|[|#>]|$|:::|!!!|```|~~~)")
_FORMULA = re.compile(r"\$\$[^$]+\$\$|^[ \t>]*\\\[.{1,1000}?\\\][ \t]*$", re.DOTALL | re.MULTILINE)
_PROSE_COLUMNS = 40  # a shorter line before a line break is a title or an item, not wrapped prose


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of `text`, in order, without the white space around them.

    A line break ends a sentence, too, except where it only wraps a line of prose or of a command, and in a formula
    between `$$` or `\\[` and `\\]`, half of which says nothing.
    """
    start = 0
    for end in _boundaries(text):
        left = start + len(text[start:end]) - len(text[start:end].lstrip())
        right = start + len(text[start:end].rstrip())
        if left < right:
            yield left, right
        start = end


def _boundaries(text: str) -> Iterator[int]:
    cuts = {_before_opening(text, found.end()) for found in _STOP.finditer(text) if _ends(text, found.end())}
    cuts |= {position for position, character in enumerate(text) if character == "\n" and _breaks(text, position)}
    for formula in _FORMULA.finditer(text):
        cuts -= set(range(formula.start() + 1, formula.end()))
    yield from sorted(cut for cut in cuts if 0 < cut < len(text))
    yield len(text)


def _before_opening(text: str, end: int) -> int:
    """The end of a sentence less the mark that opens the next one, as in "到此为止。`--flag` 是…"."""
    mark = text[end - 1]
    if mark not in "*_`" or text[end : end + 1].strip() == "":
        return end
    start = end - (len(text[:end]) - len(text[:end].rstrip(mark)))
    is_open = text.count(mark, text.rfind("\n", 0, end) + 1, start) % (2 * (end - start)) == 0
    return start if is_open else end


def _ends(text: str, position: int) -> bool:
    """Whether the stop before `position` ends a sentence, and not an abbreviation or the number of a list item."""
    line = text.rfind("\n", 0, position) + 1
    before = text[max(line, position - 16) : position]
    return not _ABBREVIATION.search(before) and not (position - line < 16 and _ENUMERATOR.fullmatch(before))


def _breaks(text: str, position: int) -> bool:
    before = text[text.rfind("\n", 0, position) + 1 : position]
    if before.endswith("\\"):
        return False  # a command that goes on
    after = text[position + 1 : (text + "\n").find("\n", position + 1)]
    wide = len(before) + len(HAN.findall(before))
    return bool(_ITEM.match(after) or before.lstrip().startswith(("|", "#"))) or wide < _PROSE_COLUMNS
