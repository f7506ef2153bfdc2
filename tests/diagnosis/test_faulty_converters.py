"""A converter from FP32 as a circuit has it, in integers, with one fault: that fault is named, and nothing else.

Chosen: each signal of the circuit (distance of the shift, bits below the last one, carry, comparison with the largest
number, tininess, inexact, flags of special operands), wrong in the ways that small changes of its expression give: a
bit more or less, one operand left out, a threshold beside the right one. Three formats: with infinities and without,
narrow and wide exponents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from diagnosing import diagnosis, names

from softfloat_ref.diagnosis.hypotheses import Inputs, Output
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.formats import Format, get_format

COUNT = 1500
FORMATS = ("fp8_e4m3", "fp8_e5m2", "fp16")


@dataclass(frozen=True)
class Converter:
    """Signals of the circuit as functions of others; the right ones by default."""

    fmt: Format
    distance: Callable[[int, int], int] = lambda places, held: min(places, held)
    guard: Callable[[int, int], int] = lambda aligned, at: aligned >> at & 1
    sticky: Callable[[int, int], int] = lambda aligned, at: int(aligned & (1 << at) - 1 > 0)
    magnitude: Callable[[int, int, int, int], int] = lambda field, kept, up, m: (field << m) + kept + up
    largest: int | None = None
    overflows: Callable[[int, int], bool] = lambda magnitude, largest: magnitude > largest
    tiny: Callable[[int, bool], bool] = lambda exponent, reaches: exponent < 0 and not (exponent == -1 and reaches)
    ones: int = 0  # more bits that are ones where a number just below the normal ones is rounded up to these
    inexact: Callable[[int, int], int] = lambda guard, sticky: guard | sticky
    underflow: Callable[[bool, int], bool] = lambda tiny, inexact: tiny and inexact > 0
    special: Callable[[bool, bool], int] = lambda nan, loud: 16 * loud
    cuts: bool = False  # sticky misses what the shift moves out
    name: str = field(default="", compare=False)

    def __call__(self, inputs: Inputs) -> Output:
        fmt, m, (code,) = self.fmt, self.fmt.mantissa_bits, inputs
        sign, exponent, fraction = code >> 31, (code >> 23 & 255) - 127 - fmt.emin, code & 0x7FFFFF
        largest = fmt.max_code if self.largest is None else self.largest
        beyond = (fmt.inf_code if fmt.infinity else largest) | sign * fmt.sign_bit
        if code >> 23 & 255 == 255:
            nan = fraction > 0
            flags = self.special(nan, nan and fraction < 1 << 22)
            return (fmt.canonical_nan if nan else beyond), flags
        subnormal = code >> 23 & 255 == 0
        places = -exponent - subnormal if exponent < 0 else 0
        aligned = (fraction | (not subnormal) << 23) << m + 2 >> self.distance(places, m + 2)
        at = 24 + 1
        kept, guard = aligned >> at, self.guard(aligned, at - 1)
        sticky = self.sticky(aligned & ~((1 << m + 2) - 1) if self.cuts else aligned, at - 1)
        up = guard & (sticky | kept & 1)
        magnitude = self.magnitude(max(exponent, 0), kept, up, m)
        bits = m + 1 + self.ones
        reaches = fraction >> 23 - bits == (1 << bits) - 1
        overflow = self.overflows(magnitude, largest)
        inexact = self.inexact(guard, sticky) | overflow
        underflow = self.underflow(self.tiny(exponent, reaches), inexact)
        result = beyond if overflow else magnitude | sign * fmt.sign_bit
        return result & fmt.magnitude_mask | sign * fmt.sign_bit, 4 * overflow | 2 * underflow | int(inexact)


def has(at: int, bits: int, aligned: int) -> int:
    return int(aligned >> at - bits & (1 << bits) - 1 > 0)


FAULTS: dict[str, dict[str, object]] = {
    "guard one bit low, shift held": {"guard": lambda a, at: a >> at - 1 & 1},
    "guard one bit high, guard bit lost": {"guard": lambda a, at: a >> at + 1 & 1},
    "sticky without bit 1": {"sticky": lambda a, at: int(a & (1 << at - 1) - 1 > 0)},
    "sticky is a parity": {"sticky": lambda a, at: (a & (1 << at) - 1).bit_count() & 1},
    "sticky of 6 bits": {"sticky": lambda a, at: has(at, 6, a)},
    "sticky of 8 bits": {"sticky": lambda a, at: has(at, 8, a)},
    "bits shifted out are lost": {"cuts": True},
    "subnormal results shifted to the guard bit at most": {"distance": lambda places, held: min(places, held - 1)},
    "subnormal results shifted to the last bit at most": {"distance": lambda places, held: min(places, held - 2)},
    "carry lost, leading one too": {"magnitude": lambda f, k, up, m: (f << m) + (k + up & (2 << m) - 1)},
    "largest number overflows": {"overflows": lambda magnitude, largest: magnitude >= largest},
    "underflow of the smallest normal binade": {
        "tiny": lambda exponent, reaches: exponent <= 0 and not (exponent == -1 and reaches)
    },
    "no underflow of the largest subnormal binade": {"tiny": lambda exponent, reaches: exponent < -1},
    "tininess of one bit more": {"ones": 1},
    "tininess of one bit less": {"ones": -1},
    "inexact of the guard bit only": {"inexact": lambda guard, sticky: guard},
    "inexact of the sticky bit only": {"inexact": lambda guard, sticky: sticky},
    "underflow when exact, zeros too": {"underflow": lambda tiny, inexact: tiny},
    "invalid for infinities": {"special": lambda nan, loud: 16 * (loud or not nan)},
    "inexact for NaNs": {"special": lambda nan, loud: 16 * loud | nan},
    "underflow for infinities": {"special": lambda nan, loud: 16 * loud | 2 * (not nan)},
}


def vectors_to(out: str) -> VectorSet:
    return VectorSet.make("convert", "fp32", COUNT, out=out)


@pytest.mark.parametrize("out", FORMATS)
def test_the_right_converter_is_right(out: str) -> None:
    vectors, right = vectors_to(out), Converter(get_format(out))
    assert all(right(i[:1]) == vectors.unit.answer(i[:1]) for i in vectors.inputs())


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("out", FORMATS)
@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_named(name: str, out: str) -> None:
    found = diagnosis(vectors_to(out), replace(Converter(get_format(out)), **FAULTS[name]))  # type: ignore[arg-type]
    assert found.several is None
    assert found.complete
    assert any(x.removesuffix(", tininess apart").removesuffix(", shift held") == name for x in names(found)) or (
        name in names(found)
    )


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("bit", [2, 3, 6])
def test_a_bit_missing_in_the_sticky_bit(bit: int) -> None:
    """E5M2 has FP16's exponents, so that a bit of the operand is one below the guard bit, wherever it is rounded."""
    vectors = VectorSet.make("convert", "fp16", COUNT, out="fp8_e5m2")
    found = diagnosis(vectors, lambda i: vectors.unit.answer((i[0] & ~(1 << 7 - bit),)))
    assert names(found)[0].partition(", where")[0].removesuffix(", tininess apart") == f"sticky without bit {bit}"


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("bits", [3, 4, 5])
def test_a_distance_that_wraps(bits: int) -> None:
    """Whatever it is held at."""
    right = Converter(get_format("fp8_e4m3"))
    device = replace(right, distance=lambda places, held: min(places & (1 << bits) - 1, held))
    found = diagnosis(vectors_to("fp8_e4m3"), device)
    assert found.complete
    assert names(found)[0] == f"subnormal shift of {bits} bits wraps"


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(("out", "bits"), [("fp8_e4m3", 1), ("fp8_e4m3", 2), ("fp8_e5m2", 1), ("fp8_e5m2", 2)])
def test_an_exponent_of_few_bits(out: str, bits: int) -> None:
    fmt = get_format(out)
    mask = (1 << fmt.exponent_bits + bits + fmt.mantissa_bits) - 1
    device = replace(Converter(fmt), magnitude=lambda f, k, up, m: (f << m) + k + up & mask)
    found = diagnosis(vectors_to(out), device)
    assert found.complete
    assert names(found)[0] == f"exponent of {bits} more bit{'s' * (bits > 1)} wraps"


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("code", [0x7D, 0x77, 0x70])
def test_another_largest_number(code: int) -> None:
    found = diagnosis(vectors_to("fp8_e4m3"), replace(Converter(get_format("fp8_e4m3")), largest=code))
    assert found.complete
    assert names(found)[0] == f"largest number {code:02x}"


@pytest.mark.full
@pytest.mark.parametrize("fmt", ["fp16", "fp32"])
def test_nans_as_infinities_with_right_flags(fmt: str) -> None:
    vectors = VectorSet.make("convert", fmt, COUNT, out="fp8_e4m3")
    of = get_format(fmt)

    def device(inputs: Inputs) -> Output:
        code, flags = vectors.unit.answer(tuple(inputs))
        return (0x7E | 0x80 * (inputs[0] >> of.width - 1), flags) if code == 0x7F else (code, flags)

    found = diagnosis(vectors, device)
    assert found.complete
    assert "NaNs as infinities, flags kept" in names(found)
