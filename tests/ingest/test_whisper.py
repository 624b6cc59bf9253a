"""Whisper: windows and clocks by the real voice detector, gates by a model that invents, words by the real weights."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import faster_whisper
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ingest.load import load
from ingest.parsed import Block, Reading, Recording, no_progress
from ingest.recordings.media import RATE, samples
from ingest.recordings.whisper import WhisperTranscriber
from ingest.recordings.windows import Region, Window, speech_in
from kb.errors import MissingDependency, UnreadableSource
from kb.settings import Settings, SpeechSettings
from kb.types import Dropped, Flag, Lang, Time
from tests.ingest.recordings import write_recording

Sound = NDArray[np.float32]


def noise(seconds: int, *, pink: bool) -> Sound:
    spectrum = np.fft.rfft(np.random.default_rng(7).standard_normal(seconds * RATE))
    shaped = spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1)) if pink else spectrum
    sound = np.fft.irfft(shaped)
    result: Sound = (sound / np.abs(sound).max() / 2).astype(np.float32)
    return result


def write_sound(path: Path, sound: Sound) -> Path:
    return write_recording(path, sound=(np.clip(sound, -1, 1) * 32767).astype(np.int16))


# --- a model that says what it is told ----------------------------------------------------------------------------


class ScriptedModel:
    """In the place of `faster_whisper.WhisperModel`; `say` makes the segments of a window from its length, `insist`
    those of a window that is heard once more."""

    built = 0
    heard: list[float]  # seconds of each window, of all models
    supported_languages = ("en", "zh")

    def __init__(self, *_args: object, **_options: object) -> None:
        type(self).built += 1
        self.calls: list[dict[str, Any]] = []
        self.languages = iter([("zh", 0.99), ("ja", 0.3)])

    def transcribe(self, sound: Sound, **options: Any) -> tuple[Iterator[SimpleNamespace], None]:
        self.calls.append(options)
        return iter(self.insist(len(sound) / RATE)), None

    def say(self, seconds: float) -> list[SimpleNamespace]:
        return [segment(" One two three.", 0.5, seconds - 0.5)]

    def insist(self, seconds: float) -> list[SimpleNamespace]:
        return self.say(seconds)

    @property
    def model(self) -> ScriptedModel:
        return self

    def feature_extractor(self, sound: Sound) -> Sound:
        return sound

    def encode(self, features: Sound) -> Sound:
        return features

    def detect_language(self, _encoded: Sound) -> list[list[tuple[str, float]]]:
        language, share = next(self.languages)
        return [[(f"<|{language}|>", share), ("<|zh|>", 0.2), ("<|en|>", 0.1)]]


class ScriptedPipeline:
    """In the place of `TrimmedPipeline`: times count from the start of the first window."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model

    def hear(self, sounds: Sequence[Sound], **options: Any) -> list[tuple[float, list[SimpleNamespace]]]:
        self.model.calls.append(options)
        lengths = [len(sound) / RATE for sound in sounds]
        self.model.heard += lengths
        starts = [sum(lengths[:number]) for number in range(len(lengths))]
        return [
            (start, [moved(each, start) for each in self.model.say(length)])
            for start, length in zip(starts, lengths, strict=True)
        ]


def segment(text: str, start: float, end: float, *, silent: float = 0.0, confidence: float = -0.2) -> SimpleNamespace:
    parts = [f" {word}" for word in text.split()] if " " in text else list(text)
    step = (end - start) / max(1, len(parts))
    words = [
        SimpleNamespace(word=part, start=start + n * step, end=start + (n + 1) * step) for n, part in enumerate(parts)
    ]
    return SimpleNamespace(
        text=text, start=start, end=end, words=words, no_speech_prob=silent, avg_logprob=confidence,
        compression_ratio=len(text) / max(1, len(set(text))), seek=0,
    )  # fmt: skip


