"""Against MMA-Sim, an independent model of NVIDIA's and AMD's units in floating point (the extra `peers`).

It is itself no oracle: its CDNA3 loses an Inf or NaN in C where the largest exponent is elsewhere, so AMD's FP8 is
compared with a finite C; its AMD NaNs are the host's, so NaNs are compared as NaNs there.
"""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass
from typing import Any

import pytest

from softfloat_ref.oracle.accumulate import ACCUMULATORS, get_accumulator
from softfloat_ref.oracle.accumulate.dots import Operand, run, setting
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.formats import Format, get_format

np = pytest.importorskip("numpy")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch = pytest.importorskip("torch", reason="needs torch: pip install softfloat-ref[peers]")
    pytest.importorskip("mmasim", reason="needs mmasim: pip install softfloat-ref[peers]")

pytestmark = pytest.mark.extra
CASES = 2000


@dataclass(frozen=True)
class Peer:
    """Our accumulator, MMA-Sim's class and its arguments, operand formats and output."""

    acc: str
    module: str
    kind: str
    arch: str
    shape: str
    a: str
    b: str
    out: str = "fp32"
    k: int = 32
    scale: str = ""
    block: int = 32


TYPES = {"fp16": "f16", "bf16": "bf16", "tf32": "tf32", "fp8_e4m3": "e4m3", "fp8_e5m2": "e5m2", "fp32": "f32"}
TYPES |= {"fp6_e3m2": "e3m2", "fp6_e2m3": "e2m3", "fp4_e2m1": "e2m1"}
AMD = {"fp16": "f16", "bf16": "bf16", "tf32": "xf32", "fp8_e4m3fnuz": "fp8", "fp8_e5m2fnuz": "bf8"}


def nv(acc: str, arch: str, shape: str, a: str, b: str, out: str, k: int, kind: str = "MMA") -> Peer:
    d = TYPES[out]
    return Peer(
        acc,
        "nv_ptx",
        kind,
        arch,
        f"{shape}.{d}.{TYPES[a]}.{TYPES[b]}" + (f".{d}" if kind == "MMA" else ""),
        a,
        b,
        out,
        k,
    )


NOT_1K = "fuse(c + pairs(p -> fp32:rne) -> fp32:rne) -> fp32:rne; like=amd-cdna2; step=2"
FP8 = ("fp8_e4m3", "fp8_e5m2")
PEERS = [
    *(nv("nvidia-v100", "Volta", "m8n8k4", "fp16", "fp16", o, 8) for o in ("fp32", "fp16")),
    *(nv("nvidia-t4", "Turing", "m16n8k8", "fp16", "fp16", o, 16) for o in ("fp32", "fp16")),
    *(nv("nvidia-a100", "Ampere", "m16n8k16", "fp16", "fp16", o, 16) for o in ("fp32", "fp16")),
    nv("nvidia-a100", "Ampere", "m16n8k16", "bf16", "bf16", "fp32", 16),
    nv("nvidia-a100", "Ampere", "m16n8k8", "tf32", "tf32", "fp32", 8),
    *(
        nv("nvidia-ada-fp8", "Ada Lovelace", "m16n8k32", a, b, o, 32)
        for a in FP8
        for b in FP8
        for o in ("fp32", "fp16")
    ),
    *(nv("nvidia-h100", "Hopper", "m16n8k16", "fp16", "fp16", o, 32) for o in ("fp32", "fp16")),
    nv("nvidia-h100", "Hopper", "m16n8k16", "bf16", "bf16", "fp32", 16),
    nv("nvidia-h100", "Hopper", "m16n8k8", "tf32", "tf32", "fp32", 16),
    *(nv("nvidia-h100-fp8-wgmma", "Hopper", "m64n8k32", a, a, o, 64, "WGMMA") for a in FP8 for o in ("fp32", "fp16")),
    nv("nvidia-b200", "Blackwell", "m16n8k16", "bf16", "bf16", "fp32", 32),
    *(
        nv("nvidia-b200-fp8", "RTX Blackwell", "m16n8k32.kind::f8f6f4", a, b, o, 32)
        for a, b, o in (("fp8_e4m3", "fp8_e5m2", "fp32"), ("fp8_e5m2", "fp8_e5m2", "fp16"))
    ),
    *(
        Peer("nvidia-b200-fp8", "nv_ptx", "MMABlockScale", "RTX Blackwell", "", a, b, "fp32", 32, "e8m0")
        for a, b in (("fp8_e4m3", "fp8_e4m3"), ("fp8_e5m2", "fp8_e4m3"))
    ),
    Peer("nvidia-b200-fp4", "nv_ptx", "MMABlockScale", "RTX Blackwell", "", "fp4_e2m1", "fp4_e2m1", "fp32", 64, "e8m0"),
    Peer(
        "nvidia-b200-fp4",
        "nv_ptx",
        "MMABlockScale",
        "RTX Blackwell",
        "",
        "fp4_e2m1",
        "fp4_e2m1",
        "fp32",
        64,
        "ue4m3",
        16,
    ),
    Peer("amd-cdna1", "amd", "MFMA", "CDNA1", "f32_32x32x8f16", "fp16", "fp16", "fp32", 8),
    Peer("amd-cdna1", "amd", "MFMA", "CDNA1", "f32_32x32x4bf16", "bf16", "bf16", "fp32", 8),
    Peer("amd-cdna2", "amd", "MFMA", "CDNA2", "f32_32x32x8f16", "fp16", "fp16", "fp32", 8),
    Peer("amd-cdna2", "amd", "MFMA", "CDNA2", "f32_32x32x8bf16_1k", "bf16", "bf16", "fp32", 8),
    Peer(NOT_1K, "amd", "MFMA", "CDNA2", "f32_32x32x4bf16", "bf16", "bf16", "fp32", 8),
    Peer("amd-cdna3", "amd", "MFMA", "CDNA3", "f32_32x32x8_f16", "fp16", "fp16", "fp32", 16),
    Peer("amd-cdna3", "amd", "MFMA", "CDNA3", "f32_32x32x8_bf16", "bf16", "bf16", "fp32", 16),
    Peer("amd-cdna3", "amd", "MFMA", "CDNA3", "f32_16x16x8_xf32", "tf32", "tf32", "fp32", 8),
    *(
        Peer("amd-cdna3-fp8", "amd", "MFMA", "CDNA3", f"f32_16x16x32_{AMD[a]}_{AMD[b]}", a, b, "fp32", 32)
        for a in ("fp8_e4m3fnuz", "fp8_e5m2fnuz")
        for b in ("fp8_e4m3fnuz", "fp8_e5m2fnuz")
    ),
    Peer("fma-chain", "amd", "MFMA", "CDNA3", "f64_16x16x4_f64", "fp64", "fp64", "fp64", 4),
    Peer("fma-chain", "amd", "MFMA", "CDNA3", "f32_16x16x4_f32", "fp32", "fp32", "fp32", 4),
]


