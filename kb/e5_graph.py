"""The packaged multilingual-e5-small as an ONNX graph that embeds one text: for questions.

Matrices are in 8 bits and are multiplied in integers, each activation as it comes (`DynamicQuantizeMatMul` of ONNX
Runtime), four times as fast as in float32; the word embeddings are looked up in the safetensors file beside the graph.
Source of the layout: Devlin et al., "BERT", 2019; operators: https://onnx.ai/onnx/operators/ (opset 23) and
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb.e5_file import E5File

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto, TensorProto

INPUT, OUTPUT = "input_ids", "embedding"
_OPSET = 23  # the first with Attention
_IR_VERSION = 11  # of that opset
_LARGEST = 63  # of 127: processors without VNNI add two products in 16 bits, which must not overflow


def build(file: E5File, word_embeddings: TensorProto) -> ModelProto:
    """`INPUT`, int64 token ids of shape `(1, tokens)`, to `OUTPUT`, float32 of shape `(1, hidden)`, not normalised."""
    from onnx import TensorProto, helper

    graph = _Graph(file)
    hidden = graph.embedded(word_embeddings)
    for layer in range(file.header.layers):
        hidden = graph.layer(hidden, f"l{layer}")
    graph.add("ReduceMean", hidden, graph.integers("tokens.axis", [1]), out=OUTPUT, keepdims=0)
    return helper.make_model(
        helper.make_graph(
            graph.nodes,
            "multilingual-e5-small",
            [helper.make_tensor_value_info(INPUT, TensorProto.INT64, [1, "tokens"])],
            [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [1, file.header.hidden])],
            [word_embeddings, *graph.weights],
        ),
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)],
        ir_version=_IR_VERSION,
    )


def stored_tensor(path: Path, name: str) -> TensorProto:
    """A float16 tensor of a safetensors file, named there and not copied; the graph must lie in the same folder."""
    from onnx import StringStringEntryProto, TensorProto

    with path.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        entry = json.loads(stream.read(length))[name]
    start, end = entry["data_offsets"]
    where = {"location": path.name, "offset": str(8 + length + start), "length": str(end - start)}
    return TensorProto(
        name=name,
        data_type=TensorProto.FLOAT16,
        dims=entry["shape"],
        data_location=TensorProto.EXTERNAL,
        external_data=[StringStringEntryProto(key=key, value=value) for key, value in where.items()],
    )


class _Graph:
    """Nodes and weights as they are added; every method returns the name of its output."""

    def __init__(self, file: E5File) -> None:
        self._file = file
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []

    def add(self, operator: str, *inputs: str, out: str, **attributes: Any) -> str:  # noqa: ANN401 - what an operator takes
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, [out], **attributes))
        return out

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def integers(self, name: str, values: list[int]) -> str:
        import numpy as np

        return self.constant(name, np.array(values, np.int64))

    def embedded(self, word_embeddings: TensorProto) -> str:
        from onnx import TensorProto

        words = self.add("Gather", word_embeddings.name, INPUT, out="words.half")
        words = self.add("Cast", words, out="words", to=TensorProto.FLOAT)
        length = self.add("Shape", INPUT, out="length", start=1, end=2)
        start = self.integers("positions.start", [0])
        table = self.constant("emb.pos", self._rows("emb.pos") + self._rows("emb.type")[0])
        positions = self.add("Slice", table, start, length, self.integers("positions.axis", [0]), out="positions")
        return self._normalised(self.add("Add", words, positions, out="emb.sum"), "emb.ln")

    def layer(self, hidden: str, name: str) -> str:
        header = self._file.header
        joint = self._linear(hidden, name, ("q", "k", "v"))
        parts = [f"{name}.{part}" for part in "qkv"]
        self._split(joint, parts)
        heads = {"q_num_heads": header.heads, "kv_num_heads": header.heads}
        attended = self._linear(self.add("Attention", *parts, out=f"{name}.attended", **heads), name, ("ao",))
        hidden = self._normalised(self.add("Add", attended, hidden, out=f"{name}.aln.in"), f"{name}.aln")
        inner = self.add("Gelu", self._linear(hidden, name, ("fi",)), out=f"{name}.gelu")
        outer = self._linear(inner, name, ("fo",))
        return self._normalised(self.add("Add", outer, hidden, out=f"{name}.oln.in"), f"{name}.oln")

    def _split(self, joint: str, parts: list[str]) -> None:
        from onnx import helper

        self.nodes.append(helper.make_node("Split", [joint], parts, axis=-1, num_outputs=len(parts)))

    def _linear(self, x: str, layer: str, parts: tuple[str, ...]) -> str:
        """`x` times the transposed matrices of `parts`, side by side, plus their biases."""
        import numpy as np

        name = f"{layer}.{'-'.join(parts)}"
        columns = self._file.header.feed_forward if parts == ("fo",) else self._file.header.hidden
        matrix = np.concatenate([self._file.values(f"{layer}.{part}.w").reshape(-1, columns) for part in parts]).T
        scales = np.abs(matrix).max(axis=0) / _LARGEST
        weights = (
            self.constant(f"{name}.w", np.rint(matrix / scales).astype(np.int8)),
            self.constant(f"{name}.scales", scales.astype(np.float32)),
        )
        bias = np.concatenate([self._file.values(f"{layer}.{part}.b") for part in parts])
        product = self._product(x, *weights, "", self.constant(f"{name}.b", bias), out=name)
        return self._refined(product, x, weights) if parts == ("fo",) else product

    def _product(self, *inputs: str, out: str) -> str:
        return self.add("DynamicQuantizeMatMul", *inputs, out=out, domain="com.microsoft")

    def _refined(self, product: str, x: str, weights: tuple[str, str]) -> str:
        """`product` with what rounding `x` to 8 bits took away: a Gelu gives few large values and many small ones."""
        from onnx import helper

        rounded = [f"{product}.{part}" for part in ("rounded", "step", "zero")]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], rounded))
        kept = self.add("DequantizeLinear", *rounded, out=f"{product}.kept")
        rest = self._product(self.add("Sub", x, kept, out=f"{product}.lost"), *weights, out=f"{product}.rest")
        return self.add("Add", product, rest, out=f"{product}.refined")

    def _normalised(self, x: str, name: str) -> str:
        weight, bias = (self.constant(f"{name}.{part}", self._file.values(f"{name}.{part}")) for part in "wb")
        return self.add(
            "LayerNormalization", x, weight, bias, out=f"{name}.out", axis=-1, epsilon=self._file.header.epsilon
        )

    def _rows(self, name: str) -> NDArray[np.float32]:
        return self._file.values(name).reshape(-1, self._file.header.hidden)