def moved(said: SimpleNamespace, by: float) -> SimpleNamespace:
    words = [SimpleNamespace(word=each.word, start=each.start + by, end=each.end + by) for each in said.words]
    return SimpleNamespace(**{**vars(said), "start": said.start + by, "end": said.end + by, "words": words})


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> type[ScriptedModel]:
    class Model(ScriptedModel):
        built = 0
        heard: list[float] = []  # noqa: RUF012 - one list per test

    monkeypatch.setattr(faster_whisper, "WhisperModel", Model)
    monkeypatch.setattr("ingest.recordings.trimmed.TrimmedPipeline", ScriptedPipeline)
    return Model


@pytest.fixture
def transcriber(tmp_path: Path) -> WhisperTranscriber:
    return WhisperTranscriber(Settings(speech=SpeechSettings(model=str(tmp_path))))


@pytest.fixture
def regions(monkeypatch: pytest.MonkeyPatch) -> list[Region]:
    """Where someone speaks, whatever the sound: a tone is no speech."""
    found = [Region(1 * RATE, 5 * RATE)]
    monkeypatch.setattr("ingest.recordings.stretches.speech_in", lambda sound: list(found) if len(sound) else [])
    return found


def hear(
    transcriber: WhisperTranscriber, path: Path, lang: Lang | None = "en", hotwords: tuple[str, ...] = ()
) -> tuple[list[Block], list[Dropped]]:
    pieces = transcriber.transcribe(Recording(path, lang, hotwords), no_progress)
    items = [item for piece in pieces for item in piece.items]
    return [i for i in items if isinstance(i, Block)], [i for i in items if isinstance(i, Dropped)]


@pytest.mark.parametrize(
    "sound",
    [np.zeros(30 * RATE, np.float32), noise(30, pink=True), noise(30, pink=False)],
    ids=["silence", "pink noise", "white noise"],
)
def test_p01_sound_without_speech_costs_no_call_and_gives_no_word(
    tmp_path: Path, sound: Sound, transcriber: WhisperTranscriber, scripted: type[ScriptedModel]
) -> None:
    path = write_sound(tmp_path / "quiet.wav", sound)
    assert hear(transcriber, path) == ([], [])
    assert scripted.built == 0
    with pytest.raises(UnreadableSource, match="no speech"):
        load(path, Reading(Settings(), transcriber=transcriber))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (segment("thanks so much", 0.5, 2, silent=0.9, confidence=-0.8), "invented over silence"),
        (segment("one two three four five six", 0.5, 0.6), "nobody speaks so fast"),
        (segment("以下是普通话的句子。", 0.5, 2), "echo"),
        (segment("", 0.5, 2), "without a time"),
    ],
)
def test_p01_what_the_model_invents_is_dropped(
    tmp_path: Path,
    said: SimpleNamespace,
    reason: str,
    transcriber: WhisperTranscriber,
    scripted: type[ScriptedModel],
    regions: list[Region],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scripted, "say", lambda *_: [said, segment(" It was said.", 2, 3)])
    blocks, dropped = hear(transcriber, write_recording(tmp_path / "a.wav", seconds=6))
    assert [block.text for block in blocks] == ["It was said."]
    assert reason in dropped[0].reason
    assert dropped[0].where.startswith("T:00:00:01.500-00:00:0")


def test_p01_a_doubtful_window_is_heard_once_more_but_not_its_end(
    tmp_path: Path,
    transcriber: WhisperTranscriber,
    scripted: type[ScriptedModel],
    regions: list[Region],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scripted, "say", lambda *_: [segment(" So so so.", 0, 3.6, confidence=-1.5)])
    monkeypatch.setattr(scripted, "insist", lambda *_: [segment(" All of it.", 0, 3.6), segment(" Bye.", 3.6, 3.9)])
    blocks, _ = hear(transcriber, write_recording(tmp_path / "a.wav", seconds=6))
    assert [block.text for block in blocks] == ["All of it."]


