"""numpy's own float16, float32 and float64, the processor's arithmetic under numpy's loops: codes, to nearest even.

A NaN is compared as a NaN: which one comes out is the processor's affair (test_cpu.py). numpy rounds float16
arithmetic from float32, which has more than 2 * 11 + 1 bits, so that it is correctly rounded.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import volume

from softfloat_ref.golden.cases import crossed, random_cases
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.operations import evaluator, signature
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding import Rounding

CASES = volume.cases(25_000, 50_000)  # per operation and format
FLOATS = ("fp16", "fp32", "fp64")
INTEGERS = ("i32", "i64")
DTYPES = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64, "i32": np.int32, "i64": np.int64}
WORDS = {16: np.uint16, 32: np.uint32, 64: np.uint64}

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Array]
Cases = Sequence[tuple[int, ...]]

ARITHMETIC: dict[str, tuple[int, Function]] = {
    "add": (2, np.add),
    "sub": (2, np.subtract),
    "mul": (2, np.multiply),
    "div": (2, np.divide),
    "sqrt": (1, np.sqrt),
    "next_up": (1, lambda x: np.nextafter(x, x.dtype.type(np.inf))),
    "next_down": (1, lambda x: np.nextafter(x, x.dtype.type(-np.inf))),
    "neg": (1, np.negative),
    "abs": (1, np.absolute),
    "copysign": (2, np.copysign),
}
COMPARISONS: dict[str, Function] = {
    "eq": np.equal,
    "lt": np.less,
    "le": np.less_equal,
    "lt_quiet": np.less,
    "le_quiet": np.less_equal,
    "unordered": lambda x, y: np.isnan(x) | np.isnan(y),
}


def operands(formats: tuple[Format, ...]) -> list[tuple[int, ...]]:
    """All special codes crossed, then random ones."""
    special = list(crossed(formats))
    return [*special, *random_cases(formats, 1, max(CASES - len(special), CASES // 2))]


def near_ties(source: Format, out: Format) -> list[tuple[int, ...]]:
    """For a conversion to fewer bits: values of the narrow format, the midpoints above them, and their neighbours."""
    with np.errstate(all="ignore"):
        low = as_numpy([code for (code,) in random_cases((out,), 2, CASES // 6)], out)
        wide, above = (x.astype(DTYPES[source.name]) for x in (low, np.nextafter(low, low.dtype.type(np.inf))))
        points = np.concatenate([wide, wide + (above - wide) / 2])
        return list(zip(as_codes(np.concatenate([points, *(np.nextafter(points, d * np.inf) for d in (1, -1))]))))


def in_range(source: Format, out: Format) -> list[tuple[int, ...]]:
    """For a conversion to an integer: random significands, with exponents from -3 to the largest that fits."""
    rng = np.random.default_rng(3)
    exponents = rng.integers(-3, min(out.width - 1, source.emax + 1), CASES) + source.bias
    bits = rng.integers(0, 1 << 64, CASES, np.uint64).tolist()
    keep = source.sign_bit | (1 << source.mantissa_bits) - 1
    return [(b & keep | e << source.mantissa_bits,) for b, e in zip(bits, exponents.tolist(), strict=True)]


def as_numpy(codes: Sequence[int], fmt: Format) -> Array:
    return np.array(codes, WORDS[fmt.width]).view(DTYPES[fmt.name])


def as_codes(x: Array) -> list[int]:
    return [int(code) for code in x.view(WORDS[8 * x.itemsize]).tolist()]


def check(
    op: str,
    formats: tuple[str, ...],
    out: str | None,
    function: Function,
    *,
    policy: Policy | None = None,
    more: Cases = (),
) -> None:
    """Every case through numpy, in one call, and through the oracle. Where that says invalid, numpy's integer is the
    processor's, and left out."""
    sig = signature(op, formats, out)
    run = evaluator(sig, policy or Policy())
    cases = [*operands(sig.formats), *more]
    with np.errstate(all="ignore"):
        arrays = [as_numpy(codes, f) for codes, f in zip(zip(*cases, strict=True), sig.formats, strict=True)]
        result = function(*arrays)
    theirs = [int(x) for x in result.tolist()] if result.dtype == bool else as_codes(result)
    left_out = 0
    for case, expected in zip(cases, theirs, strict=True):
        got, flags = run(case, 0)
        if op == "convert" and sig.out.is_integer and flags & 0x10:
            left_out += 1
        elif got != expected:
            assert sig.out.is_nan(got), (op, formats, out, case, got, expected)
            assert sig.out.is_nan(expected), (op, formats, out, case, got, expected)
    assert len(cases) - left_out >= CASES


@pytest.mark.full(keep=5)
@pytest.mark.parametrize("fmt", FLOATS)
@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic(op: str, fmt: str) -> None:
    arity, function = ARITHMETIC[op]
    check(op, (fmt,) * arity, None, function)


@pytest.mark.full(keep=3)
@pytest.mark.parametrize("fmt", FLOATS)
@pytest.mark.parametrize("op", COMPARISONS)
def test_comparison(op: str, fmt: str) -> None:
    check(op, (fmt, fmt), None, COMPARISONS[op])


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("source", "out"),
    [
        *itertools.permutations(FLOATS, 2),
        *itertools.product(FLOATS, INTEGERS),
        *itertools.product(INTEGERS, FLOATS),
    ],
)
def test_conversion(source: str, out: str) -> None:
    """To an integer, numpy cuts as C does: toward zero."""
    policy = Policy(rounding=Rounding.RTZ if out in INTEGERS else Rounding.RNE)
    source_format, out_format = get_format(source), get_format(out)
    more: Cases = ()
    if out in INTEGERS:
        more = in_range(source_format, out_format)
    elif source in FLOATS and source_format.width > out_format.width:
        more = near_ties(source_format, out_format)
    check("convert", (source,), out, lambda x: x.astype(DTYPES[out]), policy=policy, more=more)


def test_formats_have_numpys_widths() -> None:
    assert all(get_format(name).width == 8 * np.dtype(t).itemsize for name, t in DTYPES.items())
