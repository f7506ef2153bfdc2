"""Dot products of exported C libraries: results and flags equal to the oracle's, for each accumulator and format."""

from __future__ import annotations

import ctypes
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from library_blocks import compiled

from softfloat_ref.base.errors import Error
from softfloat_ref.export.library import library_files, library_policy
from softfloat_ref.export.library.blocks import LibraryBlock, library_block
from softfloat_ref.export.library.constants import LibraryFormat
from softfloat_ref.export.library.dots import DotUnit, dot_units
from softfloat_ref.oracle.accumulate import ACCUMULATORS, dot, get_accumulator
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.formats import Format

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")

SANITIZED = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover", "-DCORE_PORTABLE")
SCALARS = ("fp32", "fp16", "bf16", "tf32", "fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz", "fp4_e2m1")
BLOCKS = ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8", "nvfp4")
# Of an exact sum of all products, or with NaNs that are passed on.
REFUSED = {
    "exact": "units of 1 to 512 products in a step, not all",
    "fp32-pairwise": "units of 1 to 512 products in a step, not all",
    "nvidia-fp64": "multiplies fp64 and gives fp64; name these in --fmt, too",
    "x86-vdpbf16ps": "NaN rule propagate",
    "x86-amx-bf16": "NaN rule propagate",
}
FIRST = {"nvidia-h100": ("fp16",), "mx-fp32": ("mxfp8_e4m3",), "fp32-sequential": ("bf16",)}


class Units:
    """The compiled units of an accumulator."""

    def __init__(self, acc: str, names: Sequence[str], folder: Path, texts: dict[str, str] | None = None) -> None:
        self.accumulator, policy = get_accumulator(acc), library_policy({})
        named = [any_format(x) for x in names]
        formats = [LibraryFormat(x) for x in named if isinstance(x, Format)]
        blocks = [library_block(x, None, policy) for x in named if isinstance(x, BlockFormat)]
        self.units = list(dot_units([self.accumulator], formats, blocks, ""))
        texts = texts or library_files(named, policy, accumulators=[self.accumulator])
        sources = [name for name in texts if name.startswith("dot_")]
        self.loaded = compiled(texts, sources, folder, *SANITIZED)
        self.flags = ctypes.c_uint8.in_dll(self.loaded, "softfloat_exceptionFlags")

    def __call__(self, unit: DotUnit, c: int, *arrays: Sequence[int]) -> tuple[int, int]:
        """arrays: codes, or scales and codes, of a and b."""
        width = unit.out.storage
        widths = [unit.fmt.width] * 2
        if unit.block:
            widths = [unit.block.scale.storage, unit.fmt.width] * 2
        passed = [
            np.array(x, f"u{max(1, LibraryFormat(unit.fmt).storage // 8 if w == unit.fmt.width else w // 8)}")
            for x, w in zip(arrays, widths, strict=True)
        ]
        function = getattr(self.loaded, unit.name)
        function.restype = ctypes.c_uint32
        self.flags.value = 0
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in passed]
        code = function(ctypes.c_size_t(len(arrays[-1])), *pointers, ctypes.c_uint32(c))
        return code & ((1 << width) - 1), self.flags.value


def near(fmt: Format, rng: random.Random, spread: int, top: int) -> int:
    """A code with an exponent at most `spread` below one, or any."""
    if rng.random() < 0.1 or fmt.twos_complement:
        return rng.getrandbits(fmt.width)
    field = max(0, min(top - rng.randint(0, spread), (1 << fmt.exponent_bits) - 1))
    bits = rng.getrandbits(fmt.mantissa_bits) & (
        (1 << fmt.mantissa_bits) - 1 << rng.choice((0, 0, fmt.mantissa_bits - 1))
    )
    code = field << fmt.mantissa_bits | bits & ((1 << fmt.mantissa_bits) - 1)
    code = code if code <= fmt.max_code or rng.random() < 0.02 else fmt.max_code
    return code | rng.choice((0, fmt.sign_bit))


