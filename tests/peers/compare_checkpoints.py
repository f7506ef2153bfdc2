"""Checkpoints made by their producers' packages, read and compared with what those packages dequantize, value by value:
`python tests/peers/compare_checkpoints.py`. Values must be equal in all bits; exit code 1 if one is not.

Needs packages that a venv of their own can have (torch for a CPU is enough):

    pip install torch safetensors gguf==0.19.0 compressed-tensors==0.20.0 nvidia-modelopt==0.47.0
    pip install transformers==5.24.0 torchao==0.18.0 mlx==0.32.4 mlx-cpu==0.32.4

Each weight has a million values: trained ones of vectors/tensors, scaled row by row, with rows of zeros, of tiny and of
large values. A second kind has random codes and scales, which no quantizer would write.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softfloat_ref.nn.model_files import tensors
from softfloat_ref.nn.model_files.gguf_blocks import BLOCK_TYPES

TOP = Path(__file__).parents[2]
SHAPE = (2048, 512)
RNG = np.random.default_rng(1)


class Sample(NamedTuple):
    """A weight: the tensors of its file, and what its package dequantizes. In the package's type, to which values are
    rounded before they are compared."""

    name: str
    members: dict[str, Any]
    values: Any
    row: str = ""
    metadata: dict[str, str] | None = None


def weights() -> np.ndarray:
    trained = np.resize(np.load(TOP / "vectors" / "tensors" / "char_weights.npy"), SHAPE)
    x = (trained * np.exp(RNG.normal(size=(SHAPE[0], 1)))).astype(np.float32)
    x[3, :64], x[5], x[7] = 0, x[5] * 1e-6, x[7] * 300
    return x


def modelopt() -> Iterator[Sample]:
    import torch
    from modelopt.torch.quantization.qtensor import MXFP4QTensor, NVFP4QTensor
    from modelopt.torch.quantization.qtensor.fp8_tensor import FP8QTensor
    from modelopt.torch.quantization.qtensor.mxfp8_tensor import MXFP8QTensor

    w, f32 = torch.from_numpy(weights()), torch.float32
    q, scale, second = NVFP4QTensor.quantize(w, 16)
    values = q.dequantize(scale=scale, double_scale=second, block_sizes={-1: 16}, dtype=f32)
    yield Sample("NVFP4", {"weight": q._quantized_data, "weight_scale": scale, "weight_scale_2": second}, values)
    codes = torch.from_numpy(RNG.integers(0, 256, (SHAPE[0], SHAPE[1] // 2), dtype=np.uint8))
    scale = torch.from_numpy(RNG.integers(0, 0x7F, (SHAPE[0], SHAPE[1] // 16), dtype=np.uint8)).view(
        torch.float8_e4m3fn
    )
    second = torch.tensor(0.00123)
    values = NVFP4QTensor(SHAPE, f32, codes).dequantize(
        scale=scale, double_scale=second, block_sizes={-1: 16}, dtype=f32
    )
    yield Sample("NVFP4 random codes", {"weight": codes, "weight_scale": scale, "weight_scale_2": second}, values)
    q, scale = MXFP4QTensor.quantize(w, 32)
    values = q.dequantize(scale=scale, block_sizes={-1: 32}, dtype=f32)
    yield Sample("MXFP4", {"weight": q._quantized_data, "weight_scale": scale.reshape(SHAPE[0], -1)}, values)
    q, scale = MXFP8QTensor.quantize(w)
    values = q.dequantize(scale=scale, block_sizes={-1: 32}, dtype=f32)
    yield Sample("MXFP8", {"weight": q._quantized_data, "weight_scale": scale}, values)
    q, scale = FP8QTensor.quantize(w, axis=None)
    yield Sample("FP8", {"weight": q._quantized_data, "weight_scale": scale}, q.dequantize(scale=scale, dtype=f32))


def compressed_tensors() -> Iterator[Sample]:
    import torch
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam

    w = torch.from_numpy(weights())
    groups, fp4 = {"strategy": "group", "group_size": 32}, {"num_bits": 4, "type": "float"}
    mx = {**groups, "type": "float", "scale_dtype": torch.uint8}
    kinds: list[tuple[str, dict[str, Any]]] = [
        (
            "nvfp4-pack-quantized",
            {**fp4, "strategy": "tensor_group", "group_size": 16, "scale_dtype": torch.float8_e4m3fn},
        ),
        ("mxfp4-pack-quantized", {**mx, "num_bits": 4}),
        ("mxfp6-pack-quantized", {**mx, "num_bits": 6}),
        ("mxfp8-quantized", {**mx, "num_bits": 8}),
        *(("float-quantized", {"num_bits": 8, "type": "float", "strategy": s}) for s in ("channel", "tensor")),
        ("float-quantized", {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]}),
        ("int-quantized", {"num_bits": 8, "type": "int", "strategy": "channel"}),
        *(("pack-quantized", {**groups, "num_bits": n, "type": "int"}) for n in range(2, 9)),
    ]
    for fmt, options in kinds:
        args = QuantizationArgs(symmetric=True, **options)
        scheme = QuantizationScheme(targets=["Linear"], weights=args, format=fmt)
        second = generate_gparam(w.min(), w.max()) if "nvfp4" in fmt else None
        scale, zero = calculate_qparams(*_ranges(w, args), args, global_scale=second)
        state = {"weight": w, "weight_scale": scale, "weight_zero_point": zero}
        if second is not None:
            state["weight_global_scale"] = second.reshape(1)
        compressor = BaseCompressor.get_value_from_registry(fmt)
        members = compressor.compress(state, scheme)
        values = compressor.decompress(dict(members), scheme)["weight"]
        yield Sample(f"{fmt} {options['strategy']} {args.num_bits}", members, values.detach())


def _ranges(w: Any, args: Any) -> tuple[Any, Any]:
    """The smallest and the largest value of each block."""
    if args.group_size:
        x = w.unflatten(-1, (-1, args.group_size))
        return x.amin(-1), x.amax(-1)
    if args.block_structure:
        down, across = args.block_structure
        x = w.reshape(w.shape[0] // down, down, w.shape[1] // across, across)
        return x.amin((1, 3)), x.amax((1, 3))
    if args.strategy == "channel":
        return w.amin(-1, keepdim=True), w.amax(-1, keepdim=True)
    return w.min().reshape(1), w.max().reshape(1)


def transformers() -> Iterator[Sample]:
    import torch
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    codes = torch.from_numpy(RNG.integers(0, 256, (4, 256, 32, 16), dtype=np.uint8))
    scales = torch.from_numpy(RNG.integers(0, 250, (4, 256, 32), dtype=np.uint8))
    values = convert_moe_packed_tensors(codes.clone(), scales.clone(), dtype=torch.float32)
    members = {"gate_up_proj_blocks": codes, "gate_up_proj_scales": scales}
    yield Sample("gpt-oss", members, values.transpose(1, 2).contiguous())


def torchao() -> Iterator[Sample]:
    import torch
    from torchao.prototype.mx_formats.mx_tensor import MXTensor
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
    from torchao.quantization import Float8WeightOnlyConfig, Int8WeightOnlyConfig, quantize_

    w = torch.from_numpy(weights())
    second = per_tensor_amax_to_scale(w.abs().max())
    kinds = {
        "NVFP4": NVFP4Tensor.to_nvfp4(w, per_tensor_scale=second),
        "MXFP4": MXTensor.to_mx(w, torch.float4_e2m1fn_x2, 32),
        "MXFP8": MXTensor.to_mx(w, torch.float8_e4m3fn, 32),
        "NVFP4, swizzled": NVFP4Tensor.to_nvfp4(w, per_tensor_scale=second, is_swizzled_scales=True),
        "MXFP8, swizzled": MXTensor.to_mx(w, torch.float8_e4m3fn, 32, is_swizzled_scales=True),
    }
    for name, config in (("FP8", Float8WeightOnlyConfig()), ("INT8", Int8WeightOnlyConfig(version=2))):
        linear = torch.nn.Linear(SHAPE[1], SHAPE[0], bias=False)
        linear.weight.data.copy_(w)
        quantize_(linear, config)
        kinds[name] = linear.weight
    for name, tensor in kinds.items():
        members, metadata = flatten_tensor_state_dict({"m.weight": tensor})
        members = {k.removeprefix("m."): v for k, v in members.items()}
        yield Sample(name, members, tensor.dequantize().detach(), metadata=metadata)


def mlx() -> Iterator[Sample]:
    import mlx.core as mx
    import torch

    w = mx.array(weights())
    for mode, size, bits in (("mxfp4", 32, 4), ("mxfp8", 32, 8), ("nvfp4", 16, 4)):
        parts = mx.quantize(w, group_size=size, bits=bits, mode=mode)
        values = mx.dequantize(*parts, group_size=size, bits=bits, mode=mode)
        members = {k: torch.from_numpy(np.array(x)) for k, x in zip(("weight", "scales"), parts, strict=True)}
        yield Sample(mode, members, torch.from_numpy(np.array(values.astype(mx.float32))).bfloat16())
    for size, bits in ((64, 4), (32, 8), (128, 2), (64, 3), (64, 5), (32, 6)):
        parts = mx.quantize(w, group_size=size, bits=bits)
        values = mx.dequantize(*parts, group_size=size, bits=bits)
        members = {k: torch.from_numpy(np.array(x)) for k, x in zip(("weight", "scales", "biases"), parts, strict=True)}
        row = f'like = "mlx-affine"\nelements = "u{bits}"\nblock = [1, {size}]\n'
        yield Sample(f"affine, {bits} bits, groups of {size}", members, torch.from_numpy(np.array(values)), row)


def safetensors_values(sample: Sample, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Ours, and the package's, in the package's type as float32."""
    import torch
    from safetensors.torch import save_file

    members = {f"m.{name}": x.detach().contiguous().clone() for name, x in sample.members.items()}
    save_file(members, folder / "m.safetensors", sample.metadata)
    (folder / "own.toml").write_text(f"[layouts.own]\n{sample.row}")
    own = [folder / "own.toml"] if sample.row else []
    (t,) = [t for t in tensors(folder / "m.safetensors", own) if not t.skipped]
    ours = torch.from_numpy(t.values(arithmetic="producer"))  # type: ignore[call-arg]
    return ours.to(sample.values.dtype).float().numpy(), sample.values.float().numpy()


