"""Defects of the sums of a dot product: widths of adders, alignment, signs of zeros; and of its products."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from softfloat_ref.diagnosis.defects import defective, replaced
from softfloat_ref.diagnosis.hypotheses import Hypothesis
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.accumulate.evaluate import Aligned, align_terms, cut_away, total
from softfloat_ref.oracle.accumulate.terms import Term, product
from softfloat_ref.oracle.accumulate.trees import Addends, Chain, Fuse, Node, Pairs, Products, walk
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import DotUnit

_NARROW_BITS: Final = 8  # elements of up to this many bits have products that are added in fixed point
_CUT_PLACES: Final = (0, 1, 2, 3, 4)  # places below the larger addend's last bit
Terms = list[tuple[Term, Addends]]


def _product_bits(formats: Sequence[Format]) -> int:
    """The width of the product of two largest elements, in units of the product of two smallest ones."""
    return sum(f.precision + f.emax - f.emin for f in formats)


def _in_units(x: Value, unit: int) -> int:
    """A magnitude that is a multiple of 2^unit, in units of 2^unit."""
    return x.significand << x.exponent - unit if x.exponent >= unit else x.significand >> unit - x.exponent


def wrapped_products(formats: Sequence[Format]) -> Change:
    """The products wrapped to the number of bits that the largest one needs."""
    bits, unit = _product_bits(formats), sum(f.emin - f.mantissa_bits for f in formats)

    def held(here: Traced, right: Function, *args: object) -> Term:
        x: Term = right(*args)
        if x.value.kind != FINITE or not x.value.significand:
            return x
        left = _in_units(x.value, unit + x.scale) & (1 << bits) - 1
        value = Value(FINITE, x.value.sign, left, unit + x.scale) if left else exact.zero(x.value.sign)
        return x._replace(value=value, empty=not left)

    return replaced(product, held)


def _short(
    bits: int, last: int, here: Traced, right: Function, aligned: list[Aligned], terms: Terms, node: Fuse
) -> Value:
    """An exact sum of products as a two's complement integer that lacks the bit below its sign.

    bits: the remaining bits, with the sign; last: the unit of the integer, with scales of one.
    """
    x: Value = right(aligned, terms, node)
    only_products = all(isinstance(part.node, Products) for part in node.parts)
    if node.bits is not None or not only_products or not x.significand:
        return x
    unit = last + terms[0][0].scale
    whole = _in_units(x, unit)
    low = (-whole if x.sign else whole) & (1 << bits - 1) - 1
    number = low - (1 << bits - 1) if x.sign else low
    return Value(FINITE, int(number < 0), abs(number), unit) if number else exact.zero(0)


def _negative(
    last: Node | None, here: Traced, right: Function, aligned: list[Aligned], terms: Terms, node: Fuse
) -> Value:
    """A last sum of -0 if terms of both signs cancel. last: the node of the last sum."""
    x: Value = right(aligned, terms, node)
    if x.significand or not (node is last or isinstance(last, (Chain, Pairs))):
        return x
    return exact.zero(1) if len({t.value.sign for t, _ in terms}) > 1 else x


def sum_defects(unit: DotUnit) -> Iterator[Hypothesis]:
    """Every listed defect of the sums."""
    formats = unit.setting.formats
    negative = replaced(total, partial(_negative, getattr(unit.accumulator.root, "node", None)))
    yield defective(unit, "x - x is -0", "gives -0 where a sum cancels to zero", negative)
    if all(f.exponent_bits and f.width <= _NARROW_BITS for f in formats):
        bits = _product_bits(formats) + (unit.setting.block - 1).bit_length()
        last = sum(f.emin - f.mantissa_bits for f in formats)
        yield defective(
            unit,
            "sum of products one bit short",
            "has one bit too few below the sign of its exact sum of products, which wraps around",
            replaced(total, partial(_short, bits, last)),
        )
    yield from _alignment(unit)
    if not (isinstance(unit.a, Format) and isinstance(unit.b, Format)):
        yield defective(
            unit, "scales above one x2", "doubles products with scales above one", replaced(product, _doubled)
        )


def _alignment(unit: DotUnit) -> Iterator[Hypothesis]:
    """Adders that keep some places below the larger addend's last bit, without a sticky bit or a flag."""
    tree, p = unit.accumulator.tree, unit.setting.result.precision
    if not tree.startswith("fuse(") or "F=" in tree[tree.rfind("c") : tree.rfind(")")]:
        return
    root = unit.accumulator.root
    outer = next((x for x in walk(root) if isinstance(x, Fuse)), None)
    for places in _CUT_PLACES:
        yield defective(
            unit,
            f"smaller addend cut {places} places below the larger",
            f"drops bits more than {places} places below the larger addend's last bit, without a sticky bit",
            replaced(align_terms, partial(_cut, outer, p - 1 + places)),
            replaced(cut_away, lambda here, right, aligned: False),
        )


def _cut(
    outer: Fuse | None, bits: int, here: Traced, right: Function, terms: Terms, node: Fuse, largest: int
) -> list[Aligned]:
    if node is outer:
        node = dataclasses.replace(node, bits=bits, align="rz")
    return right(terms, node, largest)  # type: ignore[no-any-return]


def _doubled(here: Traced, right: Function, *args: object) -> Term:
    x: Term = right(*args)
    if x.scale <= 0:
        return x
    if x.value.kind != FINITE or not x.value.significand:
        return x._replace(scale=x.scale + 1)
    value = x.value._replace(exponent=x.value.exponent + 1)
    return x._replace(value=value, exponent=x.exponent + 1, scale=x.scale + 1)
