"""The rule of onnx's reference evaluator: QLinearMatMul of it, on ties, ends and random products."""

from __future__ import annotations

import numpy as np
import pytest

import softfloat_ref as sf

pytestmark = pytest.mark.extra("onnx")


@pytest.mark.parametrize(
    ("scale", "zero_point"), [(0.5, 1), (0.25, 128), (0.0123, 7), (1 / 3, 0), (1e-3, 254), (2.0, 3)]
)
def test_a_product_of_matrices(scale: float, zero_point: int) -> None:
    from onnx import TensorProto, helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

    a, b = np.arange(256, dtype=np.uint8).reshape(-1, 1), np.arange(0, 256, 3, dtype=np.uint8).reshape(1, -1)
    constants = {"as": np.float32(scale), "az": np.uint8(100), "bs": np.float32(1), "bz": np.uint8(128),
                 "ys": np.float32(1), "yz": np.uint8(zero_point), "b": b}  # fmt: skip
    node = helper.make_node("QLinearMatMul", ["a", "as", "az", "b", "bs", "bz", "ys", "yz"], ["y"])
    ends = [helper.make_tensor_value_info(n, TensorProto.UINT8, None) for n in "ay"]
    initial = [numpy_helper.from_array(np.asarray(x), n) for n, x in constants.items()]
    model = helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:], initial), ir_version=8)
    (right,) = ReferenceEvaluator(model).run(None, {"a": a})
    sums = (a.astype(np.int32) - 100) @ (b.astype(np.int32) - 128)
    found = sf.affine.requantize(sums, np.float32(scale), zero_point=zero_point, to="u8", rule="onnx-reference")
    assert (found == right).all()
    other = sf.affine.requantize(sums, np.float32(scale), zero_point=zero_point, to="u8", rule="onnxruntime")
    if scale == 0.5:  # halves, with an odd zero point
        assert (other != right).any()
