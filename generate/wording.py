"""The product's own words in an evidence draft, in both languages; everything else in it is quoted."""

from __future__ import annotations

from dataclasses import dataclass

from kb.types import Lang


@dataclass(frozen=True)
class Wording:
    kicker: str
    abstract: str
    notice_title: str
    notice: str
    question: str
    opening: str
    stretch: str
    notes: str
    from_slide: str
    said: str
    from_notes: str
    figure: str
    gaps: str
    gap_unread: str
    gap_silent: str
    gap_thin: str
    gap_doubtful: str
    left_out: str
    words: str
    words_head: str
    warnings: str
    misheard: str
    heard: str
    aligned: str
    page: str
    lines: str
    open: str
    low_confidence: str
    none: str
    transcript: str


_ZH = Wording(
    kicker="证据草稿",
    abstract="《{title}》的证据草稿：逐字引文，出自{kinds}，供作者据此写成文章。",
    notice_title="这是证据草稿，还不是文章",
    notice="下面的引文由程序从演讲材料中逐字摘出，没有改写，也没有判断对错。请核对、取舍、成文，补上标为“待补”的内容，"
    "再把文首的 `curated` 改为 `true`。",
    question="关于“{title}”，材料说了什么？",
    opening="开场",
    stretch="{start} 起：{words}",
    notes="笔记：{title}",
    from_slide="幻灯片第 {page} 页",
    said="口述 {start}",
    from_notes="讲者备注，第 {page} 页",
    figure="图 {n}：{title}（第 {page} 页）",
    gaps="待补",
    gap_unread="第 {page} 页有没能读出的图或文字，请看图补写。",
    gap_silent="没有找到与这一节对应的口述。",
    gap_thin="这一节的证据太少，请补充来源或并入别节。",
    gap_doubtful="有识别置信度低的口述，请对照录音核对。",
    left_out="这一节另有 {count} 条引文没有列入，编号见台账：{facts}。",
    words="术语",
    words_head="| 中文 | 英文 | 缩写 | 次数 |",
    warnings="提醒",
    misheard="识别出的“{heard}”已改为“{meant}”（{where}）；请核对。",
    heard="已更正；识别为“{text}”",
    aligned="口述与幻灯片的对应关系由程序按用词、语义与画面推算，平均把握为 {share}；请核对。",
    page="第 {page} 页",
    lines="第 {start}–{end} 行",
    open="打开",
    low_confidence="识别置信度低",
    none="没有需要提醒的内容。",
    transcript="每段开头的时间链接到录像的那一秒。文字由程序听写或取自字幕；听错的术语已更正，其余未改写。",
)
_EN = Wording(
    kicker="Evidence draft",
    abstract="Evidence draft of “{title}”: verbatim quotes from {kinds}, for a writer to work from.",
    notice_title="This is an evidence draft, not an article yet",
    notice="The quotes below were taken word for word from the talk's material by a program; nothing was rewritten, "
    "and nothing was judged. Check them, choose, write, fill what is marked as a gap, and then set `curated` to `true` "
    "at the top of this file.",
    question="What does the material say about “{title}”?",
    opening="Opening",
    stretch="From {start}: {words}",
    notes="Notes: {title}",
    from_slide="Slide {page}",
    said="Said at {start}",
    from_notes="Speaker notes, slide {page}",
    figure="Figure {n}: {title} (page {page})",
    gaps="To be filled in",
    gap_unread="Page {page} has a picture or text that could not be read: describe it from the figure.",
    gap_silent="No speech was found that belongs to this section.",
    gap_thin="There is little evidence for this section: add a source, or merge it into another.",
    gap_doubtful="Some of the speech was recognised with low confidence: check it against the recording.",
    left_out="{count} more quotes of this section are left out; in the ledger they are {facts}.",
    words="Terms",
    words_head="| Chinese | English | Abbreviation | Uses |",
    warnings="Warnings",
    misheard="“{heard}” was heard and corrected to “{meant}” ({where}): please check.",
    heard="corrected; heard: “{text}”",
    aligned="A program laid the speech to the slides by words, meaning and the picture; it is {share} sure on average: "
    "please check.",
    page="page {page}",
    lines="lines {start}–{end}",
    open="open",
    low_confidence="low confidence",
    none="Nothing to warn of.",
    transcript="The time before each paragraph leads to that second of the recording. The words were "
    "recognised by a program or are those of the captions; misheard terms are corrected, nothing else is rewritten.",
)


def wording(lang: Lang) -> Wording:
    return _ZH if lang == "zh" else _EN