def name(x: Peer) -> str:
    return f"{'amd-cdna2-pairs' if x.acc == NOT_1K else x.acc}-{x.a}-{x.b}-{x.out}-{x.scale}".rstrip("-")


# -- cases -----------------------------------------------------------------------------------------------------------


def random_code(fmt: Format, rng: random.Random, narrow: bool, finite: bool, tiny: bool = False) -> int:
    """Any code, or one of a few binades (tiny: so that products are about the exponent that a zero term has)."""
    while True:
        if tiny and fmt.exponent_bits in (5, 8):
            field = rng.randrange(7) if fmt.exponent_bits == 5 else rng.randrange(45, 66)
            code = field << fmt.mantissa_bits | rng.getrandbits(fmt.mantissa_bits) | fmt.sign_bit * rng.getrandbits(1)
        elif narrow and fmt.exponent_bits > 4:
            middle = (1 << (fmt.exponent_bits - 1)) - 1
            code = (middle + rng.randrange(-9, 9)) << fmt.mantissa_bits | rng.getrandbits(fmt.mantissa_bits)
            code |= fmt.sign_bit * rng.getrandbits(1)
        else:
            code = rng.getrandbits(fmt.width)
        special = fmt.is_nan(code) or code & fmt.magnitude_mask == fmt.inf_code
        if not special or (not finite and rng.random() < 0.02):
            return code if rng.random() > 0.1 else 0


@dataclass(frozen=True)
class Cases:
    a: list[list[int]]
    b: list[list[int]]
    c: list[int]
    scales_a: list[list[int]]
    scales_b: list[list[int]]


def cases(peer: Peer) -> Cases:
    rng = random.Random(name(peer))
    a, b, out = (get_format(f) for f in (peer.a, peer.b, peer.out))
    rows: list[tuple[Any, ...]] = []
    for row in range(CASES):
        narrow, finite, tiny = row % 3 > 0, row % 2 > 0, row % 5 == 4
        blocks = peer.k // peer.block if peer.scale else 0
        rows.append(
            (
                [random_code(a, rng, narrow, finite, tiny) for _ in range(peer.k)],
                [random_code(b, rng, narrow, finite, tiny) for _ in range(peer.k)],
                0 if tiny else random_code(out, rng, narrow, finite or "fnuz" in peer.a),
                [scale(peer, rng, narrow, tiny, k) for k in range(blocks)],
                [scale(peer, rng, narrow, tiny, k) for k in range(blocks)],
            )
        )
    return Cases(*(list(column) for column in zip(*rows, strict=True)))


def scale(peer: Peer, rng: random.Random, narrow: bool, tiny: bool, block: int) -> int:
    if peer.scale == "ue4m3":
        return rng.getrandbits(7) if rng.random() < 0.99 else 0x7F
    if tiny:
        return (54 if block == 0 else 40) + rng.randrange(-3, 4)
    return rng.randrange(121, 134) if narrow else rng.getrandbits(8) if rng.random() < 0.1 else rng.randrange(60, 190)


