"""Every operation that Berkeley SoftFloat has, against it: results and flags, its five roundings, both tininess rules.

softfloatpy is SoftFloat 3e built with the RISC-V specialization: canonical NaNs, RISC-V's integer results.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable

import pytest

from softfloat_ref.golden.cases import crossed, random_cases
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import evaluator, signature
from softfloat_ref.oracle.policies import Policy

soft = pytest.importorskip("softfloatpy")

CASES = int(os.environ.get("SOFTFLOAT_CASES", "6000"))  # per operation, over the ten combinations of modes

ROUNDINGS = {
    "rne": soft.RoundingMode.NEAR_EVEN,
    "rtz": soft.RoundingMode.MIN_MAG,
    "rdn": soft.RoundingMode.MIN,
    "rup": soft.RoundingMode.MAX,
    "rna": soft.RoundingMode.NEAR_MAX_MAG,
}
TININESS = {"before": soft.TininessMode.BEFORE_ROUNDING, "after": soft.TininessMode.AFTER_ROUNDING}
TYPES = {
    "fp16": ("f16", soft.Float16),
    "fp32": ("f32", soft.Float32),
    "fp64": ("f64", soft.Float64),
    "fp128": ("f128", soft.Float128),
    "bf16": ("bf16", soft.BFloat16),
    "i32": ("i32", soft.Int32),
    "u32": ("ui32", soft.UInt32),
    "i64": ("i64", soft.Int64),
    "u64": ("ui64", soft.UInt64),
}
FLOATS = ("fp16", "fp32", "fp64", "fp128")
BINARY = ("add", "sub", "mul", "div", "rem", "eq", "le", "lt", "eq_signaling", "le_quiet", "lt_quiet")
NAMES = {"fma": "mul_add", "round_to_integral_exact": "round_to_int", "round_to_integral": "round_to_int"}

OPERATIONS = [
    *((op, (f, f), f) for f in FLOATS for op in BINARY),
    *(("fma", (f, f, f), f) for f in FLOATS),
    *((op, (f,), f) for f in FLOATS for op in ("sqrt", "round_to_integral", "round_to_integral_exact")),
    *(("convert", (a,), b) for a, b in itertools.permutations(FLOATS, 2)),
    *(("convert", (f,), i) for f in FLOATS for i in ("i32", "u32", "i64", "u64")),
    *(("convert", (i,), f) for f in FLOATS for i in ("i32", "u32", "i64", "u64")),
    ("convert", ("fp32",), "bf16"),
    ("convert", ("bf16",), "fp32"),
]


def reference(op: str, operands: tuple[str, ...], out: str) -> Callable[..., object]:
    prefix = TYPES[operands[0]][0]
    if op == "convert":
        function = getattr(soft, f"{prefix}_to_{TYPES[out][0]}")
        return (lambda x: function(x, None, True)) if out[0] in "iu" else function
    function = getattr(soft, f"{prefix}_{NAMES.get(op, op)}")
    if op.startswith("round"):
        return lambda x: function(x, None, op.endswith("exact"))
    return function


def result_bits(result: object) -> int:
    return int(result) if isinstance(result, bool) else int.from_bytes(result.to_bytes(), "big")


@pytest.mark.full(keep=8)
@pytest.mark.parametrize(("op", "operands", "out"), OPERATIONS, ids=lambda x: x if isinstance(x, str) else "-".join(x))
def test_agrees_with_softfloat(op: str, operands: tuple[str, ...], out: str) -> None:
    sig = signature(op, operands, None if op in BINARY[5:] else out)
    function = reference(op, operands, out)
    makers = [TYPES[f][1].from_bytes for f in operands]
    sizes = [get_format(f).width // 8 for f in operands]
    share = CASES // 10
    compared = 0
    for (rounding, mode), (tininess, tiny), number in zip(*_combinations(), range(10), strict=True):
        soft.set_rounding_mode(mode)
        soft.set_tininess_mode(tiny)
        run = evaluator(sig, Policy(rounding=rounding, tininess=tininess))
        directed = itertools.islice(crossed(sig.formats), number % 5, share // 2 * 5, 5)  # a fifth for each rounding
        for case in itertools.chain(directed, random_cases(sig.formats, number, share)):
            arguments = [make(x.to_bytes(n, "big")) for make, x, n in zip(makers, case, sizes, strict=True)]
            soft.set_exception_flags(0)
            expected = result_bits(function(*arguments)), int(soft.get_exception_flags())
            assert run(case, 0) == expected, [op, operands, out, rounding, tininess, *map(hex, case), expected]
            compared += 1
    assert compared >= share * 10


def _combinations() -> tuple[list[tuple[str, object]], list[tuple[str, object]]]:
    pairs = list(itertools.product(ROUNDINGS.items(), TININESS.items()))
    return [r for r, _ in pairs], [t for _, t in pairs]


def test_fma_of_zero_times_infinity_and_quiet_nan_is_invalid() -> None:
    """The corner IEEE 754 7.2 c leaves open: SoftFloat and RISC-V raise invalid, and so does this project."""
    run = evaluator(signature("fma", "fp16"), Policy())
    assert run((0x0000, 0x7C00, 0x7E33), 0) == (0x7E00, 0x10)
    assert run((0x7C00, 0x8000, 0xFE00), 0) == (0x7E00, 0x10)
