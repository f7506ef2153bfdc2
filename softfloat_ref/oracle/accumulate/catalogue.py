"""The named accumulators: one tree each, with its status and citation. To add one, add a row."""

from __future__ import annotations

from typing import Any, Final

from softfloat_ref.oracle.accumulate.model import ALL, BLOCK, Accumulator

_VERIFIED: Final = "hardware-verified"
_PUBLISHED: Final = "published model"
_DOCUMENTED: Final = "documented only"
_DEFINITION: Final = "definition"

_MATLAB: Final = "captures of Khattak & Mikaitis, arXiv 2512.07004"
_CAPTURED: Final = "captures of an H100, vectors/captures"
_MMASIM: Final = "MMA-Sim 2.1.1, arXiv 2511.10909"
_ARM: Final = "Arm A-profile ISA"

# NaN is 7fffffff or 7fff, overflow gives Inf in every rounding mode, a zero result is +0, and there are no flags.
_NVIDIA: Final[dict[str, Any]] = {
    "nan": "ones",
    "overflow": "inf",
    "zero": "positive",
    "flags": False,
    "converts": False,
    "scales": "none",
}
_AMD: Final[dict[str, Any]] = {"flags": False, "converts": False, "scales": "none"}
_X86: Final[dict[str, Any]] = {
    "formats": "bf16",
    "nan": "propagate,negative,fma-quiet",
    "flush_inputs": "on",
    "flush_outputs": "after",
    "flags": False,
    "converts": False,
    "scales": "none",
}
_FP8: Final = "fp8_e4m3 fp8_e5m2"
_NARROW: Final = f"{_FP8} fp6_e3m2 fp6_e2m3 fp4_e2m1"
_FNUZ: Final = "fp8_e4m3fnuz fp8_e5m2fnuz"


def _nvidia(name: str, tree: str, step: int, formats: str, status: str, source: str, **more: Any) -> Accumulator:
    return Accumulator(name, tree, step=step, formats=formats, status=status, source=source, **{**_NVIDIA, **more})


def _fused(bits: int, floor32: int, floor16: int, result: str = "fp32:rz|fp16:rne") -> str:
    """The tree of an NVIDIA unit, which adds its products and c in one fused sum."""
    return f"fuse(p + c, F={bits}, rz, floor=fp32:{floor32}|fp16:{floor16}) -> {result}"


_FLOORS: Final = "floor=fp32:-133|fp16:-21"
_MMA_FP8: Final = (
    f"fuse(fuse(p[2::4,3::4] + fuse(p[0::4,1::4] + zero, F=25, rz, {_FLOORS}) -> fp32:rz|fp16:rne,"
    f" F=25, rz, {_FLOORS}) -> fp32:rz|fp16:rne + c) -> fp32:rne|fp16:rne"
)
_GROUPS: Final = " + ".join(f"fuse(p[{k}:{k + 16}], exponent=scale)" for k in (0, 16, 32, 48))