def ggml() -> Iterator[Sample]:
    import gguf

    w = weights()
    for number, own in BLOCK_TYPES.items():
        kind = gguf.GGMLQuantizationType(number)
        count = SHAPE[1] // own.values
        blocks = {"random codes": RNG.integers(0, 256, (SHAPE[0], count * own.size), dtype=np.uint8)}
        try:
            blocks["quantized"] = gguf.quants.quantize(w, kind)
        except NotImplementedError:
            print(f"gguf cannot quantize to {own.name}: random codes only")
        for word, data in blocks.items():
            with np.errstate(all="ignore"):
                yield Sample(f"{own.name} {word}", {"w": (data, kind)}, gguf.quants.dequantize(data, kind))


def gguf_values(sample: Sample, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    import gguf

    data, kind = sample.members["w"]
    writer = gguf.GGUFWriter(folder / "m.gguf", "llama")
    writer.add_tensor("w", data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    (t,) = tensors(folder / "m.gguf")
    return t.values(), sample.values.astype(np.float32)


def main(chosen: list[str]) -> int:
    """Compare every sample, or those of some packages."""
    total = different = 0
    producers: list[tuple[str, Callable[[], Iterator[Sample]], Callable[..., Any]]] = [
        ("nvidia-modelopt", modelopt, safetensors_values),
        ("compressed-tensors", compressed_tensors, safetensors_values),
        ("transformers", transformers, safetensors_values),
        ("torchao", torchao, safetensors_values),
        ("mlx", mlx, safetensors_values),
        ("gguf", ggml, gguf_values),
    ]
    for package, samples, read in producers:
        if chosen and package not in chosen:
            continue
        print(f"{package} {version(package)}")
        for sample in samples():
            with tempfile.TemporaryDirectory() as folder:
                ours, theirs = read(sample, Path(folder))
            nan = np.isnan(ours) & np.isnan(theirs)
            count = int(((ours.view(np.uint32) != theirs.view(np.uint32)) & ~nan).sum())
            total, different = total + ours.size, different + count
            print(f"  {sample.name}: {count} of {ours.size} values differ", flush=True)
    print(f"{different} of {total} values differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