def tensor(codes: Any, fmt: str) -> Any:
    """Codes as MMA-Sim takes them."""
    kinds = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp8_e4m3": torch.float8_e4m3fn}
    kinds |= {"fp8_e5m2": torch.float8_e5m2, "e8m0": torch.float8_e8m0fnu, "ue4m3": torch.float8_e4m3fn}
    kinds |= {"fp8_e4m3fnuz": torch.float8_e4m3fnuz, "fp8_e5m2fnuz": torch.float8_e5m2fnuz}
    kinds |= {"fp32": torch.float32, "tf32": torch.float32, "fp64": torch.float64}
    array = np.array(codes, np.uint64)
    if fmt == "tf32":
        array <<= np.uint64(13)
    if fmt == "fp4_e2m1":  # two a byte, the first in the high nibble
        return torch.from_numpy((array[..., ::2] << np.uint64(4) | array[..., 1::2]).astype(np.uint8))
    kind = kinds[fmt]
    width = torch.empty((), dtype=kind).element_size()
    integer = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}[width]
    unsigned = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[width]
    return torch.from_numpy(array.astype(unsigned).view(integer)).view(kind)


def operation(peer: Peer) -> Any:
    import importlib

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            sim = importlib.import_module(f"mmasim.{peer.module}.sim")
        except (OSError, RuntimeError, ImportError) as e:
            pytest.skip(f"MMA-Sim cannot build its FMA here: {str(e)[:80]}")
    shape = peer.shape
    if peer.kind == "MMABlockScale":
        shape = block_shape(peer)
    return getattr(sim, peer.kind)(peer.arch, shape)


def block_shape(peer: Peer) -> str:
    a, b, scale = TYPES[peer.a], TYPES[peer.b], {"e8m0": "ue8m0", "ue4m3": "ue4m3"}[peer.scale]
    from mmasim.nv_ptx import isa_mma

    found = [
        s
        for s in getattr(isa_mma, "rtx_blackwell_mma_block_scale_shape_and_type", ()) or _all_shapes(isa_mma)
        if f".{a}.{b}." in s and scale in s and f"k{peer.k}" in s
    ]
    assert found, peer
    return found[-1] if peer.block == 16 else found[0]


def _all_shapes(module: Any) -> list[str]:
    return [s for v in vars(module).values() if isinstance(v, list) for s in v if isinstance(s, str) and "scale" in s]


def theirs(peer: Peer, data: Cases) -> list[int]:
    op = operation(peer)
    a, b, c = tensor(data.a, peer.a), tensor(data.b, peer.b), tensor(data.c, peer.out)
    more = [tensor(x, peer.scale) for x in (data.scales_a, data.scales_b)] if peer.scale else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        d = op.dpa(a, b, c, *more)
    integer, unsigned = {"fp16": (torch.int16, np.uint16), "fp32": (torch.int32, np.uint32)}.get(
        peer.out, (torch.int64, np.uint64)
    )
    return [int(x) for x in d.contiguous().view(integer).numpy().view(unsigned)]


def ours(peer: Peer, data: Cases) -> list[int]:
    unit, out = get_accumulator(peer.acc), get_format(peer.out)
    formats = [get_format(f) for f in (peer.a, peer.b)]
    results = []
    for row in range(CASES):
        a, b = (
            vector(f, codes[row], peer, scales[row])
            for f, codes, scales in zip(formats, (data.a, data.b), (data.scales_a, data.scales_b), strict=True)
        )
        results.append(run(setting(a, b, unit, out), a, b, data.c[row]).bits)
    return results


def vector(fmt: Format, codes: list[int], peer: Peer, scales: list[int]) -> Operand:
    if not peer.scale:
        return Operand(fmt, tuple(codes))
    block = BlockFormat("test", fmt, get_format(peer.scale), peer.block)
    return Operand(fmt, tuple(codes), block.scale, tuple(scales), block.size)


@pytest.mark.parametrize("peer", PEERS, ids=name)
def test_agrees(peer: Peer) -> None:
    data, out = cases(peer), get_format(peer.out)
    wrong = []
    for row, (x, y) in enumerate(zip(ours(peer, data), theirs(peer, data), strict=True)):
        nans = out.is_nan(x) and out.is_nan(y) and not peer.acc.startswith("nvidia")
        if x != y and not nans:
            wrong.append(f"row {row}: {out.hex(x)}, MMA-Sim {out.hex(y)}")
    assert not wrong, (len(wrong), wrong[:5])


def test_covers_the_models_taken_from_it() -> None:
    taken = {a.name for a in ACCUMULATORS.values() if "MMA-Sim" in a.source}
    assert taken <= {p.acc for p in PEERS}
