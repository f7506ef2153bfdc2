"""Results rounded in another way: ties by too few bits, short carries, rounding twice, faults in a part of a binade."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from diagnosing import diagnosis, names
from faulty_rounding import Rounder, cut, device, nearest

from softfloat_ref.diagnosis.hypotheses import Inputs, Output
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import FINITE, NAN, Value
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.units import OperationUnit

MUL = VectorSet.make("mul", "fp16", 1200)
ADD = VectorSet.make("add", "fp32", 1200)
TO_BF16 = VectorSet.make("convert", "fp32", 1200, out="bf16")


def of(vectors: VectorSet) -> OperationUnit:
    assert isinstance(vectors.unit, OperationUnit)
    return vectors.unit


def unit_of(x: Value, fmt: Format) -> int:
    """The exponent of the last bit of a result."""
    return max(exact.top(x), fmt.emin) - fmt.mantissa_bits


def is_up(x: Value, code: int, fmt: Format) -> bool:
    """Whether a result was rounded up; also to infinity, the code after the largest."""
    kept, _, _ = cut(x, unit_of(x, fmt))
    overflows = exact.top(x) > fmt.emax
    return not overflows and (code ^ kept) & 1 == 1


def few_sticky_bits(bits: int, fmt: Format) -> Rounder:
    """Remainders from a half up to a half and 2^-bits of an even number are taken for ties."""

    def rounded(x: Value, code: int, flags: int) -> tuple[int, int]:
        unit = unit_of(x, fmt)
        _, _, rest = cut(x, unit)
        wide, half, _ = cut(x, unit - bits - 1)
        tie = wide & (2 << bits) - 1 == 1 << bits
        down = tie and (rest or half) and not wide >> bits + 1 & 1 and is_up(x, code, fmt)
        return code - down, flags

    return rounded


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("vectors", [MUL, ADD, TO_BF16], ids=lambda v: v.unit.name)
@pytest.mark.parametrize("bits", [1, 2, 4])
def test_ties_by_few_bits(vectors: VectorSet, bits: int) -> None:
    unit = of(vectors)
    d = diagnosis(vectors, device(unit, change=few_sticky_bits(bits, unit.out)))
    assert d.complete
    assert any(name.startswith(f"sticky of {bits} bits, inexact kept") for name in names(d))


def short_carry(bits: int, lost: bool, fmt: Format) -> Rounder:
    """An increment that would carry beyond some low bits is dropped, or only loses that carry."""
    mask = (1 << bits) - 1

    def rounded(x: Value, code: int, flags: int) -> tuple[int, int]:
        if code & mask or not is_up(x, code, fmt):
            return code, flags
        return code - (mask + 1 if lost else 1), flags

    return rounded


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("vectors", "bits"),
    [(MUL, 1), (MUL, 4), (MUL, 7), (ADD, 2), (ADD, 8), (TO_BF16, 3)],
    ids=lambda x: str(x) if isinstance(x, int) else x.unit.name,
)
@pytest.mark.parametrize("lost", [False, True])
def test_a_short_carry_chain(vectors: VectorSet, bits: int, lost: bool) -> None:
    """A short, a middle and a long one in a product; in a sum and a conversion."""
    unit = of(vectors)
    d = diagnosis(vectors, device(unit, change=short_carry(bits, lost, unit.out)))
    assert d.complete
    name = f"carry lost after {bits} bits" if lost else f"increment dropped after {bits} ones"
    assert {name, f"{name}, flags kept"} & set(names(d))


# -- twice -------------------------------------------------------------------------------------------------------------


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("out", ["fp8_e4m3", "fp8_e5m2"])
@pytest.mark.parametrize("first", ["rtz", "rna", "rup", "rdn", "rne"])
@pytest.mark.parametrize("name", ["fp16", "bf16"])
def test_a_conversion_through_a_wider_format(out: str, first: str, name: str) -> None:
    vectors = VectorSet.make("convert", "fp32", 1500, out=out)
    between = encoder(CATALOGUE[name], Policy().replace(rounding=first)), decoder(CATALOGUE[name])
    last, read = encoder(of(vectors).out, of(vectors).policy), decoder(CATALOGUE["fp32"])

    def model(inputs: Inputs) -> Output:
        x = read(inputs[0])
        if x.kind != FINITE:
            return tuple(vectors.unit.answer(inputs))
        code, flags = between[0](x, 0)
        result, more = last(between[1](code), 0)
        return result, flags | more

    d = diagnosis(vectors, model)
    assert d.complete
    # Ties seldom tell rne from rna, and a wider format from as many bits.
    known = {f"double rounding via {name}", f"double rounding via {name}, first {first}"}
    assert known & set(names(d))
    assert first in ("rne", "rna") or names(d)[0] == f"double rounding via {name}, first {first}"


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    "vectors",
    [MUL, VectorSet.make("div", "bf16", 1500), VectorSet.make("fma", "fp16", 2000)],
    ids=lambda v: v.unit.name,
)
@pytest.mark.parametrize("then_cut", [False, True])
def test_subnormal_results_rounded_at_full_precision_first(vectors: VectorSet, then_cut: bool) -> None:
    unit = of(vectors)
    fmt = unit.out

    def rounded(x: Value, code: int, flags: int) -> tuple[int, int]:
        if exact.top(x) >= fmt.emin:
            return code, flags
        first = exact.finite(0, nearest(x, exact.top(x) - fmt.mantissa_bits), exact.top(x) - fmt.mantissa_bits)
        last = fmt.emin - fmt.mantissa_bits
        kept = cut(first, last)[0] if then_cut else nearest(first, last)
        return code & fmt.sign_bit | kept, flags

    d = diagnosis(vectors, device(unit, change=rounded))
    assert d.complete
    assert f"subnormal results {'rounded, then cut' if then_cut else 'rounded twice'}, flags kept" in names(d)


# -- a part of a binade ------------------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize(
    ("out", "band", "code"), [("fp8_e5m2", (61440, 65536), 0x7F), ("fp8_e4m3", (480, 496), 0x7E)], ids=["e5m2", "e4m3"]
)
def test_a_cast_with_a_wrong_band_and_a_nan_of_its_own(out: str, band: tuple[int, int], code: int) -> None:
    """As a library's casts without saturation: NaN is 7f with the operand's sign, and near the end of the range is a
    band with one result."""
    vectors = VectorSet.make("convert", "fp32", 3000, out=out, policy={"overflow": "sat-none"})
    read: Callable[[int], Value] = decoder(CATALOGUE["fp32"])

    def model(inputs: Inputs) -> Output:
        x, (right, flags) = read(inputs[0]), vectors.unit.answer(inputs)
        if x.kind == NAN:
            return 0x7F | x.sign << 7, flags
        inside = x.kind == FINITE and Fraction(band[0]) <= abs(x.as_fraction()) < band[1]
        return (code | x.sign << 7 if inside else right), flags

    d = diagnosis(vectors, model)
    assert d.several is not None
    assert d.several.explained == d.examined
    where = f"where the magnitude of the operand is {band[0]}.0 to {band[1] - 1}."
    assert any(where in f.hypothesis.description for f in d.several.faults)
