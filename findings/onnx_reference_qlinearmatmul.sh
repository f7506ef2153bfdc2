#!/usr/bin/env bash
# SPDX-License-Identifier: 0BSD
#
# What: the reference evaluator of the onnx package adds the zero point of QLinearMatMul's result before it rounds, where
# ONNX Runtime rounds first. With an odd zero point, ties to even go the other way: accumulators 0 to 4, at a scale of
# 0.5 and with zero point 1, become 1 2 2 2 3 in the one and 1 1 2 3 3 in the other.
#
# Standard: ONNX operator QLinearMatMul, "the quantization formula is y = saturate((x / y_scale) + y_zero_point)", and
# "for (x / y_scale), it is rounding to nearest ties to even": the quotient is rounded, then the zero point is added.
#
# Seen with onnx 1.23.2 and onnxruntime 1.32.0, on Linux x86-64.
#
# Run: bash findings/onnx_reference_qlinearmatmul.sh
# It installs both packages in a temporary virtual environment, and needs python3 (3.11 or newer) and a network.
# Exit code: 0 as long as the behaviour is the one described; 1 if it has changed.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q onnx==1.23.2 onnxruntime==1.32.0

cat > product.py <<'PYTHON'
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

names = ["a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"]
values = [np.arange(5, dtype=np.uint8).reshape(5, 1), np.float32(0.5), np.uint8(0), np.array([[1]], np.uint8)]
values += [np.float32(1), np.uint8(0), np.float32(1), np.uint8(1)]
feeds = {name: np.asarray(value) for name, value in zip(names, values, strict=True)}
types = {name: TensorProto.FLOAT if value.dtype == np.float32 else TensorProto.UINT8 for name, value in feeds.items()}
inputs = [helper.make_tensor_value_info(name, types[name], feeds[name].shape) for name in names]
output = helper.make_tensor_value_info("y", TensorProto.UINT8, (5, 1))
graph = helper.make_graph([helper.make_node("QLinearMatMul", names, ["y"])], "product", inputs, [output])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
onnx.checker.check_model(model)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
runtime = session.run(None, feeds)[0].ravel().tolist()
reference = ReferenceEvaluator(model).run(None, feeds)[0].ravel().tolist()
print("onnxruntime        ", *runtime)
print("reference evaluator", *reference)
assert runtime == [1, 1, 2, 3, 3], "this has changed"
assert reference == [1, 2, 2, 2, 3], "this has changed"
PYTHON
venv/bin/python product.py
