#!/usr/bin/env bash
# SPDX-License-Identifier: 0BSD
#
# What: one wheel of LiteRT has three results for one quantized layer, by the kernels that are chosen. A fully connected
# layer of int8 with an output scale of 8 times the accumulator's rounds accumulator / 8: to the nearest, ties to even, by
# default (XNNPACK); to the nearest, ties away from zero, with the reference kernels; and twice, each time ties up, with
# the built-in kernels without a delegate: their result need not be the nearest integer, since 11 / 8 becomes 2 and
# -5 / 8 becomes 0.
#
# Standard: LiteRT's 8-bit quantization specification defines the real value of a number, (int8_value - zero_point) *
# scale, and not how a result is rounded. It allows slight deviations of hardware that are not bit-exact, so no clause is
# violated; but there is no one result that hardware could match bit by bit, and the nearest number is not always given.
#
# Seen with ai-edge-litert 2.3.0, on Linux x86-64.
#
# Run: bash findings/litert_int8_layer.sh
# It installs the package in a temporary virtual environment, and needs python3 (3.11 or newer) and a network.
# Exit code: 0 as long as the behaviour is the one described; 1 if it has changed.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q ai-edge-litert==2.3.0

cat > layer.py <<'PYTHON'
import sys
from importlib.metadata import version

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

SUMS = [-20, -13, -12, -11, -5, -4, -3, 3, 4, 5, 11, 12, 13, 20]  # accumulators: the bias, as the input is 0
KERNELS = {
    "default": OpResolverType.AUTO,
    "built in": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "reference": OpResolverType.BUILTIN_REF,
}
DESCRIBED = {
    "default": [-2, -2, -2, -1, -1, 0, 0, 0, 0, 1, 1, 2, 2, 2],
    "built in": [-2, -1, -1, -1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3],
    "reference": [-3, -2, -2, -1, -1, -1, 0, 0, 1, 1, 1, 2, 2, 3],
}


def buffer(data=None):
    own = schema.BufferT()
    own.data = None if data is None else np.frombuffer(data.tobytes(), np.uint8)
    return own


def tensor(name, shape, kind, place, scale):
    own, quantization = schema.TensorT(), schema.QuantizationParametersT()
    quantization.scale, quantization.zeroPoint = [scale], [0]
    own.name, own.shape, own.type, own.buffer, own.quantization = name, shape, kind, place, quantization
    return own


def layer():
    """A fully connected layer of one input; the scales are powers of two, and so exact."""
    count, int8, int32 = len(SUMS), schema.TensorType.INT8, schema.TensorType.INT32
    model, graph, step, code = schema.ModelT(), schema.SubGraphT(), schema.OperatorT(), schema.OperatorCodeT()
    weights, bias = np.ones((count, 1), np.int8), np.array(SUMS, np.int32)
    model.buffers = [buffer(), buffer(), buffer(weights), buffer(bias), buffer()]
    graph.tensors = [
        tensor("x", [1, 1], int8, 1, 0.5),
        tensor("weights", [count, 1], int8, 2, 0.5),
        tensor("bias", [count], int32, 3, 0.25),
        tensor("y", [1, count], int8, 4, 2.0),
    ]
    step.opcodeIndex, step.inputs, step.outputs = 0, [0, 1, 2], [3]
    step.builtinOptionsType = schema.BuiltinOptions.FullyConnectedOptions
    step.builtinOptions = schema.FullyConnectedOptionsT()
    graph.inputs, graph.outputs, graph.operators = [0], [3], [step]
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.FULLY_CONNECTED
    code.version = 4
    model.version, model.subgraphs, model.operatorCodes = 3, [graph], [code]
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def results(content, kernels):
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.zeros((1, 1), np.int8))
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).ravel().tolist()


content = layer()
seen = {name: results(content, kernels) for name, kernels in KERNELS.items()}
print("ai-edge-litert", version("ai-edge-litert"))
print(f"{'exact':10}" + "".join(f"{total / 8:8}" for total in SUMS))
for name, values in seen.items():
    print(f"{name:10}" + "".join(f"{value:8}" for value in values))
sys.exit(0 if seen == DESCRIBED else 1)
PYTHON

if venv/bin/python layer.py; then
  echo "as described: three results, by the kernels that are chosen"
else
  echo "the behaviour has changed"
  exit 1
fi
