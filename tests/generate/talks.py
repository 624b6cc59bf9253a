"""A small talk made by hand: a deck, captions and a note that belong together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from PIL import Image

from generate.transcript import chosen, transcript
from index.sparse import terms
from ingest.alignment.align import align
from kb.text import detect_lang, stable_id
from kb.types import (
    Document,
    Dropped,
    Flag,
    Kind,
    Lang,
    Locator,
    Mark,
    Page,
    Role,
    Screen,
    Segment,
    Source,
    Talk,
    Time,
    Transcript,
)

TALK = Talk(
    id="kv-cache", title="KV 缓存", lang="zh", date=date(2026, 3, 4), version="0.33.0", url="https://v.example/w"
)

Part = tuple[Role, Locator, str] | tuple[Role, Locator, str, Flag]


def document(kind: Kind, name: str, parts: Sequence[Part], *, pages: int = 0, url: str | None = None) -> Document:
    source = Source(
        id=stable_id(name),
        kind=kind,
        uri=f"file:///talk/{name}",
        sha256="0",
        title=name,
        talk=TALK.id,
        lang=detect_lang("".join(part[2] for part in parts)),
        url=url,
    )
    segments = tuple(
        Segment(
            source_id=source.id,
            order=order,
            text=part[2],
            locator=part[1],
            role=part[0],
            lang=detect_lang(part[2]),
            flags=frozenset(part[3:]),
        )
        for order, part in enumerate(parts)
    )
    return Document(source=source, segments=segments, pages=pages)


def page(number: int) -> Page:
    return Page(number=number)


def at(second: int) -> Time:
    return Time(start_ms=second * 1000, end_ms=second * 1000 + 3500)


DECK = document(
    Kind.DECK,
    "deck.pdf",
    [
        (Role.TITLE, page(1), "KV 缓存"),
        (Role.BODY, page(1), "张三"),
        (Role.TITLE, page(2), "目录"),
        (Role.BODY, page(2), "分页\n前缀复用\n量化"),
        (Role.TITLE, page(3), "分页管理"),
        (Role.BODY, page(3), "每个块保存 16 个 token"),
        (Role.BODY, page(3), "块表把逻辑块映射到物理块，显存利用率由此提高"),
        (Role.CODE, page(3), "block_size = 16  # <tokens>"),
        (Role.NOTES, page(3), "这里演示块表的查找过程"),
        (Role.TITLE, page(4), "前缀复用"),
        (Role.TABLE, page(4), "| 方案 | 命中率 |\n| --- | --- |\n| 哈希 <b> | 87.5% |"),
        (Role.TITLE, page(5), "量化", Flag.UNREAD_GRAPHIC),
        (Role.TITLE, page(6), "谢谢大家"),
    ],
    pages=6,
)
CAPTIONS = document(
    Kind.CAPTIONS,
    "talk.srt",
    [
        (Role.SPEECH, at(0), "(音乐)"),
        (Role.SPEECH, at(4), "先看分页管理，块表把逻辑块映射到物理块"),
        (Role.SPEECH, at(8), "每个块固定保存 16 个 token"),
        (Role.SPEECH, at(20), "再看前缀复用，相同的前缀算出相同的哈希"),
        (Role.SPEECH, at(24), "命中率达到 87.5%", Flag.LOW_CONFIDENCE),
        (Role.SPEECH, at(40), "最后是量化，KV cash 压到 FP8"),
    ],
    url=TALK.url,
)
NOTE = document(
    Kind.NOTE,
    "note.md",
    [
        (Role.TITLE, Mark(heading_path=("补充",), line_start=1, line_end=1), "# 补充"),
        (
            Role.BODY,
            Mark(heading_path=("补充",), line_start=3, line_end=3, anchor="补充"),
            "参见 [这里](javascript:alert(1)) 与 ![图](http://evil.example/x.png) <img src=x onerror=alert(1)>，"
            "块大小是 **16**。",
        ),
    ],
)
NOTE = NOTE.model_copy(update={"dropped": (Dropped(what="picture", where="L9", reason="no alternative text"),)})
DOCUMENTS = (DECK, CAPTIONS, NOTE)


def heard(documents: Sequence[Document] = DOCUMENTS, lang: Lang = "zh") -> Transcript | None:
    """The transcript of the talk, laid to the slides of its decks."""
    document = chosen(TALK, documents, lang)
    if document is None:
        return None
    decks = [deck for deck in documents if deck.source.kind is Kind.DECK]
    times = {segment.order: segment.locator for segment in document.segments}
    screens = [
        Screen(
            source_id=shown.deck,
            page=shown.page,
            href=Page(number=shown.page).href(DECK.source),
            start_ms=time.start_ms,
            end_ms=time.end_ms,
            confidence=shown.confidence,
        )
        for shown in align(document, decks, terms=terms)
        if isinstance(time := times[shown.order], Time)
    ]
    return transcript(TALK, document, screens, lang)


class Pictures:
    """Page images of every deck but for page 5."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "page.png"
        Image.new("RGB", (32, 18), "white").save(self.path)

    def __call__(self, source_id: str, number: int) -> Path | None:
        return self.path if source_id == DECK.source.id and number != 5 else None
