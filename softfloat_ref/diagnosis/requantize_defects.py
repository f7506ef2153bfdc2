"""Defects of requantizers: operands read wrongly, product and shifts, roundings, registers, zero point, range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from softfloat_ref.diagnosis.answer_defects import wire_defects
from softfloat_ref.diagnosis.defects import defective, replaced, within
from softfloat_ref.diagnosis.hypotheses import Hypothesis
from softfloat_ref.diagnosis.stepped_defects import stepped_defects
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.requantization import RequantizeRule
from softfloat_ref.oracle.requantization_steps import (
    Shifts,
    first_rounded,
    fitted,
    held,
    in_register,
    last_rounded,
    multiplied,
    operand_value,
    shifts,
    with_zero_point,
)
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import RequantizeUnit

_PRODUCT_BITS: Final = (16, 24, 31, 32, 40, 48, 56, 62, 63)  # to which a product may be cut
_RESULT_BITS: Final = (8, 9, 16, 17, 24)  # of a register before the zero point
_MULTIPLIER_BITS: Final = (8, 15, 16, 24)  # low bits of a multiplier that may be lost
_EARLY_BITS: Final = 32  # of the register between two roundings
Numbers = Callable[..., int]


def requantize_defects(unit: RequantizeUnit) -> Iterator[Hypothesis]:
    """Every listed defect that the requantization can have."""
    yield from _readings(unit)
    if unit.rule.has_shift:
        yield from _shifts(unit)
        yield from _multipliers(unit)
    if unit.rule.arithmetic == "exact":
        yield from _products(unit)
    yield from _roundings(unit)
    yield from _zero_points(unit)
    yield from _ranges(unit)
    yield from _registers(unit)
    yield from stepped_defects(unit)
    yield from wire_defects(unit)


def _after(step: Function, other: Callable[[Any], Any]) -> Change:
    """Another value of a step."""
    return replaced(step, lambda here, right, *args: other(right(*args)))


def _readings(unit: RequantizeUnit) -> Iterator[Hypothesis]:
    """Operands whose sign bit is read as a number, or the other way; negated ones."""
    for f in unit.inputs:
        if f.fmt is None or not f.fmt.is_integer:
            continue
        signed = f.fmt.signed
        words = f.name.replace("_", " ")
        other = replaced(operand_value, partial(_with_sign, not signed))
        kind = "unsigned" if signed else "signed"
        yield defective(unit, f"{words} {kind}", f"treats the {words} as {kind}", *within(f.name, [other]))
        if signed and f.name in ("shift", "multiplier", "accumulator"):
            text = f"gives the {words} the other sign"
            yield defective(unit, f"{words} negated", text, *within(f.name, [_after(operand_value, lambda x: -x)]))


def _with_sign(signed: bool, here: Traced, right: Function, code: int, fmt: Format) -> int:
    return code - ((code >> (fmt.width - 1)) << fmt.width) if signed else code


def _shifts(unit: RequantizeUnit) -> Iterator[Hypothesis]:
    def other(name: str, text: str, change: Callable[[Shifts], Shifts]) -> Hypothesis:
        return defective(unit, name, text, _after(shifts, change))

    for by, word in ((1, "many"), (-1, "few")):
        text = f"shifts to the right by one place too {word}"
        yield other(f"one shift too {word}", text, lambda s, by=by: s._replace(last=s.last + by))  # type: ignore[misc]
    if unit.rule.left != "together":
        yield other("left shift ignored", "does not shift to the left", lambda s: s._replace(left=0))
    yield other("right shift ignored", "does not shift to the right", lambda s: s._replace(last=_unshifted(unit.rule)))
    for bits in (4, 5):
        most = (1 << bits) - 1
        text = f"uses only the low {bits} bits of the shift to the right"
        yield other(f"shift of {bits} bits", text, lambda s, m=most: s._replace(last=s.last & m))  # type: ignore[misc]
        text = f"shifts to the right by at most {most} places"
        yield other(f"shift up to {most}", text, lambda s, m=most: s._replace(last=min(s.last, m)))  # type: ignore[misc]
    if unit.rule.first_bits:
        for by, text in ((1, "does not double the product"), (-1, "doubles the product twice")):
            yield other(text, text, lambda s, by=by: s._replace(first=s.first + by))  # type: ignore[misc]


def _unshifted(rule: RequantizeRule) -> int:
    """What the last rounding drops for a shift of zero."""
    return max(rule.fraction - rule.first_bits, 0)


def _multipliers(unit: RequantizeUnit) -> Iterator[Hypothesis]:
    width = unit.rule.multiplier_format.width
    for bits in (n for n in _MULTIPLIER_BITS if n < width):
        text = f"ignores the low {bits} bits of the multiplier"
        yield _product(unit, f"multiplier without {bits} low bits", text, lambda n, m, b=bits: n * (m >> b << b))
    if unit.rule.negative != "undefined":
        text = "takes the magnitude of the multiplier"
        yield _product(unit, "multiplier without sign", text, lambda n, m: n * abs(m))


def _product(unit: RequantizeUnit, name: str, text: str, other: Numbers) -> Hypothesis:
    return defective(unit, name, text, replaced(multiplied, lambda here, right, n, m: other(n, m)))


def _products(unit: RequantizeUnit) -> Iterator[Hypothesis]:
    width = unit.accumulator.width + unit.rule.multiplier_format.width
    for bits in (n for n in _PRODUCT_BITS if n < width):
        wraps = partial(fitted, width=bits, how="wrapped")
        text = f"keeps {bits} bits of the product"
        yield _product(unit, f"product of {bits} bits", text, lambda n, m, w=wraps: w(n * m))
    text = "multiplies magnitudes, and loses the sign of the accumulator"
    yield _product(unit, "sign lost", text, lambda n, m: abs(n) * m)


def _roundings(unit: RequantizeUnit) -> Iterator[Hypothesis]:
    """Roundings that no mode describes. Modes are choices of the rule."""
    steps: dict[str, Function] = {"first": first_rounded} if unit.rule.first_bits else {}
    for name, step in {**steps, "last": last_rounded}.items():
        which = f"in the {name} rounding" if unit.rule.first_bits else "to round"
        for key, text, other in (
            ("toward zero after adding half", f"adds half {which}, and then drops bits toward zero", _toward_zero),
            ("half too low", f"adds half of the half {which}", lambda x, b: x + (1 << b - 2) >> b if b > 1 else None),
            ("half too high", f"adds twice the half {which}", lambda x, b: x + (1 << b) >> b),
            ("half less one", f"adds one unit less than half {which}", lambda x, b: x + (1 << b - 1) - 1 >> b),
            ("half added to magnitudes", f"adds half with the sign of the number {which}, and floors", _away_and_floor),
        ):
            yield defective(unit, f"{key}, {name}", text, replaced(step, partial(_rounded_otherwise, other)))

    width = _EARLY_BITS if unit.rule.first_bits else unit.accumulator.width + unit.rule.multiplier_format.width
    text = "shifts zeros into negative numbers"
    yield defective(unit, "logical shift", text, replaced(last_rounded, partial(_shifted_in_zeros, width)))


def _shifted_in_zeros(width: int, here: Traced, right: Function, x: int, bits: int, *rest: int) -> int:
    """The last rounding of a register of some bits, of which zeros take the place of the sign bits."""
    code: int = right(x, bits, *rest)
    return code + (1 << width - bits) if x < 0 < bits < width else code


def _rounded_otherwise(
    other: Callable[[int, int], int | None], here: Traced, right: Function, x: int, bits: int, *rest: int
) -> int:
    """Another rounding of x / 2^bits; what is added inside it stands first in `rest`."""
    added = rest[0] if len(rest) > 1 else 0
    number = other(x + (added << bits), bits) if bits > 0 else None
    return right(x, bits, *rest) if number is None else number


def _toward_zero(x: int, bits: int) -> int:
    total = x + (1 << bits - 1)
    return -(-total >> bits) if total < 0 else total >> bits


def _away_and_floor(x: int, bits: int) -> int:
    return x + (-1 if x < 0 else 1) * (1 << bits - 1) >> bits


def _zero_points(unit: RequantizeUnit) -> Iterator[Hypothesis]:
    if unit.fixed_numbers.get("zero_point") == 0:
        return

    def other(name: str, text: str, change: Numbers) -> Hypothesis:
        def wrong(here: Traced, right: Function, x: int, z: int, width: int, how: str) -> int:
            return change(x, z)

        return defective(unit, name, text, replaced(with_zero_point, wrong))

    yield other("zero point left out", "does not add the zero point", lambda x, z: x)
    yield other("zero point subtracted", "subtracts the zero point", lambda x, z: x - z)
    fmt = unit.out
    least, most = -fmt.sign_bit, fmt.max_code
    text = "saturates before it adds the zero point"
    yield other(
        "clamped before the zero point", f"{text}, and again afterwards", lambda x, z: min(max(x, least), most) + z
    )


def _ranges(unit: RequantizeUnit) -> Iterator[Hypothesis]:
    fmt = unit.out
    least, most = -fmt.sign_bit, fmt.max_code

    def other(name: str, text: str, change: Numbers) -> Hypothesis:
        return defective(unit, name, text, replaced(held, lambda here, right, x, low, high: change(x, low, high)))

    yield other("no saturation", "does not saturate: results out of range wrap around", lambda x, low, high: x)
    if fmt.signed:
        text = "gives zero for negative results"
        yield other("never below zero", text, lambda x, low, high: min(max(x, low, 0), high))
    text = f"never gives {least}, the lowest integer"
    yield other("lowest integer unused", text, lambda x, low, high: min(max(x, low, least + 1), high))
    text = f"never gives {most}, the highest integer"
    yield other("saturates one below the end", text, lambda x, low, high: min(max(x, low), high, most - 1))
    zero = "saturates to the end on the other side"
    yield other("ends swapped", zero, lambda x, low, high: high if x < low else low if x > high else x)
    for end in [n for n in ("min", "max") if n in {f.name for f in unit.inputs} or n in unit.constants]:
        ends = (least, most)
        text = f"ignores {end}, and saturates at the end of the format"
        yield other(f"{end} ignored", text, partial(_ignoring, end, *ends))


def _ignoring(end: str, least: int, most: int, x: int, low: int, high: int) -> int:
    return min(max(x, least if end == "min" else low), most if end == "max" else high)


def _registers(unit: RequantizeUnit) -> Iterator[Hypothesis]:
    """A narrow register for the rounded number. One that saturates is `clamped before the zero point`."""
    step = last_rounded if unit.rule.result == "wrapped-early" else in_register
    for bits in _RESULT_BITS:
        text = f"wraps the rounded number to {bits} bits before it adds the zero point"
        change = _after(step, partial(fitted, width=bits, how="wrapped"))
        yield defective(unit, f"rounded number of {bits} bits", text, change)
