"""Defects of the sums of a dot product: widths of adders, alignment, signs of zeros; and of their products."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from softfloat_ref.diagnosis.hypotheses import Hypothesis, Inputs, Model, Output, Stepwise, in_turn
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.accumulate.dots import Operand, accumulate, products
from softfloat_ref.oracle.accumulate.evaluate import Aligned, Step
from softfloat_ref.oracle.accumulate.terms import Decode, Term
from softfloat_ref.oracle.accumulate.trees import Chain, Fuse, Pairs, Part, Products
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units import DotUnit

_NARROW: Final = 8  # elements of up to this many bits have products that are added in fixed point
_PLACES: Final = (0, 1, 2, 3, 4)  # places below the larger addend's last bit


@dataclass(frozen=True)
class WrongDot(Stepwise):
    """A dot product with wrong steps: other operands, decoders, products or tree, or a changed answer."""

    unit: DotUnit
    inputs: Callable[[Operand, Operand, int], tuple[Operand, Operand, int]] | None = None
    decoders: Sequence[Decode] | None = None
    terms: Callable[[list[Term]], list[Term]] | None = None
    make: Callable[..., Step] = Step
    after: Callable[[int, int], tuple[int, int]] | None = None

    def __call__(self, codes: Inputs) -> Output | None:
        setting = self.unit.setting
        a, b, c = self.unit.sides(codes)
        if self.inputs is not None:
            a, b, c = self.inputs(a, b, c)
        found = products(setting, a, b, self.decoders)
        code, flags = accumulate(setting, found if self.terms is None else self.terms(found), c, make=self.make)
        return self.after(code, flags) if self.after is not None else (code, flags)

    def joined(self, other: Model) -> WrongDot | None:
        if not isinstance(other, WrongDot) or (self.decoders and other.decoders):
            return None
        if (self.make != Step and other.make != Step) or self.unit != other.unit:
            return None
        return WrongDot(
            self.unit,
            in_turn(self.inputs, other.inputs),
            self.decoders or other.decoders,
            in_turn(self.terms, other.terms),
            self.make if self.make != Step else other.make,
            in_turn(self.after, other.after),
        )


def product_bits(formats: Sequence[Format]) -> int:
    """The width of the product of two largest elements, in units of the product of two smallest ones."""
    return sum(f.precision + f.emax - f.emin for f in formats)


def in_units(x: Value, unit: int) -> int:
    """A magnitude that is a multiple of 2^unit, in units of 2^unit."""
    return x.significand << x.exponent - unit if x.exponent >= unit else x.significand >> unit - x.exponent


def wrapped(magnitude: int, bits: int) -> int:
    """The last `bits` bits of a magnitude."""
    return magnitude & (1 << bits) - 1


def wrapped_products(formats: Sequence[Format]) -> Callable[[list[Term]], list[Term]]:
    """The products wrapped to the number of bits that the largest one needs."""
    bits, unit = product_bits(formats), sum(f.emin - f.mantissa_bits for f in formats)

    def held(x: Term) -> Term:
        if x.value.kind != FINITE or not x.value.significand:
            return x
        left = wrapped(in_units(x.value, unit + x.scale), bits)
        value = Value(FINITE, x.value.sign, left, unit + x.scale) if left else exact.zero(x.value.sign)
        return x._replace(value=value, empty=not left)

    return lambda terms: [held(x) for x in terms]


@dataclass
class ShortStep(Step):
    """A step whose exact sum of products is a two's complement integer that lacks the bit below its sign.

    bits: the remaining bits, with the sign; unit: of the integer, with scales of one.
    """

    bits: int = 0
    unit: int = 0

    def sum(self, node: Fuse, terms: list[tuple[Term, Part]], largest: int) -> tuple[Value, list[Aligned]]:
        value, aligned = super().sum(node, terms, largest)
        only_products = all(isinstance(part.node, Products) for part in node.parts)
        if node.bits is None and only_products and value.significand:
            value = self._short(value, terms[0][0].scale)
        return value, aligned

    def _short(self, x: Value, scale: int) -> Value:
        unit = self.unit + scale
        whole = in_units(x, unit)
        low = wrapped(-whole if x.sign else whole, self.bits - 1)
        number = low - (1 << self.bits - 1) if x.sign else low
        return Value(FINITE, int(number < 0), abs(number), unit) if number else exact.zero(0)


@dataclass
class QuietStep(Step):
    """A step that raises no flag for bits that alignment cuts off."""

    def sum(self, node: Fuse, terms: list[tuple[Term, Part]], largest: int) -> tuple[Value, list[Aligned]]:
        before = self.flags
        found = super().sum(node, terms, largest)
        self.flags = before
        return found


@dataclass
class NegativeStep(Step):
    """A step whose last sum is -0 if terms of both signs cancel."""

    def sum(self, node: Fuse, terms: list[tuple[Term, Part]], largest: int) -> tuple[Value, list[Aligned]]:
        value, aligned = super().sum(node, terms, largest)
        last = getattr(self.accumulator.root, "node", None)
        if not value.significand and (node is last or isinstance(last, (Chain, Pairs))):
            both = len({x.value.sign for x, _ in terms}) > 1
            value = exact.zero(1) if both else value
        return value, aligned


def sum_defects(unit: DotUnit) -> Iterator[Hypothesis]:
    """Every listed defect of the sums."""
    formats = unit.setting.formats
    yield Hypothesis("x - x is -0", "gives -0 where a sum cancels to zero", WrongDot(unit, make=NegativeStep))
    if all(f.exponent_bits and f.width <= _NARROW for f in formats):
        bits = product_bits(formats) + (unit.setting.block - 1).bit_length()
        last = sum(f.emin - f.mantissa_bits for f in formats)
        make = partial(ShortStep, bits=bits, unit=last)
        yield Hypothesis(
            "sum of products one bit short",
            "has one bit too few below the sign of its exact sum of products, which wraps around",
            WrongDot(unit, make=make),
        )
    yield from _alignment(unit)
    if not (isinstance(unit.a, Format) and isinstance(unit.b, Format)):
        yield Hypothesis(
            "scales above one x2",
            "doubles products with scales above one",
            WrongDot(unit, terms=lambda terms: [_doubled(x) for x in terms]),
        )


def _alignment(unit: DotUnit) -> Iterator[Hypothesis]:
    """Adders that keep some places below the larger addend's last bit, without a sticky bit."""
    tree, p = unit.accumulator.tree, unit.setting.result.precision
    end = tree.rfind(")")
    if not tree.startswith("fuse(") or "F=" in tree[tree.rfind("c") : end]:
        return
    for places in _PLACES:
        cut = f"{tree[:end]}, F={p - 1 + places}, rz{tree[end:]}"
        short = dataclasses.replace(unit, accumulator=unit.accumulator.replace(tree=cut))
        yield Hypothesis(
            f"smaller addend cut {places} places below the larger",
            f"drops bits more than {places} places below the larger addend's last bit, without a sticky bit",
            WrongDot(short, make=QuietStep),
        )


def _doubled(x: Term) -> Term:
    if x.scale <= 0:
        return x
    if x.value.kind != FINITE or not x.value.significand:
        return x._replace(scale=x.scale + 1)
    value = x.value._replace(exponent=x.value.exponent + 1)
    return x._replace(value=value, exponent=x.exponent + 1, scale=x.scale + 1)
