"""Functions of vectors by Arb's balls (python-flint): every lane of a unit's exact result, by certain comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from balls import ball, ball_above, holds
from flint import arb, ctx

from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.operations.table import Outcome
from softfloat_ref.units import VectorUnit
from softfloat_ref.units.unit import split

EXACT = 1 << 13  # bits of sums of products
Given = Mapping[str, Sequence[arb]]
Numbers = Sequence[arb]


def shares(x: Numbers) -> list[arb]:
    powers = [(v - _largest(x)).exp() for v in x]
    return [p / sum(powers, arb(0)) for p in powers]


def logarithms(x: Numbers) -> list[arb]:
    """x - max - ln(1 + the sum of the other powers): without cancellation."""
    largest = _largest(x)
    others = sum(((v - largest).exp() for v in x), arb(0)) - 1
    if list(x).count(largest) == 1:
        others = sum(((v - largest).exp() for v in x if v != largest), arb(0))
    return [v - largest - others.log1p() for v in x]


def _largest(x: Numbers) -> arb:
    found = x[0]
    for v in x:
        found = v if v > found else found
    return found


def normalized(x: Numbers, mean: arb, epsilon: Fraction) -> list[arb]:
    added = arb(epsilon.numerator) / epsilon.denominator
    square = sum(((v - mean) ** 2 for v in x), arb(0)) / len(x) + added
    return [(v - mean) / square.sqrt() for v in x]


def logits(unit: VectorUnit, given: Mapping[str, Sequence[Value]], visible: int, bits: int = EXACT) -> list[arb]:
    """What a softmax is of, exactly."""
    ctx.prec = EXACT
    if "x" in given:
        return [*map(ball, given["x"])]
    q, k, (scale,) = ([*map(ball, given[name])] for name in ("q", "k", "scale"))
    rows = [k[i * unit.depth : (i + 1) * unit.depth] for i in range(visible)]
    found = [scale * sum((a * b for a, b in zip(q, row, strict=True)), arb(0)) for row in rows]
    ctx.prec = bits
    return found


def evaluated(unit: VectorUnit, given: Mapping[str, Sequence[Value]], visible: int, bits: int) -> list[arb]:
    """The lanes as balls, where all numbers are finite."""
    ctx.prec = bits
    if "q" in given:
        return [*shares(logits(unit, given, visible, bits)), *[arb(0)] * (unit.length - visible)]
    numbers: Given = {name: [*map(ball, values)] for name, values in given.items()}
    x = numbers["x"]
    if not unit.epsilon:
        return (logarithms if unit.op == "log_softmax" else shares)(x)
    mean = sum(x, arb(0)) / len(x) if unit.op == "layer_norm" else arb(0)
    made = normalized(x, mean, unit.exact_epsilon)
    made = [v * g for v, g in zip(made, numbers.get("gain", [arb(1)] * len(x)), strict=True)]
    return [v + b for v, b in zip(made, numbers.get("bias", [arb(0)] * len(x)), strict=True)]


def wrong_lanes(unit: VectorUnit, inputs: Sequence[int], decode: Callable[[int, str], Value]) -> tuple[int, int]:
    """The lanes of one case whose exact result Arb confirms, and those that it does not. Cases with NaN, and infinite
    operands, are not compared."""
    given = {f.name: [decode(c, f.format) for c in own] for f, own in split(unit.inputs, inputs) if f.name != "r"}
    visible = int(given.pop("visible")[0].as_fraction()) if unit.masked else unit.length
    outcomes: Sequence[Outcome] = unit.unrounded(inputs)
    if not visible or not all(v.is_finite for values in given.values() for v in values):
        return 0, 0
    if all(value.is_nan for value, _ in outcomes):
        return 0, 0
    cache: dict[int, list[arb]] = {}

    def lanes(bits: int) -> list[arb]:
        if bits not in cache:
            cache[bits] = evaluated(unit, given, visible, bits)
        return cache[bits]

    compared = wrong = 0
    for i, (value, _) in enumerate(outcomes):
        compared += 1
        lane = i if i < visible else None
        wrong += not value.is_finite or not _holds(unit, given, visible, lanes, lane, value)
    return compared, wrong


def _holds(
    unit: VectorUnit,
    given: Mapping[str, Sequence[Value]],
    visible: int,
    lanes: Callable[[int], list[arb]],
    i: int | None,
    value: Value,
) -> bool:
    """Whether a lane is right; i: its number, None if it is masked. A share is less than 1 / n where n lanes are not
    less than its own, and a logarithm's magnitude more than the distance of its lane from the largest."""
    if i is None:
        return value.is_zero
    never_low = never_high = False
    if value.sticky and not unit.epsilon:
        x = logits(unit, given, visible)
        if unit.function.share:
            never_high = ball_above(value) >= 1 / arb(sum(v >= x[i] for v in x)) and any(v != x[i] for v in x)
        else:
            never_low = abs(ball(value._replace(sticky=0))) <= _largest(x) - x[i]
    return holds(lambda bits: lanes(bits)[i], value, bool(never_low), bool(never_high))
