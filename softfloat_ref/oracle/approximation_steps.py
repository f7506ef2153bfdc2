"""Approximations in steps: the segment of an operand, its polynomial, the ends of the table, the sign, one rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.approximation import SHARES, Approximation, Part, horner
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.rounding_steps import rounded
from softfloat_ref.oracle.steps import PLAIN, Do, step

_ONE: Final = exact.finite(0, 1, 0)


class Segment(NamedTuple):
    """A row of a table, and how far an operand lies along its segment."""

    row: int
    distance: int


class Coefficients(NamedTuple):
    """Those of a polynomial, the constant first, and the exponent of two by which it is multiplied."""

    values: tuple[int, ...]
    exponent: int


@step("unpack", "sign and magnitude")
def unpack(code: int, fmt: Format) -> tuple[int, int]:
    """The sign and the magnitude code of an operand."""
    return int(code & fmt.sign_bit != 0), code & fmt.magnitude_mask


@step("in table", "decision")
def in_table(magnitude: int, part: Part) -> bool:
    """Whether the table holds for a magnitude code."""
    return part.first <= magnitude < part.after


@step("address", "integer")
def address(magnitude: int, a: Approximation) -> int:
    """The address of a magnitude code."""
    return a.steps(magnitude)


def segment_in_steps(do: Do, magnitude: int, part: Part, a: Approximation) -> Segment:
    """`segment`, step by step."""
    at = do(address, magnitude, a)
    return Segment((at >> a.shift) - a.row(part.first), at & ((1 << a.shift) - 1))


@step("segment", "segment", segment_in_steps, [address])
def segment(magnitude: int, part: Part, a: Approximation) -> Segment:
    """The segment of a magnitude code."""
    return segment_in_steps(PLAIN, magnitude, part, a)


@step("coefficients", "coefficients")
def coefficients(row: int, part: Part) -> Coefficients:
    """A row of the table."""
    return Coefficients(part.rows[row], part.exponent(row))


@step("cut product", "integer")
def cut_product(product: int, cut: int) -> int:
    """A product without the low bits that are dropped before a coefficient is added."""
    return product >> cut


def polynomial_in_steps(do: Do, c: Sequence[int], d: int, cuts: Sequence[int]) -> int:
    """`polynomial`, step by step."""
    total = c[-1]
    for i in range(len(cuts) - 1, -1, -1):
        total = do.at("coefficient", i)(cut_product, total * d, cuts[i]) + c[i]
    return total


@step("polynomial", "integer", polynomial_in_steps, [cut_product])
def polynomial(c: Sequence[int], d: int, cuts: Sequence[int]) -> int:
    """The polynomial of coefficients, in units of the row's power of two."""
    return horner(c, d, cuts)


@step("outside", "value")
def outside(magnitude: int, code: int, part: Part, a: Approximation) -> Value:
    """The value for a magnitude code outside the table. code: the operand, signed in a table of negative operands."""
    text = part.small if magnitude < part.first else part.large
    if text not in SHARES:
        return decoder(a.out)(int(text, 16))
    x = decoder(a.fmt)(code)
    return x._replace(exponent=x.exponent + SHARES[text]) if x.significand else x


@step("symmetry", "value")
def mirrored(x: Value, negative: int, a: Approximation) -> Value:
    """The value for an operand of that sign, of the value for its magnitude."""
    if not negative or a.symmetry == "even":
        return x
    return exact.negate(x) if a.symmetry == "odd" else exact.add(_ONE, exact.negate(x))


def unrounded(do: Do, a: Approximation, code: int) -> Value:
    """The value for a code that is not NaN, before it is rounded."""
    negative, magnitude = do(unpack, code, a.fmt)
    if a.negative is not None and negative:
        return _of_part(do, a, a.negative, magnitude, magnitude | a.fmt.sign_bit)
    return do(mirrored, _of_part(do, a, a.positive, magnitude, magnitude), negative, a)


def _of_part(do: Do, a: Approximation, part: Part, magnitude: int, code: int) -> Value:
    if not do(in_table, magnitude, part):
        return do(outside, magnitude, code, part, a)
    row, d = do(segment, magnitude, part, a)
    c = do(coefficients, row, part)
    total = do(polynomial, c.values, d, a.cuts)
    return exact.finite(int(total < 0), abs(total), c.exponent) if total else exact.zero(0)


def approximated(do: Do, a: Approximation, code: int) -> int:
    """The result for a code of the format, step by step."""
    if a.fmt.is_nan(code):
        return a.nan_code
    x = unrounded(do, a, code)
    return a.nan_code if x.kind == NAN else do(rounded, x, 0, a.destination)[0]
