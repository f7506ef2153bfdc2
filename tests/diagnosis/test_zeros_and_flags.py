"""Signs of zeros, flags and subnormal results that are wrong where only some bits decide, as in serial circuits.

Chosen: each wrong sign with each way in which a zero comes about; overflows and flushed results whose kept bits are
exact; shifters of several widths, in several formats.
"""

from __future__ import annotations

import pytest
from diagnosing import diagnosis, names
from faulty_rounding import device

from softfloat_ref.diagnosis.hypotheses import Inputs, Output
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import encoder
from softfloat_ref.oracle.exact import Value

MUL = VectorSet.make("mul", "fp16", 1000)
TO_FP16 = VectorSet.make("convert", "fp32", 1000, out="fp16")
TO_E4M3 = VectorSet.make("convert", "fp32", 1000, out="fp8_e4m3")
BF16 = VectorSet.make("mul", "bf16", 2000)
FLUSHED = VectorSet.make("mul", "fp16", 1000, policy={"flush_outputs": True})
SIGNS = {"zero without sign": lambda s: 0, "zero negative": lambda s: 1, "zero of the other sign": lambda s: 1 - s}


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("vectors", [MUL, TO_FP16], ids=["mul", "convert"])
@pytest.mark.parametrize("inexact", [0, 1])
@pytest.mark.parametrize("name", SIGNS)
def test_signs_of_some_zeros(vectors: VectorSet, inexact: int, name: str) -> None:
    def model(inputs: Inputs) -> Output:
        code, flags = vectors.unit.answer(tuple(inputs))
        wrong = not code & 0x7FFF and flags & 1 == inexact
        return (SIGNS[name](code >> 15) << 15 if wrong else code), flags

    result = diagnosis(vectors, model)
    assert result.complete
    assert names(result) == [f"{'inexact' if inexact else 'exact'} {name}"]


@pytest.mark.full
@pytest.mark.parametrize("vectors", [MUL, TO_E4M3, BF16, FLUSHED], ids=["mul", "e4m3", "bf16", "flushed"])
def test_inexact_of_discarded_bits_only(vectors: VectorSet) -> None:
    """Overflows and flushed results of a few kept bits raise no inexact."""
    fmt = vectors.unit.out

    def change(x: Value, code: int, flags: int) -> tuple[int, int]:
        tiny = vectors.unit.policy.flush_outputs and exact.top(x) < fmt.emin
        if flags & 4 or tiny:
            unit = (fmt.emin if tiny else exact.top(x)) - fmt.mantissa_bits
            lossy = x.exponent < unit and x.significand & (1 << unit - x.exponent) - 1 > 0
            return code, flags & ~1 | int(lossy)
        return code, flags

    result = diagnosis(vectors, device(vectors.unit, change=change))
    assert result.complete
    assert "inexact only of discarded bits" in names(result)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(("vectors", "places"), [(MUL, 11), (MUL, 6), (MUL, 10), (TO_FP16, 9), (BF16, 7), (BF16, 8)])
def test_bits_lost_by_a_long_shift(vectors: VectorSet, places: int) -> None:
    """Subnormal results are shifted in a register that has so many places below the last bit."""
    fmt = vectors.unit.out

    def change(x: Value, code: int, flags: int) -> tuple[int, int]:
        drop = fmt.emin - fmt.mantissa_bits - places - x.exponent
        if exact.top(x) >= fmt.emin or drop <= 0:
            return code, flags
        left = x.significand >> drop
        if not left:
            return x.sign << fmt.width - 1, 0
        return encoder(fmt, vectors.unit.policy)(exact.finite(x.sign, left, x.exponent + drop), 0)

    result = diagnosis(vectors, device(vectors.unit, change=change))
    assert result.complete
    assert f"subnormal results cut {places} places below" in names(result)


@pytest.mark.full
def test_what_explains_mismatches_by_chance_only_is_not_said() -> None:
    """The sign of half of the results is wrong, by no rule: 'sign ignored' would explain half of these."""

    def model(inputs: Inputs) -> Output:
        code, flags = MUL.unit.answer(tuple(inputs))
        return code ^ (inputs[0] * 40503 ^ inputs[1] * 9973) >> 5 << 15 & 0x8000, flags

    result = diagnosis(MUL, model)
    assert not result.findings
    assert result.several is None
    assert "only the sign of the result is wrong" in result.facts