def test_p06_chinese_without_punctuation_is_heard_once_more_without_the_names(
    tmp_path: Path,
    transcriber: WhisperTranscriber,
    scripted: type[ScriptedModel],
    regions: list[Region],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    regions[:] = [Region(RATE, 12 * RATE)]
    run_on = "我们先看一个词元这个模型一共有三十二层每层八个头每个头的维度是一百二十八每个数用两个字节" * 2
    monkeypatch.setattr(scripted, "say", lambda *_: [segment(run_on, 0, 10.5)])
    monkeypatch.setattr(scripted, "insist", lambda *_: [segment("先看一个词元，再看显存。", 0, 10.5)])
    blocks, _ = hear(transcriber, write_recording(tmp_path / "a.wav", seconds=13), lang="zh", hotwords=("vLLM",))
    assert [block.text for block in blocks] == ["先看一个词元，再看显存。"]
    assert [call["hotwords"] for call in transcriber._model().calls] == ["vLLM", None]


def test_speech_that_a_window_left_out_is_heard_once_more_at_its_place(
    tmp_path: Path,
    transcriber: WhisperTranscriber,
    scripted: type[ScriptedModel],
    regions: list[Region],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whisper leaps over a sentence in the middle, and stops before the last one."""
    regions[:] = [Region(RATE, 21 * RATE)]

    def say(_: ScriptedModel, seconds: float) -> list[SimpleNamespace]:
        if seconds > 15:
            return [segment(" The first one.", 0, 4), segment(" The third one.", 9, 13)]
        return [segment(" It was left out.", 0.3, seconds - 0.4)]

    monkeypatch.setattr(scripted, "say", say)
    blocks, _ = hear(transcriber, write_recording(tmp_path / "a.wav", seconds=22))
    assert [(block.text, block.locator.start_ms) for block in blocks if isinstance(block.locator, Time)] == [
        ("The first one.", 1000),
        ("It was left out.", 5000),
        ("The third one.", 10_000),
        ("It was left out.", 14_000),
    ]


def test_p02_a_first_word_adrift_in_the_silence_is_brought_to_its_sentence(
    tmp_path: Path,
    transcriber: WhisperTranscriber,
    scripted: type[ScriptedModel],
    regions: list[Region],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = segment(" It was late.", 3.0, 3.9)
    said.words[0].start, said.words[0].end = 0.4, 0.8
    monkeypatch.setattr(scripted, "say", lambda *_: [said])
    (block,), _ = hear(transcriber, write_recording(tmp_path / "a.wav", seconds=6))
    assert block.locator == Time(start_ms=4000, end_ms=4900)


@given(
    st.lists(st.tuples(st.integers(1, 20_000), st.integers(1, 90_000)), min_size=1, max_size=6),
    st.floats(0, 30),
    st.floats(0, 3),
)
def test_p02_no_word_reaches_into_the_silence(gaps: list[tuple[int, int]], start: float, length: float) -> None:
    at, spoken = 0, []
    for silence, speech in gaps:
        spoken.append(Region(at + silence, at + silence + speech))
        at = spoken[-1].end
    first, last = Window(tuple(spoken), np.zeros(0, np.float32)).place(start, start + length)
    assert first <= last
    assert any(each.start * 1000 // RATE <= first and last <= each.end * 1000 // RATE for each in spoken)


def test_p05_each_stretch_of_speech_has_its_language_and_an_unclear_one_is_marked(
    tmp_path: Path, transcriber: WhisperTranscriber, scripted: type[ScriptedModel], regions: list[Region]
) -> None:
    regions.append(Region(8 * RATE, 13 * RATE))
    path = write_recording(tmp_path / "a.wav", seconds=14)
    (first, second), _ = hear(transcriber, path, lang=None, hotwords=("vLLM", "分页注意力"))
    assert not first.flags
    assert second.flags == {Flag.LOW_CONFIDENCE}
    calls = transcriber._model().calls
    assert {call["language"] for call in calls} == {"zh"}
    assert first.locator == Time(start_ms=1500, end_ms=4500)
    assert second.locator == Time(start_ms=8500, end_ms=12_500)


def test_p05_a_language_that_was_given_is_not_guessed(
    tmp_path: Path, transcriber: WhisperTranscriber, scripted: type[ScriptedModel], regions: list[Region]
) -> None:
    hear(transcriber, write_recording(tmp_path / "a.wav", seconds=6), lang="en", hotwords=("vLLM", "分页注意力"))
    (call,) = transcriber._model().calls
    assert call["language"] == "en"
    assert call["hotwords"] == "vLLM"
    assert call["word_timestamps"] is True


def test_p07_the_model_is_built_once_for_many_recordings(
    tmp_path: Path, transcriber: WhisperTranscriber, scripted: type[ScriptedModel], regions: list[Region]
) -> None:
    for name in ("a.wav", "b.mp3", "c.mkv"):
        assert hear(transcriber, write_recording(tmp_path / name, seconds=6))[0]
    assert scripted.built == 1


@pytest.fixture
def long_talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Speech at 3 to 8, 18 to 23 and 41 to 46 s of 50 s, in stretches of 20 s: some lies across a border."""
    sound = np.zeros(50 * RATE, np.float32)
    for begin in (3, 18, 41):
        sound[begin * RATE : (begin + 5) * RATE] = 0.5

    def loud(sound: Sound) -> list[Region]:
        edges = np.flatnonzero(np.diff(np.abs(sound) > 0.25, prepend=False, append=False))
        return [Region(int(a), int(b)) for a, b in edges.reshape(-1, 2)]

    monkeypatch.setattr("ingest.recordings.stretches.speech_in", loud)
    monkeypatch.setattr("ingest.recordings.stretches._STRETCH", 20 * RATE)
    monkeypatch.setattr("ingest.recordings.media._PIECE", 1)
    return write_sound(tmp_path / "long.wav", sound)


def starts(items: Iterable[Block | Dropped]) -> list[int]:
    return [item.locator.start_ms for item in items if isinstance(item, Block) and isinstance(item.locator, Time)]


def test_p02_long_recordings_are_heard_in_pieces_on_one_clock(
    long_talk: Path, transcriber: WhisperTranscriber, scripted: type[ScriptedModel]
) -> None:
    shares: list[float] = []
    pieces = list(transcriber.transcribe(Recording(long_talk, "en"), shares.append))
    assert starts(item for piece in pieces for item in piece.items) == [3500, 18_500, 41_500]
    assert sum(scripted.heard) == 15  # each second once
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    for number, piece in enumerate(pieces[:-1]):
        rest = list(transcriber.transcribe(Recording(long_talk, "en", start_ms=piece.end_ms), no_progress))
        assert rest == pieces[number + 1 :]


def test_what_captions_say_is_not_heard(
    long_talk: Path, transcriber: WhisperTranscriber, scripted: type[ScriptedModel]
) -> None:
    known = (Time(start_ms=0, end_ms=9000), Time(start_ms=20_000, end_ms=47_000))
    pieces = transcriber.transcribe(Recording(long_talk, "en", known=known), no_progress)
    assert starts(item for piece in pieces for item in piece.items) == [18_500]
    assert scripted.heard == [2]


@pytest.mark.model
def test_p53_hotwords_reach_every_window(long_talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through faster-whisper itself, down to the prompts of the decoder: its release 1.0.3 lost them behind the first
    window (its issue 1076)."""
    heard = WhisperTranscriber(Settings())
    model = heard._model()
    prompts: list[list[int]] = []
    frames: list[int] = []
    generate = type(model.model).generate

    def spy(self: Any, features: Any, given: list[list[int]], **options: Any) -> Any:
        prompts.extend(given)
        frames.append(features.shape[1])
        return generate(self, features, given, **{**options, "beam_size": 1, "max_length": len(given[0]) + 2})

    monkeypatch.setattr(type(model.model), "generate", spy)
    list(heard.transcribe(Recording(long_talk, "en", ("PagedAttention",)), no_progress))
    expected = model.hf_tokenizer.encode(" PagedAttention", add_special_tokens=False).ids
    assert len(prompts) >= 3
    assert min(frames) == (5 + 4) * 50  # five seconds of speech and the silence behind them, not thirty
    assert all(str(expected)[1:-1] in str(prompt) for prompt in prompts)


def test_windows_are_filled_evenly_and_never_beyond_what_whisper_hears(
    tmp_path: Path,
    transcriber: WhisperTranscriber,
    scripted: type[ScriptedModel],
    regions: list[Region],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    regions[:] = [Region(n * 10 * RATE, (n * 10 + 8) * RATE) for n in range(4)]
    hear(transcriber, write_recording(tmp_path / "a.wav", seconds=40))
    assert scripted.heard == [16, 16]


def test_a_model_that_is_not_there_names_the_setting(tmp_path: Path, regions: list[Region]) -> None:
    missing = WhisperTranscriber(Settings(speech=SpeechSettings(model=str(tmp_path))))
    with pytest.raises(MissingDependency, match="KB_SPEECH_MODEL"):
        hear(missing, write_recording(tmp_path / "a.wav", seconds=6))


# --- the real weights ---------------------------------------------------------------------------------------------


@pytest.mark.model
@pytest.mark.corpus
def test_p05_speech_in_two_languages_with_silence_between(corpus: Path, tmp_path: Path) -> None:
    clips = [
        np.concatenate([piece for piece in samples(path) if not isinstance(piece, Dropped)])
        for path in sorted((corpus / "media/speech").glob("*.wav"))
    ]
    lengths = [len(clip) / RATE for clip in clips]  # English, then Mandarin
    quiet = np.zeros(2 * RATE, np.float32)
    path = write_sound(tmp_path / "talk.wav", np.concatenate([quiet, clips[0], *[quiet] * 5, clips[1], quiet]))
    document = load(path, Reading(Settings(), transcriber=WhisperTranscriber(Settings())))
    english = [segment for segment in document.segments if segment.lang == "en"]
    (mandarin,) = [segment for segment in document.segments if segment.lang == "zh"]
    assert english[0].text == "It was the first great sorrow of his life."
    assert mandarin.text == "广州市佛地产中间协会分析。"  # Simplified
    begins = [(english[0], 2.0), (mandarin, 12 + lengths[0])]
    ends = [(english[-1], 2 + lengths[0]), (mandarin, 12 + sum(lengths))]
    for segment, second in begins:
        assert isinstance(segment.locator, Time)
        assert segment.locator.start_ms / 1000 == pytest.approx(second, abs=1)
    for segment, second in ends:
        assert isinstance(segment.locator, Time)
        assert segment.locator.end_ms / 1000 == pytest.approx(second, abs=1)


@pytest.mark.parametrize("seconds", [0, 1])
def test_the_voice_detector_takes_short_and_empty_sound(seconds: int) -> None:
    assert speech_in(np.zeros(seconds * RATE, np.float32)) == []


def test_who_stops_does_not_wait_for_the_batches_that_have_not_begun(
    tmp_path: Path,
    transcriber: WhisperTranscriber,
    scripted: type[ScriptedModel],
    regions: list[Region],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    regions[:] = [Region(start * RATE, (start + 20) * RATE) for start in range(1, 150, 25)]  # a window each
    stopped = threading.Event()

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            stopped.set()
            super().shutdown(wait=wait)

    def say(model: ScriptedModel, seconds: float) -> list[SimpleNamespace]:
        assert len(model.heard) < 2 or stopped.wait(60)  # the first batch ends, the next one when it is all over
        return [segment(" One two three.", 0.5, seconds - 0.5)]

    def interrupt(_share: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ingest.recordings.whisper.ThreadPoolExecutor", Pool)
    monkeypatch.setattr(scripted, "say", say)
    with pytest.raises(KeyboardInterrupt):
        list(transcriber.transcribe(Recording(write_recording(tmp_path / "a.wav", seconds=152), "en"), interrupt))
    assert len(scripted.heard) <= 2  # of six
