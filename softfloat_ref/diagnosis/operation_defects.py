"""Defects of a scalar operation: in its operands, in the operation itself, in its rounding, and in its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.answer_defects import answer_defects
from softfloat_ref.diagnosis.function_defects import function_defects
from softfloat_ref.diagnosis.hypotheses import Hypothesis
from softfloat_ref.diagnosis.operand_defects import operand_defects, taken_defects
from softfloat_ref.diagnosis.operation_models import Run, Scalar, Values, always_exact
from softfloat_ref.diagnosis.random_defects import random_defects
from softfloat_ref.diagnosis.rounding_defects import of_encoders, rounding_defects
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import Encoder, decoder, encoder
from softfloat_ref.oracle.exact import FINITE
from softfloat_ref.oracle.flags import INEXACT, UNDERFLOW
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.operations import OPERATIONS, Signature, Unrounded, evaluator, unrounded
from softfloat_ref.oracle.operations.formula import MULTIPLY_ADD, QUOTIENT, Formula
from softfloat_ref.oracle.operations.table import LETTERS, confused_with

MORE_BITS: Final = 16  # extra bits of quotients and roots, for defects that depend on bits below the guard bit


def scalar_defects(s: Scalar) -> Iterator[Hypothesis]:
    """Every listed defect that the operation can have."""
    yield from answer_defects(s)
    if s.sig.operation.result == "float":
        yield from _rounding_defects(s)
    yield from operand_defects(s)
    formula = s.sig.operation.formula
    if formula is not None and formula.is_sum:
        yield from _sum_defects(s, formula)
    if formula == MULTIPLY_ADD:
        yield from _fma_defects(s)
    yield from function_defects(s)
    if s.policy.random_count:
        yield from random_defects(s.model, evaluator(s.sig, s.policy), s.policy.random_count, s.arity, s.source)
    yield from _other_operations(s)
    yield from taken_defects(s)


# -- rounding --------------------------------------------------------------------------------------------------------


def _rounding_defects(s: Scalar) -> Iterator[Hypothesis]:
    compute = unrounded(s.sig, s.policy, MORE_BITS)
    conversion = s.sig.operation.is_conversion
    rows = [x for x in rounding_defects() if not (x.via and conversion and always_exact(s.sig.formats[0], x.via))]
    yield from of_encoders(rows, s.sig.out, s.policy, lambda encode: s.model(partial(_rounded, compute, encode)))


def _rounded(compute: Unrounded, encode: Encoder, codes: Sequence[int], r: int) -> tuple[int, int]:
    value, flags = compute(codes, r)
    code, more = encode(value, r)
    return code, flags | more


# -- sums ------------------------------------------------------------------------------------------------------------


def _sum_defects(s: Scalar, formula: Formula) -> Iterator[Hypothesis]:
    out, compute = s.sig.out, unrounded(s.sig, s.policy)
    if not out.negative_zero:
        return
    encode = encoder(out, s.policy)
    for sign, shown in ((0, "+0"), (1, "-0")):

        def signed(codes: Sequence[int], r: int, zero: int = out.sign_bit * sign) -> tuple[int, int]:
            value, flags = compute(codes, r)
            code, more = encode(value, r)
            return (zero if value.is_zero and _cancels(s, formula, codes) else code), flags | more

        yield Hypothesis(f"x - x is {shown}", f"gives {shown} where a sum cancels to zero", s.model(signed))


def _cancels(s: Scalar, formula: Formula, codes: Sequence[int]) -> bool:
    """Whether an exact zero results from terms that are not all zeros of one sign."""
    values = [decoder(f)(x) for f, x in zip(s.sig.formats, codes, strict=True)]
    return len({x.sign for x in formula.values(values)}) > 1


# -- fused multiply-add ----------------------------------------------------------------------------------------------


def _fma_defects(s: Scalar) -> Iterator[Hypothesis]:
    for name in dict.fromkeys((s.sig.out.name, "fp32", "fp64")):
        if name in CATALOGUE and CATALOGUE[name].mantissa_bits >= s.sig.out.mantissa_bits:
            says = f"is not fused: it rounds the product to {name} before it adds"
            yield Hypothesis(f"not fused, product in {name}", says, s.model(_unfused(s, CATALOGUE[name])))
    for bits in range(4):
        says = f"cuts the product to {s.sig.out.precision + bits} bits before it adds"
        yield Hypothesis(f"product cut to p+{bits} bits", says, s.on_values(_cut_product(s, bits)))
    for places in (1, 2, 3):
        below = f"{places} place{'s' * (places > 1)} below the product"
        yield Hypothesis(
            f"addend cut {below}",
            f"loses the bits that alignment shifts out of the addend, {below}",
            s.on_values(_cut_addend(s, places, False)),
        )
        yield Hypothesis(
            f"no borrow {below}",
            f"does not borrow for the bits that alignment shifts out of the addend, {below}, when it subtracts",
            s.on_values(_cut_addend(s, places, True)),
        )

    for n in range(2, 2 * s.sig.out.precision):
        yield Hypothesis(
            f"normalised by at most {n} places",
            f"normalises by at most {n} places below the product's first place, and loses the leading one beyond that",
            s.model(_short_normalisation(s, n)),
        )


def _short_normalisation(s: Scalar, places: int) -> Run:
    """A sum whose leading one lies deeper is packed as if its leading one were at the limit."""
    out, right, encode = s.sig.out, evaluator(s.sig, s.policy), encoder(s.sig.out, s.policy)
    decoders, compute = [decoder(f) for f in s.sig.formats], unrounded(s.sig, s.policy)
    bits = s.sig.formats[0].precision + s.sig.formats[1].precision

    def run(codes: Sequence[int], r: int) -> tuple[int, int]:
        a, b, _ = (decode(code) for decode, code in zip(decoders, codes, strict=True))
        value, _ = compute(codes, r)
        if not _finite([a, b]) or value.kind != FINITE or not value.significand:
            return right(codes, r)
        lowest = a.exponent + b.exponent + bits - 1 - places
        if exact.top(value) >= max(lowest, out.emin):
            return right(codes, r)
        lowest = max(lowest, out.emin)
        code, flags = encode(exact.add(value, exact.finite(value.sign, 1, lowest)), r)
        return code - (1 << out.mantissa_bits), flags | (UNDERFLOW if flags & INEXACT else 0)

    return run


def _unfused(s: Scalar, product: Format) -> Run:
    first = evaluator(Signature(OPERATIONS["mul"], s.sig.formats[:2], product), s.policy)
    second = evaluator(Signature(OPERATIONS["add"], (product, s.sig.formats[2]), s.sig.out), s.policy)

    return _in_turn(lambda codes, r: first(codes[:2], r), lambda code, codes, r: second((code, codes[2]), r))


def _in_turn(first: Run, second: Callable[[int, Sequence[int], int], tuple[int, int]]) -> Run:
    """Two roundings: the second operation takes the first one's result, and the operands."""

    def run(codes: Sequence[int], r: int) -> tuple[int, int]:
        code, flags = first(codes, r)
        found, more = second(code, codes, r)
        return found, flags | more

    return run


