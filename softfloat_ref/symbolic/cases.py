"""The cases into which a proof splits a unit's inputs, a kind of unit a function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch

from softfloat_ref.symbolic.build import and_, eq, make, not_, or_, substitute
from softfloat_ref.symbolic.circuit import ProofCase
from softfloat_ref.symbolic.classes import is_in
from softfloat_ref.symbolic.integers import bits, width_of, with_bounds_here
from softfloat_ref.symbolic.paths import at
from softfloat_ref.symbolic.reading import SumOfTwo
from softfloat_ref.symbolic.terms import FALSE, Term, const, var
from softfloat_ref.symbolic.units import (
    Combination,
    circuit,
    combinations,
    distance,
    far,
    inputs_of,
    is_product,
    is_quotient,
    is_sum_of_two,
    lane_widths,
    own_inputs,
    selects,
)
from softfloat_ref.units import SelectionUnit, Unit
from softfloat_ref.units.dot import DotUnit
from softfloat_ref.units.operation import OperationUnit


@singledispatch
def cases(unit: Unit) -> Sequence[ProofCase]:
    """The cases of a unit, the same ones in the same order each time; none for units that are not split."""
    return ()


@cases.register
def _operations(unit: OperationUnit) -> Sequence[ProofCase]:
    """Of sums, products and quotients of two."""
    finite = [c for c in combinations(unit, inputs_of(unit)) if c.finite]
    if len(finite) != 1:
        return ()
    split: Sequence[ProofCase] = ()
    if is_sum_of_two(unit):
        split = _sums(unit, finite)
    elif is_product(unit) or is_quotient(unit):
        split = _by_leading_ones(unit, finite[0].guard)
    return tuple(case for case in split if case.assumption is not FALSE)  # some formats have numbers only


def _by_leading_ones(unit: OperationUnit, ordinary: Term) -> Sequence[ProofCase]:
    """By those of the operands: both normal, or one subnormal. A product of two subnormal numbers is below all bits
    that count, as a zero is; a quotient is not."""
    factors = [(f.name, var(f.name, f.width), fmt) for f, fmt in zip(unit.inputs, unit.formats, strict=False)]
    normal, zero = ([is_in(what, code, fmt) for _, code, fmt in factors] for what in ("normal", "zero"))
    (a, *_), (b, *_) = factors
    split = [
        ProofCase("special", not_(ordinary), finite=False),
        ProofCase(f"{a} and {b} normal", and_(ordinary, *normal), finite=True, held={}),
    ]
    for (name, code, fmt), other in zip(factors, reversed(normal), strict=True):
        for k in range(fmt.mantissa_bits):
            mask, value = fmt.magnitude_mask & -(1 << k), 1 << k  # of numbers whose leading one is bit k
            leads = eq(make("and", code.width, code, const(mask, code.width)), const(value, code.width))
            where = and_(ordinary, leads, other)
            split.append(ProofCase(f"{name} subnormal, from bit {k}", where, finite=True, held={name: (mask, value)}))
    zeros, neither = or_(*zero), not_(or_(*normal))
    if is_product(unit):
        return (*split, ProofCase("zero, or both subnormal", and_(ordinary, or_(zeros, neither)), finite=True))
    exponents = {name: (fmt.magnitude_mask & -1 << fmt.mantissa_bits, 0) for name, _, fmt in factors}
    both = ProofCase("both subnormal", and_(ordinary, neither, not_(zeros)), finite=True, held=exponents)
    return (*split, both, ProofCase("zero", and_(ordinary, zeros), finite=True))


def _sums(unit: OperationUnit, finite: Sequence[Combination]) -> Sequence[ProofCase]:
    """By how far apart the exponents of the terms are, one case each where the terms overlap."""
    ordinary = finite[0].guard
    with at(finite[0].path):
        d = distance(unit, finite[0])
    from_here, to_here, _ = far(unit)
    by_distance = _by_distance(SumOfTwo(finite[0].path, d, (from_here, to_here)), ordinary)
    return ProofCase("special", not_(ordinary), finite=False), *(case._replace(finite=True) for case in by_distance)


def _by_distance(total: SumOfTwo, ordinary: Term) -> Iterator[ProofCase]:
    """By how far apart the exponents of two terms are. ordinary: where both are numbers."""
    with at(total.path):
        d, (from_here, to_here) = with_bounds_here(total.distance), total.far
        width = width_of(d.lo - 1, d.hi + 1)
        apart = bits(d, width)
    cuts = sorted({d.lo, *(k for k in range(to_here + 1, from_here + 1) if d.lo < k <= d.hi), d.hi + 1})
    for low, high in zip(cuts, [k - 1 for k in cuts[1:]], strict=False):
        name = f"d={low}" if low == high else f"d={low}..{high}"
        assumption = and_(ordinary, _between(apart, low, high))
        if assumption is not FALSE:
            yield ProofCase(name, assumption, distance=(low, high))


@cases.register
def _dots(unit: DotUnit) -> Sequence[ProofCase]:
    """Of a sum of products that is rounded, and then added to c: that rounding, and how far apart the two are."""
    read = circuit(unit)
    if len(read.rounded) != 1 or len(read.sums) != 1:
        return ()
    (rounded,), (total,) = read.rounded, read.sums
    ordinary = and_(rounded.where, total.path.whole)
    inside = ProofCase("sum of products", rounded.where, inside=True)
    return inside, ProofCase("special", not_(ordinary)), *_by_distance(total, ordinary)


@cases.register
def _parts(unit: SelectionUnit) -> Sequence[ProofCase]:
    """Of operations that control fields select: each by itself, and each in its own cases, if it has any."""
    inputs = inputs_of(unit)
    split: list[ProofCase] = []
    for k, (part, name) in enumerate(unit.part_names.items()):
        where = selects(unit, part, inputs)
        split.append(ProofCase(name, where, part=k))
        own = zip(lane_widths(part.inputs).items(), own_inputs(unit, part, inputs), strict=True)
        by = {var(name, width): bits(x, width) for (name, width), x in own}
        for case in cases(part):
            assumption = and_(where, *substitute([case.assumption], by))
            split.append(case._replace(name=f"{name}: {case.name}", assumption=assumption, part=k, held=None))
    return tuple(split)


def _between(apart: Term, low: int, high: int) -> Term:
    """Whether a signed number lies between two."""
    least, most = const(low, apart.width), const(high, apart.width)
    if low == high:
        return eq(apart, least)
    return and_(not_(make("slt", 1, apart, least)), not_(make("slt", 1, most, apart)))