def vectors(unit: DotUnit, count: int, seed: int = 1) -> Any:
    """Operands of close and of distant exponents, cancelling pairs, zeros, special values, tiny products; c beside
    them."""
    rng, fmt, out = random.Random(seed), unit.fmt, unit.out.fmt
    for k in range(count):
        n = rng.choice((1, 2, unit.step, rng.randint(1, 2 * unit.step + 1)))
        spread, top = rng.choice((1, 4, 12, 40)), rng.randint(0, (1 << fmt.exponent_bits) - 1)
        other = top if rng.random() < 0.3 else max(0, 2 * fmt.bias - top)
        tiny = k % 6 == 1
        if tiny:  # products about the smallest normal result
            at = out.emin + rng.randint(-24, 6)
            spread, top, other = 2, fmt.bias + at // 2, fmt.bias + at - at // 2
        a = [near(fmt, rng, spread, top) for _ in range(n)]
        b = [near(fmt, rng, spread, other) for _ in range(n)]
        if k % 3 == 0:
            a[n // 2 :], b[n // 2 :] = a[: n - n // 2], b[: n - n // 2]
            a[n // 2 :] = [x ^ fmt.sign_bit if rng.random() < 0.8 else x for x in a[n // 2 :]]
        if k % 4:  # without Inf and NaN
            a, b = (
                [fmt.max_code if fmt.is_nan(x) or x & fmt.magnitude_mask == fmt.inf_code else x for x in y]
                for y in (a, b)
            )
        c = 0 if k % 5 == 0 else near(out, rng, 30, out.bias + rng.randint(-30, 30))
        c = c & (out.min_normal_code * 2 - 1 | out.sign_bit) if tiny else c
        yield a, b, c


def scales_of(unit: DotUnit, n: int, rng: random.Random) -> list[int]:
    block = unit.block
    assert block
    scale = block.block.scale
    middle = scale.bias << scale.mantissa_bits
    near_one = [max(0, min(scale.max_code, middle + rng.randint(-20, 20))) for _ in range(-(-n // block.size))]
    return [rng.getrandbits(scale.width) if rng.random() < 0.05 else x for x in near_one]


def check(units: Units, unit: DotUnit, count: int) -> None:
    rng, acc, out = random.Random(2), units.accumulator, unit.out.fmt
    for a, b, c in vectors(unit, count):
        if isinstance(unit.operand, LibraryBlock):
            scales = [scales_of(unit, len(a), rng) for _ in "ab"]
            tensors = (1.0, 1.0) if unit.operand.has_tensor_scale else None
            expected = dot(a, b, unit.operand.block, c, acc, out, scales=(scales[0], scales[1]), tensor_scales=tensors)
            got = units(unit, c, scales[0], a, scales[1], b)
        else:
            expected = dot(a, b, unit.fmt, c, acc, out)
            got = units(unit, c, a, b)
        shown = ([f"{x:x}" for x in a], [f"{x:x}" for x in b], f"{c:x}")
        assert got == (expected.bits, int(expected.flags)), (unit.name, shown)


@pytest.mark.parametrize("acc", list(FIRST))
def test_usual_units(acc: str, tmp_path: Path) -> None:
    units = Units(acc, ("fp32", *FIRST[acc]), tmp_path)
    for unit in units.units:
        check(units, unit, 60)


@pytest.mark.full(gate=10)
@pytest.mark.parametrize("acc", [x for x in ACCUMULATORS if x not in REFUSED])
def test_named_units(acc: str, tmp_path: Path) -> None:
    accumulator = get_accumulator(acc)
    names = SCALARS if accumulator.formats else ("fp32", "fp16", "fp8_e5m2")
    others = [x for x in accumulator.results if x not in (*names, "out")]
    units = Units(acc, (*names, *others, *BLOCKS), tmp_path)
    for unit in units.units:
        check(units, unit, 60)


def texts(acc: str, *names: str) -> dict[str, str]:
    return library_files([any_format(x) for x in names], library_policy({}), accumulators=[get_accumulator(acc)])


@pytest.mark.parametrize(
    ("acc", "names", "message"),
    [
        *((acc, ("fp32", "bf16"), message) for acc, message in REFUSED.items()),
        ("nvidia-h100", ("fp32", "fp8_e4m3"), "nvidia-h100 multiplies fp16, bf16, tf32 and gives fp32 or fp16"),
        ("nvidia-h100", ("bf16",), "name these in --fmt, too"),
        ("fuse(p + c, F=60, rz) -> fp32:rz; step = 4", ("fp32",), "an aligned sum of more than 4 parts or 40 bits"),
        ("fuse(fuse(p) + fuse(p) + c) -> fp32:rne; step = 4", ("fp32",), "an exact sum of exact sums of a wide range"),
        ("fuse(p + c) -> fp32:rne; step = 4", ("fp32", "mxfp8"), "an exact sum of scaled products and other terms"),
        ("fuse(fuse(p) -> fp32:rne + c) -> fp32:rne; step = 64", ("fp32", "mxfp8"), "products under several scales"),
        ("fuse(p[0:4] + p[8:] + c) -> fp32:rne; step = 8", ("fp32",), "a slice without products"),
        ("fuse(p + c) -> fp32:rnu; step = 2", ("fp32",), "rounding rnu"),
    ],
)
def test_what_a_library_cannot_have_is_refused(acc: str, names: tuple[str, ...], message: str) -> None:
    with pytest.raises(Error, match=message):
        texts(acc, *names)


@pytest.mark.full(keep=1, gate=2)
@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("dot_nvidia_h100.c", ".bits = {25}", ".bits = {26}"),
        ("dot_nvidia_h100.c", ".floor = -133", ".floor = -120"),
        ("dot_nvidia_h100.c", ".mode = {1, 0}", ".mode = {0, 0}"),
        ("core_dot.h", "kept = s > 63 ? 0 : t.sig >> s", "kept = s > 62 ? 0 : (t.sig >> s) + 1"),
    ],
)
def test_a_wrong_constant_is_seen(name: str, right: str, wrong: str, tmp_path: Path) -> None:
    files = texts("nvidia-h100", "fp32", "bf16")
    assert right in files[name]
    units = Units("nvidia-h100", ("fp32", "bf16"), tmp_path, files | {name: files[name].replace(right, wrong, 1)})
    with pytest.raises(AssertionError, match="bf16_dot_nvidia_h100_f32"):
        check(units, units.units[0], 1000)
