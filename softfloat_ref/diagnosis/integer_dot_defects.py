"""Defects of dot products of integers: signs of the elements, widths, the fitting of sums, lanes, c, flags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from softfloat_ref.diagnosis.answer_defects import wire_defects
from softfloat_ref.diagnosis.defects import answering, defective, in_parts, replaced
from softfloat_ref.diagnosis.hypotheses import Hypothesis
from softfloat_ref.oracle.flags import OVERFLOW
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.integer_dots import Fit, fitted, in_order, integer, integer_product, started, step_sum
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import IntegerDotUnit

_PAIR: Final = 16  # bits in which x86's VPMADDUBSW saturates the sum of two products
_WORDS: Final = {Fit.WRAP: "wraps", Fit.SATURATE: "saturates"}


def integer_dot_defects(unit: IntegerDotUnit) -> Iterator[Hypothesis]:
    """Every listed defect of such a unit."""
    yield from _saturation(unit)
    yield from _elements(unit)
    yield from _lanes(unit)
    yield from _narrow(unit)
    yield from _start(unit)
    never = answering(unit, lambda _, codes: (*codes[:-1], codes[-1] & ~OVERFLOW))
    yield Hypothesis("no overflow", "never raises overflow", never)
    yield from wire_defects(unit)


def _saturation(unit: IntegerDotUnit) -> Iterator[Hypothesis]:
    if unit.c.signed and unit.sums.fit == Fit.SATURATE:
        lowest = -unit.c.max_code
        above = replaced(fitted, lambda here, right, total, fmt, fit: max(right(total, fmt, fit), lowest))
        yield defective(unit, "symmetric saturation", "saturates negative sums to the opposite of the largest", above)


def _elements(unit: IntegerDotUnit) -> Iterator[Hypothesis]:
    """Elements of the other signedness."""
    for sides in (("a",), ("b",), ("a", "b")):
        formats = [getattr(unit, side) for side in sides]
        other = [get_format(f"{'u' if f.signed else 'i'}{f.width}") for f in formats]
        words = " and ".join(f"{side} as {f.name}" for side, f in zip(sides, other, strict=True))
        changes = [c for side, f in zip(sides, other, strict=True) for c in in_parts([side], _read_as(f))]
        yield defective(unit, words, f"reads the elements of {words}", *changes)


def _read_as(fmt: Format) -> Change:
    return replaced(integer, lambda here, right, code, own: right(code, fmt))


def _lanes(unit: IntegerDotUnit) -> Iterator[Hypothesis]:
    k = unit.k
    for lane in range(k):
        gone = replaced(in_order, lambda here, right, p, lane=lane: right((*p[:lane], 0, *p[lane + 1 :])))
        yield defective(unit, f"product {lane} lost", f"does not add the product of lane {lane}", gone)
    if k < 2:
        return
    orders = {"reversed": (lambda i: k - 1 - i), "one up": (lambda i: (i + 1) % k), "one down": (lambda i: (i - 1) % k)}
    for name, order in orders.items():
        changed = answering_lanes(unit, order)
        yield Hypothesis(f"lanes of b {name}", f"multiplies with the elements of b {name}", changed)


def answering_lanes(unit: IntegerDotUnit, order: Callable[[int], int]) -> Any:
    """The unit with b in another order."""

    def wrong(inputs: Any) -> Any:
        a, b, _, _ = unit.sides(inputs)
        return tuple(unit.answer((*a, *(b[order(i)] for i in range(unit.k)), *inputs[2 * unit.k :])))

    return wrong


def _narrow(unit: IntegerDotUnit) -> Iterator[Hypothesis]:
    """Products and sums in too few bits."""
    whole = unit.a.width + unit.b.width
    for bits in sorted({whole - 1, whole - 2, unit.a.width, unit.b.width}):
        for fit, word in _WORDS.items():
            cut = replaced(integer_product, _fitted_to(bits, fit))
            yield defective(unit, f"products {fit} in {bits} bits", f"{word} products in {bits} bits", cut)
    for bits in sorted({unit.c.width - 1, unit.c.width // 2, 24, 18}):
        if bits < unit.c.width:
            cut = replaced(fitted, partial(_first_in, bits))
            yield defective(unit, f"accumulator of {bits} bits", f"has an accumulator of {bits} bits", cut)
    if unit.k % 2 == 0:
        text = f"saturates the sums of two products to {_PAIR} bits before it adds them"
        yield defective(unit, f"pairs saturate in {_PAIR} bits", text, replaced(in_order, _in_pairs))


def _fitted_to(bits: int, fit: Fit) -> Callable[..., int]:
    fmt = get_format(f"i{bits}")
    return lambda here, right, x, y: fitted(right(x, y), fmt, fit)


def _first_in(bits: int, here: Traced, right: Function, total: int, fmt: Format, fit: Fit) -> int:
    """A narrower accumulator, extended."""
    return right(total, get_format(f"{'i' if fmt.signed else 'u'}{bits}"), fit)  # type: ignore[no-any-return]


def _in_pairs(here: Traced, right: Function, products: tuple[int, ...]) -> tuple[int, ...]:
    fmt = get_format(f"i{_PAIR}")
    sums = [fitted(x + y, fmt, Fit.SATURATE) for x, y in zip(products[::2], products[1::2], strict=True)]
    return right(tuple(x for total in sums for x in (total, 0)))  # type: ignore[no-any-return]


def _start(unit: IntegerDotUnit) -> Iterator[Hypothesis]:
    zero = replaced(started, lambda here, right, clear, c: right(1, c))
    yield defective(unit, "c ignored", "does not add c", zero)
    subtracted = replaced(step_sum, lambda here, right, running, p: right(running, tuple(-x for x in p)))
    yield defective(unit, "products subtracted", "subtracts the products", subtracted)
    if unit.clear:
        never_cleared = replaced(started, lambda here, right, clear, c: right(0, c))
        yield defective(unit, "clear ignored", "does not clear the accumulator", never_cleared)
        inverted = replaced(started, lambda here, right, clear, c: right(1 - clear, c))
        yield defective(unit, "clear inverted", "clears the accumulator where clear is 0", inverted)
        gone = replaced(
            step_sum, lambda here, right, total, p: right(total, p if not _cleared(here) else (0,) * len(p))
        )
        yield defective(unit, "products lost by clear", "does not add the products of the line that clears", gone)


def _cleared(here: Traced) -> bool:
    unit: IntegerDotUnit = here.case.unit
    return bool(unit.sides(here.case.inputs)[3])
