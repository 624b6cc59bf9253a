"""Talks made by code whose truth is known: which slide was on the screen while each sentence was spoken."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kb.text import HAN, detect_lang, stable_id
from kb.types import Document, Kind, Lang, Page, Role, Segment, Source, Time
from tests.ingest.lectures import BACK, DEMO, FILLER, GREETING, QUESTIONS, TOPICS, Topic


@dataclass(frozen=True)
class Plan:
    """How a talk differs from one that is read out slide by slide."""

    spoken: Lang
    deck: tuple[Lang, ...] = ()  # languages of the deck; as spoken by default
    greeting: bool = False
    questions: bool = False
    demo: bool = False
    skipped: int = 0  # slides that are never shown
    revisited: int = 0  # slides that are shown again later
    filler: float = 0.15  # share of sentences that say nothing
    misheard: float = 0.0  # share of words or hanzi that recognition gets wrong
    captions: bool = False  # sentences in pieces of a few words, as captions have them
    halting: float = 0.0  # share of sentences after which the speaker pauses as long as at a turn of the page


@dataclass(frozen=True)
class MadeTalk:
    transcript: Document
    deck: Document
    truth: tuple[int | None, ...]  # a page for each segment
    shown: tuple[tuple[int, int], ...]  # (start in ms, page) of each showing; page 0 for none


PLANS = {
    "read out": Plan("zh"),
    "english, read out": Plan("en"),
    "greeting and questions": Plan("zh", greeting=True, questions=True),
    "english with a demonstration": Plan("en", greeting=True, demo=True, questions=True),
    "skipped and revisited": Plan("zh", skipped=2, revisited=2),
    "english, skipped and revisited": Plan("en", skipped=2, revisited=2),
    "badly heard": Plan("zh", misheard=0.12, filler=0.25),
    "english, badly heard": Plan("en", misheard=0.12, filler=0.25),
    "halting": Plan("zh", halting=0.2, filler=0.25),
    "english, halting": Plan("en", halting=0.2, filler=0.25, revisited=1),
    "captions in pieces": Plan("en", captions=True, questions=True),
    "chinese speech, english deck": Plan("zh", deck=("en",)),
    "english speech, chinese deck": Plan("en", deck=("zh",)),
    "bilingual deck": Plan("zh", deck=("zh", "en"), skipped=1, misheard=0.06),
}


def make(plan: Plan, seed: int) -> MadeTalk:
    chance = random.Random(seed)
    topics = [*TOPICS]
    chance.shuffle(topics)
    topics = topics[: chance.randint(8, len(topics))]
    spoken = [*_spoken(plan, topics, chance)]
    segments: list[Segment] = []
    truth: list[int | None] = []
    shown: list[tuple[int, int]] = []
    at = 0
    source = _source("speech.srt", Kind.CAPTIONS, plan.spoken)
    for text, page in spoken:
        if not shown or shown[-1][1] != (page or 0):
            at += chance.randint(0, 1500)  # a speaker who turns the page
            shown.append((at, page or 0))
        for piece in _pieces(_heard(text, plan, chance), plan):
            length = 400 + 60 * (len(piece) + 3 * len(HAN.findall(piece)))
            locator = Time(start_ms=at, end_ms=at + length)
            segments.append(_segment(source, len(segments), piece, locator, Role.SPEECH))
            truth.append(page)
            at += length + chance.randint(50, 700)
        if plan.halting and chance.random() < plan.halting:
            at += chance.randint(0, 1500)
    deck = _deck(topics, plan)
    return MadeTalk(Document(source=source, segments=tuple(segments)), deck, tuple(truth), tuple(shown))


def _spoken(plan: Plan, topics: Sequence[Topic], chance: random.Random) -> Iterator[tuple[str, int | None]]:
    """Sentences with their pages: page 1 is the cover, topic `n` stands on page `n + 2`."""
    order = _order(plan, len(topics), chance)
    demo_after = chance.randrange(2, len(order) - 1) if plan.demo else None
    seen: set[int] = set()
    yield from ((text, None) for text in GREETING[plan.spoken] if plan.greeting)
    for place, number in enumerate(order):
        for text in _about(topics[number], plan, chance, again=number in seen):
            if chance.random() < plan.filler:
                yield chance.choice(FILLER[plan.spoken]), number + 2
            yield text, number + 2
        seen.add(number)
        yield from ((text, None) for text in DEMO[plan.spoken] if place == demo_after)
    yield from ((text, None) for text in QUESTIONS[plan.spoken] if plan.questions)


def _order(plan: Plan, slides: int, chance: random.Random) -> list[int]:
    """Slides in the order in which they are shown, some left out, some shown again."""
    order = list(range(slides))
    for number in chance.sample(order[1:-1], plan.skipped):
        order.remove(number)
    for _ in range(plan.revisited):
        at = chance.randrange(3, len(order))
        order.insert(at, chance.choice(order[max(0, at - 4) : at - 1]))
    return order


def _about(topic: Topic, plan: Plan, chance: random.Random, *, again: bool) -> list[str]:
    """What is said while a slide is shown; the second time a few sentences, now and then announced."""
    own = list(topic.zh_speech if plan.spoken == "zh" else topic.en_speech)
    if not again:
        return own[: chance.randint(5, len(own))]
    said = [own[at] for at in sorted(chance.sample(range(1, len(own)), 4))]
    return [BACK[plan.spoken], *said] if chance.random() < 0.6 else said


def _heard(text: str, plan: Plan, chance: random.Random) -> str:
    """What recognition makes of it: other hanzi, damaged words."""
    if plan.spoken == "zh":
        return "".join(
            chance.choice("的是式事市世实时十石") if HAN.match(c) and chance.random() < plan.misheard else c
            for c in text
        )
    words = text.split()
    return " ".join(w[: len(w) // 2] + "er" if chance.random() < plan.misheard else w for w in words)


def _pieces(text: str, plan: Plan) -> list[str]:
    if not plan.captions:
        return [text]
    words = text.split()
    return [" ".join(words[at : at + 4]) for at in range(0, len(words), 4)]


def _deck(topics: Sequence[Topic], plan: Plan) -> Document:
    source = _source("deck.pptx", Kind.DECK, plan.spoken)
    langs = plan.deck or (plan.spoken,)
    texts: list[tuple[int, Role, str]] = [(1, Role.TITLE, "vLLM"), (1, Role.BODY, "2026")]
    for number, topic in enumerate(topics, 2):
        titles = {"zh": topic.zh_title, "en": topic.en_title}
        lines = {"zh": topic.zh_lines, "en": topic.en_lines}
        texts.append((number, Role.TITLE, " ".join(titles[lang] for lang in langs)))
        texts += [(number, Role.BODY, "\n".join(lines[lang])) for lang in langs]
    segments = [
        _segment(source, order, text, Page(number=page), role) for order, (page, role, text) in enumerate(texts)
    ]
    return Document(source=source, segments=tuple(segments), pages=len(topics) + 1)


def _source(name: str, kind: Kind, lang: Lang) -> Source:
    return Source(
        id=stable_id(name), kind=kind, uri=f"file:///talk/{name}", sha256="0", title=name, talk="made", lang=lang
    )


def _segment(source: Source, order: int, text: str, locator: Time | Page, role: Role) -> Segment:
    return Segment(source_id=source.id, order=order, text=text, locator=locator, role=role, lang=detect_lang(text))