_ROWS: Final = (
    # -- definitions -------------------------------------------------------------------------------------------------
    Accumulator(
        "exact",
        "fuse(p + c) -> out:rne",
        step=ALL,
        c="own",
        status=_DEFINITION,
        source="the exact sum, rounded once",
    ),
    Accumulator(
        "mx-fp32",
        "fuse(c + fuse(p) -> fp32:rne) -> fp32:rne",
        step=BLOCK,
        status=_DEFINITION,
        source="OCP Microscaling Formats (MX) 1.0, 6.1 and 6.2: blocks exactly, then FP32",
    ),
    Accumulator(
        "fp32-sequential",
        "fuse(c + p -> fp32:rne) -> fp32:rne",
        step=1,
        status=_DEFINITION,
        source="products and sums each rounded to FP32, in order",
    ),
    Accumulator(
        "fp32-pairwise",
        "fuse(pairs(p -> fp32:rne) -> fp32:rne + c) -> fp32:rne",
        step=ALL,
        status=_DEFINITION,
        source="neighbours added, level by level; c last",
    ),
    Accumulator(
        "fp16-sequential",
        "fuse(c + p -> fp16:rne) -> fp16:rne",
        step=1,
        status=_DEFINITION,
        source="products and sums each rounded to FP16, in order",
    ),
    Accumulator(
        "chunked-fp16",
        "fuse(c + chain(zero + p -> s1e6m9:rne) -> s1e6m9:rne) -> s1e6m9:rne",
        step=64,
        status=_DEFINITION,
        source="Wang et al., NeurIPS 2018, arXiv 1812.08011: FP16 (1-6-9) in chunks of 64",
    ),
    Accumulator(
        "fma-chain",
        "fuse(p + c) -> out:rne",
        step=1,
        c="own",
        status=_PUBLISHED,
        source=f"fp64 units, CDNA fp32: {_MMASIM}",
    ),
    # -- NVIDIA ------------------------------------------------------------------------------------------------------
    Accumulator(
        "nvidia-fp64",
        "fuse(p + c) -> fp64:rne",
        step=1,
        formats="fp64",
        nan="propagate,first-last,negative",
        flags=False,
        converts=False,
        scales="none",
        status=_VERIFIED,
        source=_CAPTURED,
    ),
    _nvidia("nvidia-v100", _fused(23, -131, -19), 4, "fp16", _VERIFIED, _MATLAB),
    _nvidia("nvidia-t4", _fused(24, -132, -20), 8, "fp16", _PUBLISHED, _MMASIM),
    _nvidia(
        "nvidia-a100",
        _fused(24, -132, -20),
        8,
        "fp16 bf16 tf32",
        _VERIFIED,
        f"A100, A2, Ada, L40S: {_MATLAB}",
        steps="tf32=4",
    ),
    _nvidia(
        "nvidia-ada-fp8",
        _fused(13, -132, -20, "fp32:rz:13|fp16:rne"),
        16,
        _FP8,
        _VERIFIED,
        f"Ada, L40S: {_MATLAB}",
    ),
    _nvidia(
        "nvidia-h100",
        _fused(25, -133, -21),
        16,
        "fp16 bf16 tf32",
        _VERIFIED,
        f"mma.sync and wgmma: H100, H200 {_MATLAB}; {_CAPTURED}",
        steps="tf32=8",
    ),
    _nvidia(
        "nvidia-h100-fp8-wgmma",
        _fused(13, -133, -21, "fp32:rz:13|fp16:rne"),
        32,
        _FP8,
        _VERIFIED,
        f"FP32 with c = 0: H100, H200 {_MATLAB}; {_CAPTURED}",
    ),
    _nvidia(
        "nvidia-h100-fp8-mma",
        _MMA_FP8,
        32,
        _FP8,
        _VERIFIED,
        f"FP16: H100, H200 {_MATLAB}; {_CAPTURED}",
        widened="fp16",
    ),
    _nvidia(
        "nvidia-b200",
        _fused(25, -133, -21),
        16,
        "fp16 bf16 tf32",
        _VERIFIED,
        _MATLAB,
        steps="tf32=8",
    ),
    _nvidia(
        "nvidia-b200-fp8",
        _fused(25, -133, -21),
        32,
        _NARROW,
        _PUBLISHED,
        f"B200, RTX 50, tcgen05 and MX blocks: {_MMASIM}",
        scales="block",
    ),
    _nvidia("nvidia-b200-fp8-mma", _MMA_FP8, 32, _FP8, _VERIFIED, _MATLAB, widened="fp16"),
    _nvidia(
        "nvidia-b200-fp4",
        f"fuse({_GROUPS} + c, F=35, rz, floor=-139) -> fp32:rz",
        64,
        "fp4_e2m1",
        _PUBLISHED,
        f"MXFP4, NVFP4, k = 64: {_MMASIM}",
        scales="block",
    ),
    # -- AMD ---------------------------------------------------------------------------------------------------------
    Accumulator(
        "amd-cdna1",
        "fuse(p + c) -> fp32:rne",
        step=4,
        steps="bf16=2",
        formats="fp16 bf16",
        status=_PUBLISHED,
        source=_MMASIM,
        **_AMD,
    ),
    Accumulator(
        "amd-cdna2",
        "fuse(c + pairs(p -> fp32:rne) -> fp32:rne) -> fp32:rne",
        step=4,
        formats="fp16 bf16",
        flush_inputs="positive",
        flush_outputs="after",
        status=_PUBLISHED,
        source=f"bf16 with _1k; without it step = 2: {_MMASIM}",
        **_AMD,
    ),
    Accumulator(
        "amd-cdna3",
        "fuse(fuse(p, F=24, rz) @ 32:rd + c @ 24:rd, F=32, rd, floor=-126) -> fp32:rdn:31 -> fp32:rne",
        step=8,
        steps="tf32=4",
        formats="fp16 bf16 tf32",
        product_limit=128,
        status=_PUBLISHED,
        source=_MMASIM,
        **_AMD,
    ),
    Accumulator(
        "amd-cdna3-fp8",
        "fuse(fuse(fuse(p[0::2], F=24, rz) + fuse(p[1::2], F=24, rz), F=24, rd) @ 32:rd + c @ 24:rd:25,"
        " F=32, rd, floor=-126) -> fp32:rdn:31 -> fp32:rne",
        step=16,
        formats=_FNUZ,
        status=_PUBLISHED,
        source=_MMASIM,
        **_AMD,
    ),
    # -- x86 ---------------------------------------------------------------------------------------------------------
    Accumulator(
        "x86-vdpbf16ps",
        "fuse(p[0] + fuse(p[1] + c) -> fp32:rne) -> fp32:rne",
        step=2,
        status=_VERIFIED,
        source="Intel SDM vol. 2, VDPBF16PS; a processor, by tests/peers/test_vdpbf16ps.py",
        **_X86,
    ),
    Accumulator(
        "x86-amx-bf16",
        "fuse(c + fuse(chain(zero + p[0::2]) -> fp32:rne + chain(zero + p[1::2]) -> fp32:rne) -> fp32:rne) -> fp32:rne",
        step=32,
        status=_DOCUMENTED,
        source="Intel SDM vol. 2, TDPBF16PS",
        **_X86,
    ),
    # -- Arm ---------------------------------------------------------------------------------------------------------
    Accumulator(
        "arm-bfdot",
        "fuse(c + fuse(p -> fp32:rto) -> fp32:rto) -> fp32:rto",
        step=2,
        formats="bf16",
        overflow="inf",
        flush_inputs="on",
        flush_outputs="before",
        flags=False,
        converts=False,
        scales="none",
        status=_DOCUMENTED,
        source=f"{_ARM}, BFDOT, BFMMLA with FPCR.EBF = 0",
    ),
    Accumulator(
        "arm-bfdot-ebf",
        "fuse(c + fuse(p) -> fp32:rne) -> fp32:rne",
        step=2,
        formats="bf16",
        flags=False,
        converts=False,
        scales="none",
        status=_DOCUMENTED,
        source=f"{_ARM}, BFDOT, BFMMLA with FPCR.EBF = 1, FPCR otherwise 0",
    ),
    Accumulator(
        "arm-fp8-fdot",
        "fuse(p + c) -> fp32:rne|fp16:rne",
        step=4,
        steps="fp16=2",
        formats=_FP8,
        flags=False,
        converts=False,
        scales="none",
        status=_DOCUMENTED,
        source=f"{_ARM}, FDOT (8-bit), FPCR = 0; product_exponent is -FPMR.LSCALE",
    ),
)

ACCUMULATORS: Final[dict[str, Accumulator]] = {row.name: row for row in _ROWS}