_ONE: Final = exact.finite(0, 1, 0)


def _finite(values: Values) -> bool:
    return all(x.kind == FINITE and x.significand for x in values)


def _cut_product(s: Scalar, bits: int) -> Callable[[Sequence[int], Values], Values | None]:
    """The product in a field as wide as both operands' bits together, with its last bits cleared."""
    full = s.sig.formats[0].precision + s.sig.formats[1].precision
    low = max(full - s.sig.out.precision - bits, 0)

    def change(codes: Sequence[int], values: Values) -> Values | None:
        if not _finite(values[:2]) or values[2].kind != FINITE:
            return None
        product = exact.multiply(values[0], values[1])
        return [product._replace(significand=product.significand >> low << low), _ONE, values[2]]

    return change


def _cut_addend(s: Scalar, places: int, no_borrow: bool) -> Callable[[Sequence[int], Values], Values | None]:
    """The addend cut `places` places below the product's last bit; no_borrow: the lost bits are or-ed into the sum."""

    def change(codes: Sequence[int], values: Values) -> Values | None:
        a, b, c = values
        if not _finite(values):
            return None
        product = exact.multiply(a, b)
        drop = product.exponent - places - c.exponent
        kept = c.significand >> drop << drop if drop > 0 else c.significand
        if kept == c.significand:
            return None
        cut = c._replace(significand=kept) if kept else exact.zero(c.sign)
        if not no_borrow:
            return [product, _ONE, cut]
        total = exact.add(product, cut)
        return [
            exact.add(total, exact.finite(total.sign, 1, product.exponent - places - 1)),
            _ONE,
            exact.zero(total.sign),
        ]

    return change


# -- another operation -----------------------------------------------------------------------------------------------


def _other_operations(s: Scalar) -> Iterator[Hypothesis]:
    operation = s.sig.operation
    for other in confused_with(operation):
        try:
            run = evaluator(Signature(other, s.sig.formats, s.sig.out), s.policy)
        except Error:
            continue
        yield Hypothesis(f"operation {other.name}", f"computes {other.name}", s.model(run))
    if operation.formula == QUOTIENT and s.sig.formats[0] == s.sig.formats[1]:
        yield Hypothesis("a * (1 / b)", "multiplies by the rounded reciprocal of b", s.model(_by_reciprocal(s)))
    run = evaluator(s.sig, s.policy)
    for i, j in combinations(range(s.arity), 2):
        if s.sig.formats[i] != s.sig.formats[j] or (operation.formula == MULTIPLY_ADD and j == 1):
            continue

        def exchanged(codes: Sequence[int], r: int, i: int = i, j: int = j) -> tuple[int, int]:
            found = list(codes)
            found[i], found[j] = codes[j], codes[i]
            return run(found, r)

        which = "its operands" if s.arity == 2 else f"{LETTERS[i]} and {LETTERS[j]}"
        shown = "operands" if s.arity == 2 else which
        yield Hypothesis(f"{shown} exchanged", f"exchanges {which}", s.model(exchanged))


def _by_reciprocal(s: Scalar) -> Run:
    """Rounds twice: 1 / b, then the product."""
    fmt = s.sig.formats[0]
    divide = evaluator(Signature(OPERATIONS["div"], (fmt, fmt), s.sig.out), s.policy)
    multiply = evaluator(Signature(OPERATIONS["mul"], (fmt, s.sig.out), s.sig.out), s.policy)
    one = encoder(fmt, s.policy)(_ONE, 0)[0]

    return _in_turn(lambda codes, r: divide((one, codes[1]), r), lambda code, codes, r: multiply((codes[0], code), r))
