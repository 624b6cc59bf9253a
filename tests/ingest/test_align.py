"""Speech laid to slides, on talks whose truth is known."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.embedders import open_cross_embedder
from index.sparse import terms
from ingest.alignment.align import align
from ingest.alignment.decks import SlideText
from ingest.alignment.path import Signs, decode
from ingest.alignment.scenes import Scenes, capture
from ingest.alignment.similarity import by_words
from ingest.load import load
from ingest.parsed import Reading
from kb.settings import IngestSettings, Settings
from kb.types import Document, Kind, Page, Role, Shown, Time
from tests.bench.alignment import Remembered
from tests.generate.talks import document
from tests.ingest.made_talks import PLANS, MadeTalk, make
from tests.ingest.made_videos import draw, write_video
from tests.ingest.recordings import write_recording

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def laid(talk: MadeTalk, **more: object) -> list[int | None]:
    shown = align(talk.transcript, [talk.deck], terms=terms, **more)  # type: ignore[arg-type]
    pages = {one.order: one.page for one in shown}
    return [pages.get(order) for order in range(len(talk.truth))]


def right(talks: Sequence[MadeTalk], found: Sequence[Sequence[int | None]]) -> float:
    pairs = [pair for talk, pages in zip(talks, found, strict=True) for pair in zip(talk.truth, pages, strict=True)]
    return sum(want == got for want, got in pairs) / len(pairs)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("read out", 0.95),
        ("english, read out", 0.95),
        ("greeting and questions", 0.95),
        ("english with a demonstration", 0.95),
        ("bilingual deck", 0.95),
        ("badly heard", 0.95),
        ("english, badly heard", 0.95),
        ("skipped and revisited", 0.94),  # who goes back without a word is found by pictures alone
        ("english, skipped and revisited", 0.94),
        ("halting", 0.95),
        ("chinese speech, english deck", 0.94),
    ],
)
def test_words_alone_lay_speech_to_slides(name: str, least: float) -> None:
    talks = [make(PLANS[name], seed) for seed in range(100, 104)]
    assert right(talks, [laid(talk) for talk in talks]) >= least


@pytest.mark.model
def test_with_meanings_every_kind_of_talk_is_laid_right(tmp_path: Path) -> None:
    embedder = open_cross_embedder(Settings(cache=tmp_path), None)
    assert embedder is not None
    embed = Remembered(embedder.embed_passages)
    for name, plan in PLANS.items():
        talks = [make(plan, seed) for seed in range(1000, 1008)]
        assert right(talks, [laid(talk, embed=embed) for talk in talks]) >= 0.95, name


@pytest.mark.parametrize(
    ("name", "beside"), [("english, skipped and revisited", False), ("english speech, chinese deck", True)]
)
def test_the_video_shows_what_words_do_not(name: str, beside: bool, tmp_path: Path) -> None:
    talk = make(PLANS[name], 101)
    pages = draw(talk.deck, tmp_path)
    scenes = capture(write_video(tmp_path / "talk.mp4", talk, pages, beside=beside))
    found = laid(talk, scenes=scenes, images=lambda deck, page: pages.get(page))
    assert right([talk], [found]) >= 0.95
    neighbours = {frozenset(pair) for pair in pairwise(page or None for _, page in talk.shown)}
    wrong = [frozenset((want, got)) for want, got in zip(talk.truth, found, strict=True) if want != got]
    assert sum(pair not in neighbours for pair in wrong) <= 1, "the slide that was shown just before or after"


def test_a_video_without_slides_says_nothing(tmp_path: Path) -> None:
    talk = make(PLANS["english, read out"], 100)
    noise = np.random.default_rng(1).integers(0, 255, (50, 54, 96)).astype(np.uint8)
    pages = draw(talk.deck, tmp_path)
    scenes = Scenes(np.arange(50, dtype=np.int64) * 5000, noise)
    assert laid(talk, scenes=scenes, images=lambda deck, page: pages.get(page)) == laid(talk)


def test_an_unreadable_page_image_is_no_image(tmp_path: Path) -> None:
    talk = make(PLANS["english, read out"], 102)
    pages = draw(talk.deck, tmp_path)
    scenes = capture(write_video(tmp_path / "talk.mp4", talk, pages))
    pages[3].write_bytes(b"RIFF....WEBP")
    found = laid(talk, scenes=scenes, images=lambda deck, page: pages.get(page))
    assert right([talk], [found]) >= 0.95


def test_recordings_without_a_moving_picture_have_no_scenes(tmp_path: Path) -> None:
    assert capture(write_recording(tmp_path / "sound.mp3")) is None
    still = capture(write_recording(tmp_path / "still.mp4", video=True))
    assert still is not None
    assert still.starts.tolist() == [0]


def test_scenes_are_kept(tmp_path: Path) -> None:
    scenes = Scenes(np.array([0, 4000]), np.zeros((2, 54, 96), np.uint8))
    scenes.save(tmp_path)
    again = Scenes.load(tmp_path / "scenes.npz")
    assert again.starts.tolist() == [0, 4000]
    assert (again.pictures == scenes.pictures).all()


def test_the_sample_talk_is_on_the_right_slides() -> None:
    """As its sentences were written; recognition joins some of them."""
    pages = [1, 3, 3, 3, 4, 4, 5, 6, 6, 7, 11]
    source = (EXAMPLES / "make" / "speech.py").read_text("utf-8")
    call = next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and _is_speech(node))
    sentences = ast.literal_eval(call.args[3])
    speech = [(Role.SPEECH, Time(start_ms=n * 9000, end_ms=n * 9000 + 8500), text) for n, text in enumerate(sentences)]
    folder = EXAMPLES / "talks" / "kv-cache-arithmetic"
    reading = Reading(settings=Settings(ingest=IngestSettings(ocr=False)))
    decks = [load(folder / name, reading) for name in ("deck.pdf", "deck.pptx")]
    shown = align(document(Kind.CAPTIONS, "speech.srt", speech), decks, terms=terms)
    assert [one.page for one in shown] == pages
    assert {one.deck for one in shown} == {decks[1].source.id}, "the PPTX, which has notes, stands for both"


def _is_speech(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "Speech" and "kv-cache" in ast.dump(call.args[0])


def small(*pages: str) -> Document:
    texts = [(Role.TITLE, Page(number=number), text) for number, text in enumerate(pages, 1)]
    return document(Kind.DECK, "deck.pdf", texts, pages=len(pages))


def spoken(*sentences: str) -> Document:
    speech = [(Role.SPEECH, Time(start_ms=n * 4000, end_ms=n * 4000 + 3500), text) for n, text in enumerate(sentences)]
    return document(Kind.CAPTIONS, "talk.srt", speech)


def pages_of(shown: Sequence[Shown]) -> list[int]:
    return [one.page for one in shown]


def test_speech_in_the_other_language_is_laid_by_the_glossary() -> None:
    deck = small("分页注意力", "前缀缓存", "投机解码")
    speech = spoken("We start with paged attention.", "Then prefix caching helps.", "Speculative decoding comes last.")
    assert pages_of(align(speech, [deck], terms=terms)) == [1, 2, 3]


def test_spoken_numbers_meet_written_ones() -> None:
    deck = small("40,960", "2,560", "1,024")
    speech = spoken("能放四万零九百六十个", "一共两千五百六十块", "共用一千零二十四个")
    assert pages_of(align(speech, [deck], terms=terms)) == [1, 2, 3]


def test_a_slide_without_words_may_be_passed_over() -> None:
    deck = small("tensor parallelism splits matrices", "a joke", "pipeline parallelism splits layers")
    speech = spoken(
        "tensor parallelism splits matrices", "matrices, as I said", "now pipeline parallelism", "its layers"
    )
    assert pages_of(align(speech, [deck], terms=terms)) in ([1, 1, 3, 3], [1, 2, 3, 3])


def test_nothing_is_laid_where_there_is_nothing() -> None:
    assert align(spoken("hello"), [], terms=terms) == ()
    assert align(small("a deck"), [small("a deck")], terms=terms) == ()


WORDS = st.text(alphabet="块表缓存哈希量化 abc", max_size=12)


@settings(deadline=None)  # the first example loads the dictionary
@given(st.lists(WORDS.filter(str.strip), max_size=8), st.lists(WORDS, max_size=6))
def test_every_sentence_has_one_slide_at_most_and_a_confidence(speech: list[str], slides: list[str]) -> None:
    transcript, deck = spoken(*speech), small(*slides)
    shown = align(transcript, [deck], terms=terms)
    assert len({one.order for one in shown}) == len(shown) <= len(speech)
    assert all(1 <= one.page <= len(slides) and 0 <= one.confidence <= 1 for one in shown)


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 8), st.integers(0, 99))
def test_a_way_is_never_ruled_out_by_its_numbers(steps: int, slides: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    signs = Signs(chance.normal(0, 40, (steps, slides)), *chance.normal(0, 40, (3, steps)))
    way = decode(signs)
    assert len(way.slides) == steps
    assert all(-1 <= slide < slides for slide in way.slides)
    assert all(0 <= sure <= 1 for sure in way.confidence)


def test_a_passage_that_reads_a_whole_slide_out_is_laid_to_it() -> None:
    script = " ".join(f"word{number}" for number in range(400))
    others = (" ".join(f"other{page}-{number}" for number in range(400)) for page in range(2, 60))
    slides = [SlideText("deck", page, "", (text,)) for page, text in enumerate((script, *others), start=1)]
    odds = by_words([script, "other2-1"], slides, str.split)
    assert np.isfinite(odds).all()
    assert odds.argmax(axis=1).tolist() == [0, 1]
