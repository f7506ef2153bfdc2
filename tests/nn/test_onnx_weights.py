"""Weights that an ONNX model dequantizes, against onnx's reference evaluator: every type, axis and block size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ok

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.model_files import tensors

pytestmark = pytest.mark.extra("onnx")
RNG = np.random.default_rng(5)
SHAPE = (12, 64)


def packed(name: str, kind: int, shape: tuple[int, ...], codes: np.ndarray, width: int) -> Any:
    from onnx import TensorProto

    data = codes.astype(np.uint8).reshape(-1)
    if width == 4:
        data = data[0::2] | data[1::2] << 4
    return TensorProto(name=name, data_type=kind, dims=shape, raw_data=data.tobytes())


def scale(name: str, shape: tuple[int, ...]) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(np.exp(RNG.normal(size=shape)).astype(np.float32).reshape(shape), name)


def model(nodes: list[Any], initializers: list[Any], outputs: list[str], opset: int = 25) -> Any:
    from onnx import TensorProto, helper

    infos = [helper.make_tensor_value_info(x, TensorProto.FLOAT, None) for x in outputs]
    graph = helper.make_graph(nodes, "g", [], infos, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


TYPES = [
    ("INT8", 8), ("UINT8", 8), ("INT4", 4), ("UINT4", 4), ("FLOAT8E4M3FN", 8), ("FLOAT8E5M2", 8), ("FLOAT4E2M1", 4),
    ("FLOAT8E4M3FNUZ", 8),
]  # fmt: skip
# axis and block size of DequantizeLinear, and the shape of its scale
PLACES = [(1, 0, ()), (0, 0, (12,)), (1, 0, (64,)), (1, 16, (12, 4)), (0, 4, (3, 64)), (-1, 64, (12, 1))]


@pytest.mark.parametrize(("kind", "width"), TYPES)
def test_dequantized_initializers(kind: str, width: int, tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    number, nodes, initializers = getattr(TensorProto, kind), [], []
    codes = RNG.integers(0, 1 << width, SHAPE) if not kind.startswith("FLOAT8") else RNG.integers(0, 0x70, SHAPE)
    for i, (axis, size, shape) in enumerate(PLACES):
        initializers += [packed(f"x{i}", number, SHAPE, codes, width), scale(f"s{i}", shape)]
        names = [f"x{i}", f"s{i}"]
        if "INT" in kind:
            initializers.append(
                packed(f"z{i}", number, shape, RNG.integers(0, 1 << width, shape or (1,)), 8)
                if width == 8
                else packed(f"z{i}", number, shape, np.resize([3, 9], shape or (2,)), 4)
            )
            if width == 4 and not shape:
                initializers[-1].raw_data = b"\x07"
            names.append(f"z{i}")
        nodes.append(helper.make_node("DequantizeLinear", names, [f"y{i}"], axis=axis, block_size=size))
    whole = model(nodes, initializers, [f"y{i}" for i in range(len(PLACES))])
    results = ReferenceEvaluator(whole).run(None, {})
    onnx.save(whole, tmp_path / "m.onnx")
    onnx.save(whole, tmp_path / "e.onnx", save_as_external_data=True, location="e.data", size_threshold=0)
    for file in ("m.onnx", "e.onnx"):
        listed = tensors(tmp_path / file)
        assert [t.name for t in listed] == [f"x{i}" for i in range(len(PLACES))]  # scales are no tensors
        for t, expected in zip(listed, results, strict=True):
            assert t.shape == expected.shape
            got = np.concatenate([t.read(0, 100), t.read(100, t.size - 100)]).reshape(t.shape)
            assert np.array_equal(got, expected), t
            assert np.array_equal(t.codes(0, t.size).reshape(SHAPE), codes)


def test_scales_of_two_levels(tmp_path: Path) -> None:
    """NVFP4: FLOAT4E2M1 in blocks of 16, whose E4M3 scales are dequantized too."""
    import onnx
    from onnx import TensorProto, helper

    codes, scales = RNG.integers(0, 16, SHAPE), RNG.integers(1, 0x7F, (12, 4))
    parts = [packed("w", TensorProto.FLOAT4E2M1, SHAPE, codes, 4), scale("second", ())]
    parts.append(packed("first", TensorProto.FLOAT8E4M3FN, (12, 4), scales, 8))
    nodes = [
        helper.make_node("DequantizeLinear", ["first", "second"], ["s"]),
        helper.make_node("DequantizeLinear", ["w", "s"], ["y"], axis=1, block_size=16),
    ]
    onnx.save(model(nodes, parts, ["y"]), tmp_path / "m.onnx")
    (t,) = tensors(tmp_path / "m.onnx")
    assert t.fmt == "nvfp4"
    import ml_dtypes

    elements = codes.astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    own = np.repeat(scales.astype(np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64), 16, axis=1)
    second = float(onnx.numpy_helper.to_array(parts[1]))
    assert np.array_equal(t.read_exactly(0, t.size).reshape(SHAPE), elements * own * second)
    assert np.array_equal(t.read(0, t.size).reshape(SHAPE), (elements * own * second).astype(np.float32))


def test_subgraphs_and_constants(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    w = RNG.normal(size=(3, 4)).astype(np.float32)
    inputs = [packed("q", TensorProto.INT8, (3, 4), np.arange(12), 8)]
    inner = helper.make_graph(
        [helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(w, "")),
         helper.make_node("DequantizeLinear", ["q", "s"], ["d"]), helper.make_node("Add", ["k", "d"], ["sum"])],
        "then", [], [helper.make_tensor_value_info("sum", TensorProto.FLOAT, [3, 4])], inputs,
    )  # fmt: skip
    other = helper.make_graph(
        [helper.make_node("Constant", [], ["e"], value=numpy_helper.from_array(w, ""))],
        "else", [], [helper.make_tensor_value_info("e", TensorProto.FLOAT, [3, 4])],
    )  # fmt: skip
    node = helper.make_node("If", ["c"], ["y"], name="choice", then_branch=inner, else_branch=other)
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4])], [scale("s", ())],
    )  # fmt: skip
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    by_name = {t.name: t for t in tensors(tmp_path / "m.onnx")}
    assert sorted(by_name) == ["choice.else_branch.e", "choice.then_branch.k", "choice.then_branch.q"]
    assert np.array_equal(by_name["choice.else_branch.e"].read(0, 12).reshape(3, 4), w)
    factor = onnx.numpy_helper.to_array(graph.initializer[0])
    assert np.array_equal(by_name["choice.then_branch.q"].read(0, 12), np.arange(12, dtype=np.float32) * factor)


def test_scales_of_activations_are_not_measured(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("QuantizeLinear", ["in", "s"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("in", TensorProto.FLOAT, [4, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 2])], [scale("s", (2,)), scale("w", (4, 2))],
    )  # fmt: skip
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    shown = ok("report", str(tmp_path / "m.onnx"), "--fmt", "fp8_e4m3")
    assert "skipped s: a scale or a zero point of activations" in shown


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_broken_models(cut: int, tmp_path: Path) -> None:
    from onnx import TensorProto

    whole = model(
        [], [packed("x", TensorProto.FLOAT4E2M1, SHAPE, RNG.integers(0, 16, SHAPE), 4)], []
    ).SerializeToString()
    (tmp_path / "m.onnx").write_bytes(whole[: len(whole) - cut])
    with pytest.raises(Error, match=r"not a readable ONNX model|do not fit"):
        tensors(tmp_path / "m.onnx")
    short = packed("x", TensorProto.FLOAT4E2M1, (12, 66), RNG.integers(0, 16, SHAPE), 4)
    (tmp_path / "s.onnx").write_bytes(model([], [short], []).SerializeToString())
    with pytest.raises(Error, match="384 bytes where 396 are expected"):
        tensors(tmp_path / "s.onnx")
