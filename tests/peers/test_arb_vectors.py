"""Functions of vectors against Arb: lanes of small formats exhaustively, samples of others, and hard spreads."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import pytest

from softfloat_ref.golden.cases import random_cases
from softfloat_ref.oracle.codec import decode, encode
from softfloat_ref.oracle.literals import parse_number
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.vector_functions import VECTOR_FUNCTIONS
from softfloat_ref.units import Line, VectorUnit

pytestmark = pytest.mark.extra("flint")
POLICIES = ("rne", "rtz", "rup", "rdn", "rna")


def compared(unit: VectorUnit, cases: Iterable[Sequence[int]]) -> int:
    """The lanes that Arb confirms; every one must be right, and each result that lane's, rounded by the definition."""
    from compare_arb import Definition
    from vector_balls import wrong_lanes

    right, definition = 0, Definition(unit.out, unit.policy)
    for inputs in cases:
        count, wrong = wrong_lanes(unit, inputs, decode)
        assert not wrong, [f"{x:x}" for x in inputs]
        right += count
        lanes = [definition(value, 0) if value.is_finite else None for value, _ in unit.unrounded(inputs)]
        codes = unit.answer(inputs)
        assert all(x is None or x[0] == code for x, code in zip(lanes, codes, strict=False))
        if None not in lanes:
            flags = {f for x in lanes if x for f in (1, 2, 4) if x[1] & f}
            assert codes[-1] & 7 == sum(flags)
    return right


@pytest.mark.parametrize("op", [name for name, row in VECTOR_FUNCTIONS.items() if not row.has_depth])
@pytest.mark.parametrize(("fmt", "length"), [("fp4_e2m1", 2), ("fp6_e3m2", 2), ("fp4_e2m1", 3)])
def test_small_formats(op: str, fmt: str, length: int) -> None:
    """Every pair of lanes of fp4 in five roundings; of the others, every case in one of them."""
    plain = VECTOR_FUNCTIONS[op].has("affine")
    for turn, rounding in enumerate(POLICIES):
        unit = VectorUnit.make(op, fmt, out="fp8_e4m3", policy=Policy(rounding), length=length, plain=plain)
        every = itertools.product(range(1 << unit.formats[0].width), repeat=length)
        step = 1 if (fmt, length) == ("fp4_e2m1", 2) else 5
        assert compared(unit, itertools.islice(every, turn % step, None, step)) > 400


@pytest.mark.parametrize("op", VECTOR_FUNCTIONS)
@pytest.mark.parametrize(("fmt", "out"), [("fp8_e5m2", "bf16"), ("bf16", "bf16"), ("fp32", "fp32"), ("fp64", "fp16")])
def test_samples(op: str, fmt: str, out: str) -> None:
    row = VECTOR_FUNCTIONS[op]
    for masked in (False, True) if row.has("mask") else (False,):
        unit = VectorUnit.make(op, fmt, out=out, length=5, masked=masked, **({"depth": 2} if row.has_depth else {}))
        formats = [f for f in unit.input_formats if f is not None]
        cases = random_cases(formats, 3, 60)
        assert compared(unit, (finite(unit, case) for case in cases)) >= 200


def finite(unit: VectorUnit, case: Sequence[int]) -> Line:
    """The case with numbers for NaN and infinities, and a number of lanes that there are."""
    found = [
        f.max_code if f.is_integer is False and not decode(x, f).is_finite else x
        for x, f in zip(case, unit.input_formats, strict=True)
        if f is not None
    ]
    return (*found[:-1], 1 + found[-1] % unit.length) if unit.masked else tuple(found)


SPREADS = ("0", "-0x1p-1074", "-1e-300", "-1", "-745", "-1e4", "-1e300", "1e300", "1e-300")


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_spreads(op: str) -> None:
    """Lanes that all but coincide, and lanes whose share vanishes."""
    codes = [encode(parse_number(x), "fp64").bits for x in SPREADS]
    for rounding in ("rne", "rtz", "rup"):
        unit = VectorUnit.make(op, "fp64", out="fp32", length=3, policy=Policy(rounding))
        assert compared(unit, itertools.product(codes, repeat=3)) == 3 * len(codes) ** 3
