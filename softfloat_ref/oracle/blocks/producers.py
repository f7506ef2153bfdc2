"""Block profiles of packages that quantize models, each compared with its package (docs/producers.md)."""

from __future__ import annotations

from typing import Final

from softfloat_ref.oracle.blocks.profile import NVFP4, OCP, Profile

_MODELOPT: Final = "NVIDIA modelopt (nvidia-modelopt), torch/quantization/qtensor"
_COMPRESSED: Final = "compressed-tensors (vLLM, llm-compressor), quantization/utils and lifecycle/forward.py"
_BY_MODELOPT: Final = "against nvidia-modelopt 0.47.0, except for the blocks listed in docs/producers.md"
_BY_COMPRESSED: Final = "against compressed-tensors 0.20.0, except for the blocks listed in docs/producers.md"
_BY_MLX: Final = "against mlx 0.32.4 on a CPU, except for the blocks listed in docs/producers.md"
_BY_QUARK: Final = "against amd-quark 0.13, except for the blocks listed in docs/producers.md"

_MXFP4: Final = "fp4_*@e8m0"
_MXFP6: Final = "fp6_*@e8m0"
_MXFP8: Final = "fp8_*@e8m0"

_NEVER: Final = OCP.replace(flush="never")
_IN_FP32: Final = _NEVER.replace(arithmetic="fp32-division")
_NVFP4: Final = _IN_FP32.replace(scale_rule="rne", inf="largest", tensor_scale="amax")
_FOUR_OVER_SIX: Final = _NEVER.replace(
    scale_rule="rne",
    inf="largest",
    scale_low="zero",
    zero_block="zero",
    negative_zero="drop-given",
    tensor_scale="amax-256",
    arithmetic="fp32-amax",
    formats=NVFP4,
)
_FOUR_SOURCE: Final = "Cook et al., Four Over Six, arXiv 2512.02010; mit-han-lab/fouroversix; NVIDIA Transformer Engine"
_BY_FOUR: Final = (
    "against fouroversix and Transformer Engine, in PyTorch, except for the blocks listed in docs/producers.md"
)

PRODUCERS: Final[tuple[Profile, ...]] = (
    _NVFP4.replace(
        name="modelopt-nvfp4",
        formats=NVFP4,
        special_codes="encoded",
        zero_block="one",
        negative_zero="drop-given",
        source=f"{_MODELOPT}/nvfp4_tensor.py",
        checked=_BY_MODELOPT,
    ),
    _IN_FP32.replace(
        name="modelopt-mxfp4",
        formats=_MXFP4,
        scale_rule="rceil",
        rounding="rhz",
        negative_zero="set-given",
        source=f"{_MODELOPT}/mxfp4_tensor.py",
        checked=_BY_MODELOPT,
    ),
    _IN_FP32.replace(
        name="modelopt-mxfp8",
        formats=_MXFP8,
        scale_rule="rceil",
        inf="largest",
        source=f"{_MODELOPT}/mxfp8_tensor.py",
        checked=_BY_MODELOPT,
    ),
    _NVFP4.replace(
        name="compressed-tensors-nvfp4",
        formats=NVFP4,
        arithmetic="fp32-inverse",
        zero_block="eighth",
        scale_low="eighth",
        negative_zero="drop-given",
        source=_COMPRESSED,
        checked=_BY_COMPRESSED,
    ),
    _IN_FP32.replace(
        name="compressed-tensors-mx",
        formats=f"{_MXFP4}|{_MXFP6}",
        scale_rule="even",
        negative_zero="drop-given",
        source=f"{_COMPRESSED}: MXFP4 and MXFP6",
        checked=_BY_COMPRESSED,
    ),
    _IN_FP32.replace(
        name="compressed-tensors-mxfp8",
        formats=_MXFP8,
        scale_rule="even-e2m1",
        negative_zero="drop-given",
        source=f"{_COMPRESSED}: MXFP8",
        checked=_BY_COMPRESSED,
    ),
    _NEVER.replace(
        name="gguf-mxfp4",
        formats=_MXFP4,
        rounding="rhz",
        negative_zero="drop",
        source="gguf (llama.cpp), gguf/quants.py: MXFP4",
        checked="against gguf 0.19.0, except for the blocks listed in docs/producers.md",
    ),
    _IN_FP32.replace(
        name="mlx-cpu-mxfp4",
        formats=_MXFP4,
        scale_rule="rceil",
        rounding="rhz",
        zero_block="one",
        negative_zero="drop",
        source="mlx.core.quantize on a CPU, mode mxfp4",
        checked=_BY_MLX,
    ),
    _IN_FP32.replace(
        name="mlx-cpu-mxfp8",
        formats=_MXFP8,
        scale_rule="rceil",
        zero_block="one",
        source="mlx.core.quantize on a CPU, mode mxfp8",
        checked=_BY_MLX,
    ),
    _IN_FP32.replace(
        name="mlx-cpu-nvfp4",
        formats=NVFP4,
        scale_rule="rne",
        rounding="rhz",
        zero_block="zero",
        scale_low="zero",
        negative_zero="drop",
        source="mlx.core.quantize on a CPU, mode nvfp4, without a global scale",
        checked=_BY_MLX,
    ),
    _IN_FP32.replace(
        name="quark-mx",
        formats=f"{_MXFP4}|{_MXFP6}",
        scale_rule="even",
        inf="largest",
        negative_zero="drop",
        source="AMD Quark (amd-quark), fake_quantize_mx, even scales: MXFP4 and MXFP6",
        checked=_BY_QUARK,
    ),
    _IN_FP32.replace(
        name="quark-mxfp8",
        formats=_MXFP8,
        scale_rule="even",
        inf="largest",
        source="AMD Quark (amd-quark), fake_quantize_mx, even scales: MXFP8",
        checked=_BY_QUARK,
    ),
    _IN_FP32.replace(
        name="deepseek-fp8",
        formats="fp8_*@fp32",
        scale_rule="rne",
        zero_block="zero",
        scale_low="zero",
        source="DeepSeek-V3, inference/kernel.py: act_quant (1 x 128) and the weights (128 x 128), FP32 scales",
        checked="against the method restated in torch 2.13.0: the code is not on PyPI",
    ),
    *(
        _FOUR_OVER_SIX.replace(name=f"nvfp4-4over6-{error}", scale_search=error, source=_FOUR_SOURCE, checked=_BY_FOUR)
        for error in ("mse", "mae", "max")
    ),
)
