"""What each producer's package makes of an FP32 matrix on its CPU path: scales, codes and the tensor's scale.

Needs the packages (docs/producers.md has their versions); each is imported by the function that runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
F32: Final = np.float32


class Produced(NamedTuple):
    """Codes of the scales, codes of the elements, and the tensor's scale."""

    scales: Array
    codes: Array
    tensor_scale: float | None = None


def nibbles(packed: Array) -> Array:
    """The codes of bytes, low ones first."""
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], -1)


def as_bytes(tensor: Any) -> Array:
    import torch

    array: Array = tensor.contiguous().view(torch.uint8).numpy()
    return array


def _e2m1(values: Array) -> Array:
    """The codes of E2M1 values, of a zero by its sign."""
    return _coded(values, "fp4_e2m1")


def _coded(values: Array, fmt: str) -> Array:
    """The codes of values that a format holds."""
    from softfloat_ref import arrays

    return arrays.encode(np.ascontiguousarray(values, np.float32), fmt)


def modelopt_nvfp4(x: Array) -> Produced:
    import torch
    from modelopt.torch.quantization.qtensor import NVFP4QTensor

    made, scales, second = NVFP4QTensor.quantize(torch.from_numpy(x.copy()), 16)
    return Produced(as_bytes(scales), nibbles(as_bytes(made._quantized_data)), float(second))


def modelopt_mxfp4(x: Array) -> Produced:
    import torch
    from modelopt.torch.quantization.qtensor import MXFP4QTensor

    made, scales = MXFP4QTensor.quantize(torch.from_numpy(x.copy()), 32)
    return Produced(scales.numpy().reshape(len(x), -1), nibbles(as_bytes(made._quantized_data)))


def modelopt_mxfp8(x: Array) -> Produced:
    import torch
    from modelopt.torch.quantization.qtensor import MXFP8QTensor

    made, scales = MXFP8QTensor.quantize(torch.from_numpy(x.copy()))
    return Produced(scales.numpy().reshape(len(x), -1), as_bytes(made._quantized_data))


def _compressed(x: Array, bits: int, group: int, strategy: str, scale: Any) -> Produced:
    """compressed-tensors: its parameters of each group, then the codes of what it rounds to."""
    import torch
    from compressed_tensors.quantization import QuantizationArgs
    from compressed_tensors.quantization.lifecycle.forward import quantize
    from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam

    args = QuantizationArgs(num_bits=bits, type="float", strategy=strategy, group_size=group, scale_dtype=scale)
    weights = torch.from_numpy(x.copy())
    parts = weights.unflatten(-1, (-1, group))
    second = generate_gparam(weights.min(), weights.max()) if strategy == "tensor_group" else None
    scales, zeros = calculate_qparams(parts.amin(-1), parts.amax(-1), args, global_scale=second)
    if bits == 4 and second is not None:
        from compressed_tensors.compressors.nvfp4.helpers import quantize_and_pack_fp4

        packed = quantize_and_pack_fp4(weights, scales, global_scale=second, group_size=group)
        return Produced(as_bytes(scales.to(torch.float8_e4m3fn)), nibbles(as_bytes(packed)), float(second))
    from compressed_tensors.compressors.mx_utils import compress_mx_scale

    made = quantize(weights, scales, zeros, args).numpy()
    element = {4: "fp4_e2m1", 6: "fp6_e2m3", 8: "fp8_e4m3"}[bits]
    return Produced(compress_mx_scale(scales, torch.uint8).numpy(), _coded(made, element))


def compressed_nvfp4(x: Array) -> Produced:
    import torch

    return _compressed(x, 4, 16, "tensor_group", torch.float8_e4m3fn)


def compressed_mxfp4(x: Array) -> Produced:
    return _compressed_mx(x, 4)


def compressed_mxfp6(x: Array) -> Produced:
    return _compressed_mx(x, 6)


def compressed_mxfp8(x: Array) -> Produced:
    return _compressed_mx(x, 8)


def _compressed_mx(x: Array, bits: int) -> Produced:
    import torch

    return _compressed(x, bits, 32, "group", torch.uint8)


def gguf_mxfp4(x: Array) -> Produced:
    from gguf.constants import GGMLQuantizationType
    from gguf.quants import quantize

    rows = quantize(x, GGMLQuantizationType.MXFP4).reshape(len(x), -1, 17)
    codes = np.concatenate([rows[..., 1:] & 15, rows[..., 1:] >> 4], axis=-1)  # halves j and j + 16
    return Produced(rows[..., 0], codes.reshape(x.shape))


def _mlx(x: Array, mode: str, group: int) -> Produced:
    import mlx.core as mx

    mx.set_default_device(mx.cpu)
    words, scales = mx.quantize(mx.array(x), group_size=group, mode=mode)
    packed = np.array(words).view(np.uint8)
    return Produced(np.array(scales), packed if mode == "mxfp8" else nibbles(packed))


def mlx_mxfp4(x: Array) -> Produced:
    return _mlx(x, "mxfp4", 32)


def mlx_mxfp8(x: Array) -> Produced:
    return _mlx(x, "mxfp8", 32)


def mlx_nvfp4(x: Array) -> Produced:
    return _mlx(x, "nvfp4", 16)


def _quark(x: Array, dtype: str, element: str) -> Produced:
    """AMD Quark: what its fake quantization gives, and the scale of the same function, by which it is divided."""
    import torch
    from quark.torch.kernel.hw_emulation.hw_emulation_interface import fake_quantize_mx
    from quark.torch.quantization.config.type import Dtype
    from quark.torch.quantization.utils import even_round

    weights = torch.from_numpy(x.copy())
    values = fake_quantize_mx(weights, -1, 32, "even", mx_element_dtype=dtype).numpy()
    amax = weights.abs().unflatten(-1, (-1, 32)).amax(-1)
    scales = even_round(amax, Dtype(dtype)).numpy()
    with np.errstate(all="ignore"):
        units = values.reshape(*scales.shape, 32).astype(np.float64) / scales[..., np.newaxis]
        exponents = np.log2(scales.astype(np.float64)) + 127
        units = np.where(np.isnan(units) & (dtype != "fp8_e4m3"), 0.0, units)  # all values of the block are NaN
        codes = _coded(units.reshape(x.shape), element)
        return Produced(np.where(np.isnan(exponents), 255, exponents).astype(np.uint8), codes)


def quark_mxfp4(x: Array) -> Produced:
    return _quark(x, "fp4", "fp4_e2m1")


def quark_mxfp6(x: Array) -> Produced:
    return _quark(x, "fp6_e2m3", "fp6_e2m3")


def quark_mxfp8(x: Array) -> Produced:
    return _quark(x, "fp8_e4m3", "fp8_e4m3")


def deepseek_fp8(x: Array) -> Produced:
    """The method of act_quant, by torch: its kernel is in Triton."""
    import torch

    parts = torch.from_numpy(x.copy()).unflatten(-1, (-1, 128))
    scales = parts.abs().amax(-1) / 448.0
    codes = (parts / scales.unsqueeze(-1)).to(torch.float8_e4m3fn)
    return Produced(scales.numpy().view(np.uint32), as_bytes(codes).reshape(x.shape))


Producer = Callable[[Array], Produced]
