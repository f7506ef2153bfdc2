"""`onnx_translations`: what the nodes of quantized graphs become in ONNX: QuantizeLinear and DequantizeLinear where it
has the format (FP8), a Cast there and back where that is ONNX's form (FP16, bfloat16), and plain operators between.

Nothing is approximated: a format, policy or accumulator that ONNX cannot say is an error of one line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import torch

from softfloat_ref.base.errors import Error
from softfloat_ref.nn import layers
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import Overflow, Policy, get_policy
from softfloat_ref.torch.layer_operators import layer_of_text
from softfloat_ref.torch.operators import parsed


class _OnnxType(NamedTuple):
    """A type of ONNX, by the name of its enumeration. quantized: by QuantizeLinear, else by Cast. saturate: by overflow
    rule, the attribute; an absent rule cannot be said."""

    name: str
    quantized: bool
    saturate: Mapping[Overflow, int]


_FP8: Final = {Overflow.SAT_FINITE: 1, Overflow.SAT_NONE: 0}
_TYPES: Final = {
    "fp8_e4m3": _OnnxType("FLOAT8E4M3FN", True, _FP8),
    "fp8_e5m2": _OnnxType("FLOAT8E5M2", True, _FP8),
    "fp8_e4m3fnuz": _OnnxType("FLOAT8E4M3FNUZ", True, _FP8),
    "fp8_e5m2fnuz": _OnnxType("FLOAT8E5M2FNUZ", True, _FP8),
    "fp16": _OnnxType("FLOAT16", False, {Overflow.SAT_NONE: 0}),
    "bf16": _OnnxType("BFLOAT16", False, {Overflow.SAT_NONE: 0}),
    "fp32": _OnnxType("FLOAT", False, {Overflow.SAT_NONE: 0}),
}


def onnx_translations() -> dict[Any, Callable[..., Any]]:
    """The table for `torch.onnx.export(..., custom_translation_table=...)`, with `dynamo=True` and `opset_version=23`.

    Raises ImportError without the packages onnx and onnxscript; an export then raises Error for what ONNX cannot say.
    """
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError:
        raise ImportError("ONNX export needs onnx and onnxscript: pip install 'softfloat-ref[models]'") from None
    return {
        torch.ops.softfloat_ref.fake_quantize.default: _fake_quantize,
        torch.ops.softfloat_ref.quantized_layer.default: _layer,
    }


def _fake_quantize(
    x: Any,
    quantization: str,
    clip: bool,
    scale: Any = None,
    zero_point: Any = None,
    tensor_scale: Any = None,
    random_bits: Any = None,
) -> Any:
    """The second result, of which a graph makes no use, is x."""
    chosen = parsed(quantization)
    arrays = {"scale": scale, "zero_point": zero_point, "tensor_scale": tensor_scale, "random_bits": random_bits}
    if options := [*chosen.options, *(name for name, value in arrays.items() if value is not None)]:
        raise Error(f"ONNX export: {chosen.fmt.name} with {', '.join(options)} has no form in ONNX")
    return _through(x, chosen.fmt.name, chosen.policy, "fake_quantize"), _operators().Identity(x)


def _layer(x: Any, weight: Any = None, bias: Any = None, layer: str = "") -> Any:
    """A layer, its operands and result in their formats."""
    plain, _ = layer_of_text(layer)
    op, numerics = _operators(), plain.numerics
    if not numerics.takes_values:
        raise Error(
            f"ONNX export: {plain.name}: ONNX has no accumulators; leave {numerics.accumulator} out of the recipe"
        )

    def held(value: Any, *roles: str) -> Any:
        """In the format of the first of these roles that has one."""
        role = next((role for role in roles if role in numerics.specs), None)
        if role is None:
            return value
        spec = numerics.specs[role]
        return _through(value, spec.format, spec.resolved_policy(), f"{plain.name}: {role}")

    if not plain.products:
        function = {"relu": op.Relu, "tanh": op.Tanh, "sigmoid": op.Sigmoid}[plain.kind]
        return held(function(held(x, "function", "vector")), "function", "vector")
    x, weight = held(x, "activation"), held(weight, "weight")
    if isinstance(plain, layers.Conv2d):
        y = op.Conv(x, weight, strides=[plain.stride] * 2, pads=[plain.padding] * 4)
        bias = None if bias is None else op.Unsqueeze(bias, op.Constant(value_ints=[1, 2]))
    else:
        y = op.MatMul(x, op.Transpose(weight, perm=[1, 0]))
    y = y if bias is None else op.Add(y, bias)
    return held(y, "activation", "vector")


def _operators() -> Any:
    from onnxscript import opset23

    return opset23


def _through(x: Any, fmt: str, policy: Policy | None, what: str) -> Any:
    """x in a format and back."""
    import onnx

    target, plain = _TYPES.get(fmt), get_policy("ieee")
    policy = policy or plain
    if target is None:
        raise Error(f"ONNX export: {what}: ONNX has no QuantizeLinear to {fmt}; it has {', '.join(_TYPES)}")
    overflow = policy.overflow_for(get_format(fmt))
    if overflow not in target.saturate or policy.replace(overflow=None) != plain:
        raise Error(f"ONNX export: {what}: ONNX cannot say this policy of {fmt}; it rounds to nearest even")
    op, code = _operators(), getattr(onnx.TensorProto, target.name)
    if fmt == "fp32":
        return op.Identity(x)
    if not target.quantized:
        return op.Cast(op.Cast(x, to=code), to=onnx.TensorProto.FLOAT)
    zero = op.Constant(value=onnx.helper.make_tensor("zero", code, [], b"\0", raw=True))
    one = op.Constant(value_float=1.0)
    return op.DequantizeLinear(op.QuantizeLinear(x, one, zero, saturate=target.saturate[overflow]), one, zero)
