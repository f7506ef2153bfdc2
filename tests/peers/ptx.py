"""The instructions of NVIDIA GPUs captured in vectors/captures, as operations here."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref import array_ops, get_policy
from softfloat_ref.oracle.formats import Format, get_format

CAPTURES: Final = Path(__file__).parents[2] / "vectors" / "captures"
NAMES: Final = {"e4m3": "fp8_e4m3", "e5m2": "fp8_e5m2", "f16": "fp16", "f32": "fp32", "f64": "fp64"}
ROUNDINGS: Final = {"rn": "rne", "rz": "rtz", "rm": "rdn", "rp": "rup", "rna": "rna"}
OPERATIONS: Final = {"rcp": "recip", "cvt": "convert"}
Codes = NDArray[np.uint64]


def format_of(kind: str) -> Format:
    """The format of a PTX type: that of each half of f16x2, and i32 for s32."""
    base = kind.removesuffix("x2")
    if base[1:].isdigit() and base[0] in "su":
        return get_format(("i" if base[0] == "s" else "u") + base[1:])
    return get_format(NAMES.get(base, base))


def is_approximation(name: str) -> bool:
    """Whether an instruction's result is not that of an operation, rounded."""
    return ".approx" in name or ".full" in name


def expected(name: str, operands: list[NDArray[Any]]) -> Codes:
    """What its registers hold after an instruction, for the codes of its operands."""
    words = name.split(".")
    source = format_of(words[-1])
    to = format_of(words[-2]) if words[0] == "cvt" else source
    integral = words[1].removesuffix("i") in ROUNDINGS and words[1].endswith("i")
    rounding = words[1].removesuffix("i") if integral else words[1]
    policy = get_policy("ptx-fp64" if "fp64" in (source.name, to.name) else "ptx")
    policy = policy.replace(rounding=ROUNDINGS.get(rounding, "rne"))
    if "ftz" in words:
        policy = policy.replace(flush_inputs=True, flush_outputs=True)
    if words[0] == "div" and source.name == "fp64":  # a routine, which looks at the first operand first
        policy = policy.replace(nan="propagate,negative")
    op = OPERATIONS.get(words[0], words[0])
    if words[0] in ("min", "max"):
        op = {"min": "minimum", "max": "maximum"}[op] + ("" if "NaN" in words else "_number")
    if integral and source == to:
        op = "round_to_integral"
    codes = [np.asarray(x).astype(np.uint64) for x in operands]
    if "xorsign" in words:
        signs = codes[0] ^ codes[1] & np.uint64(source.sign_bit)
        codes = [x & np.uint64(source.magnitude_mask) for x in codes]
    found = np.asarray(array_ops.evaluate(op, codes, source, to, policy)).astype(np.uint64)
    if "relu" in words:
        found[_negative(found, to)] = 0
    if "sat" in words:
        one = np.uint64(to.bias << to.mantissa_bits)
        found[_negative(found, to) | _nan(found, to)] = 0
        found = np.minimum(found, one)
    if "xorsign" in words:
        number = ~_nan(found, to)
        found[number] |= signs[number] & np.uint64(to.sign_bit)
    return found << np.uint64(13) if to.name == "tf32" else found


def _nan(codes: Codes, fmt: Format) -> NDArray[np.bool_]:
    return (codes & np.uint64(fmt.magnitude_mask)) > (fmt.inf_code if fmt.infinity else fmt.max_code)


def _negative(codes: Codes, fmt: Format) -> NDArray[np.bool_]:
    return (codes & np.uint64(fmt.sign_bit) != 0) & ~_nan(codes, fmt)
