"""Properties of arithmetic and conversions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from softfloat_ref.base.errors import Undefined
from softfloat_ref.golden.cases import crossed
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN
from softfloat_ref.oracle.flags import INEXACT, INVALID, OVERFLOW, UNDERFLOW
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Operation, Signature, evaluator, get_operation
from softfloat_ref.oracle.operations.formula import DIFFERENCE, IDENTITY, MULTIPLY_ADDS, SUM
from softfloat_ref.oracle.policies import Integers, Policy
from softfloat_ref.testing import strategies
from softfloat_ref.testing.compare import Answer, same_result
from softfloat_ref.testing.conformance.operation import (
    SYMMETRIC,
    OperationCase,
    OperationSetup,
    OperationTrial,
    exact_code,
    fraction_text,
    range_of,
)
from softfloat_ref.testing.conformance.table import (
    alike,
    arithmetic,
    every,
    floating,
    gradual,
    of,
    one_format,
    prop,
    signed,
    with_nan,
)
from softfloat_ref.testing.ulp import Exact

MAX_CROSSED: Final = 1 << 12
LOSS_FLAGS: Final = INEXACT | OVERFLOW | UNDERFLOW


@prop(every)
def oracle(t: OperationTrial, case: OperationCase) -> None:
    """The result and the flags are the oracle's."""
    (answer,) = t.ask(case)
    t.require(t.agrees(case, answer), "the oracle's answer")


def _crosses(setup: OperationSetup) -> str:
    return "" if next(crossed(setup.sig.formats, MAX_CROSSED), None) else "too many operands"


@prop(every, when=(_crosses,), cases=lambda s: st.sampled_from(s.policies))
def special_values(t: OperationTrial, policy: Policy) -> None:
    """Zeros, ones, the smallest, the largest, Inf and NaN, each with each."""
    cases = [OperationCase(codes, 0, policy) for codes in crossed(t.setup.sig.formats, MAX_CROSSED)]
    for case, answer in zip(cases, t.ask(*cases), strict=True):
        if not t.agrees(case, answer):
            t.questions = [(case, answer)]
            t.fail("the oracle's answer")


# -- exactness -------------------------------------------------------------------------------------------------------


@prop(arithmetic)
def exact_where_representable(t: OperationTrial, case: OperationCase) -> None:
    """A result that the format has is given as it is, and no flag says that anything was lost."""
    _exactly(t, case)


def _flushed(setup: OperationSetup, policy: Policy, x: Exact) -> bool:
    """Whether a result of this magnitude is flushed to zero."""
    return policy.flush_outputs and 0 < abs(x.value) < range_of(setup.rounded).least


def _exactly(t: OperationTrial, case: OperationCase) -> None:
    """Require the exact result, if the format has it."""
    x = t.setup.exact(case)
    if not x.is_finite or x.root or _flushed(t.setup, case.policy, x) or exact_code(x.value, t.setup.rounded) is None:
        return
    (answer,) = t.ask(case)
    got = t.value(answer)
    t.require(got.is_finite and got.as_fraction() == x.value, f"exactly {fraction_text(x.value)}")
    t.require(not (answer.flags or 0) & LOSS_FLAGS, "neither inexact nor overflow nor underflow")


def _near_one_another(setup: OperationSetup) -> SearchStrategy[OperationCase]:
    fmt = setup.out
    codes = strategies.bits(fmt, finite=True)
    ulps = st.integers(0, 1 << fmt.mantissa_bits)

    def case(policy: Policy, a: int, by: int, words: int) -> OperationCase:
        near, hidden = fmt.unstored(a), fmt.hidden
        other = min((near & hidden.magnitude_mask) + by, hidden.max_code) | (near & hidden.sign_bit)
        other = fmt.stored(other)
        flip = fmt.sign_bit if setup.sig.operation.formula == SUM else 0
        return OperationCase((a, other ^ flip), words & ((1 << policy.random_count) - 1), policy)

    return st.builds(case, st.sampled_from(setup.policies), codes, ulps, st.integers(0, 255))


@prop(of(SUM, DIFFERENCE), when=(signed, one_format, gradual), cases=_near_one_another)
def sterbenz(t: OperationTrial, case: OperationCase) -> None:
    """The difference x - y is exact where y/2 <= x <= 2y (Sterbenz)."""
    if not all(v.is_finite for v in t.operands(case)):
        return
    x, y = (abs(v.as_fraction()) for v in t.operands(case))
    if x and 2 * min(x, y) >= max(x, y):
        _exactly(t, case)


def _products(setup: OperationSetup) -> SearchStrategy[OperationCase]:
    """a, b, and the rounded product, with the sign with which it cancels the product."""
    fmt, formula = setup.out, setup.sig.operation.formula
    flip = fmt.sign_bit if formula is not None and len(set(formula.minus)) == 1 else 0
    run = evaluator(Signature(get_operation("mul"), setup.sig.formats[:2], fmt), Policy())

    def case(drawn: OperationCase) -> OperationCase:
        a, b, _ = drawn.operands
        return drawn._replace(operands=(a, b, run((a, b), 0)[0] ^ flip))

    return setup.cases().map(case)


def _addend_as_result(setup: OperationSetup) -> str:
    return "" if setup.sig.formats[2] == setup.out else "the addend has another format than the result"


@prop(of(*MULTIPLY_ADDS), when=(signed, _addend_as_result), cases=_products)
def fused(t: OperationTrial, case: OperationCase) -> None:
    """The product less its rounded value is the rounding error: the product is not rounded by itself."""
    if t.setup.exact(case).value:
        _exactly(t, case)


def _of_results(setup: OperationSetup) -> SearchStrategy[OperationCase]:
    """Operands that are values of the result's format."""
    source = setup.sig.formats[0]
    encode = encoder(source, Policy())

    def case(policy: Policy, code: int, words: int) -> OperationCase:
        x = decoder(setup.out)(code)
        return OperationCase((encode(x, 0)[0],), words & ((1 << policy.random_count) - 1), policy)

    codes = strategies.bits(setup.out, finite=True)
    return st.builds(case, st.sampled_from(setup.policies), codes, st.integers(0, 255))


@prop(of(IDENTITY), cases=_of_results)
def idempotent(t: OperationTrial, case: OperationCase) -> None:
    """What has the format's precision already is not rounded again."""
    _exactly(t, case)


# -- symmetries ------------------------------------------------------------------------------------------------------


@prop(lambda operation: operation.commutes, when=(alike,))
def commutative(t: OperationTrial, case: OperationCase) -> None:
    """Swapping a and b changes nothing."""
    a, b, *rest = case.operands
    first, second = t.ask(case, case._replace(operands=(b, a, *rest)))
    propagates = case.policy.nan_rule.propagate != "no"
    same = first.result == second.result or (propagates and t.value(first).is_nan and t.value(second).is_nan)
    t.require(same and first.flags == second.flags, "the same answer for both")


def _scales(operation: Operation) -> bool:
    """Arithmetic whose result scales with its operands."""
    return arithmetic(operation) and operation.formula is not None


def _odd(operation: Operation) -> bool:
    """Operations whose result is negated with their operands."""
    if operation.curve is not None:
        return operation.curve.parity == "odd"
    return _scales(operation) and not (operation.formula and operation.formula.root)


def _scaling(operation: Operation, k: int) -> dict[int, int]:
    return operation.formula.scaling(k) if operation.formula else {}


def _negated(t: OperationTrial, case: OperationCase) -> OperationCase | None:
    """The case of opposite operands: of a function, the first one; None where an operand has no opposite."""
    codes = list(case.operands)
    for i in _scaling(t.setup.sig.operation, 1) or (0,):
        fmt = t.setup.sig.formats[i]
        if fmt.is_nan(codes[i]) or (not fmt.negative_zero and not codes[i] & fmt.magnitude_mask):
            return None
        codes[i] ^= fmt.sign_bit
    return case._replace(operands=tuple(codes))


@prop(_odd, when=(signed,), roundings=SYMMETRIC)
def sign_symmetry(t: OperationTrial, case: OperationCase) -> None:
    """Opposite operands give the opposite result."""
    x, other = t.setup.exact(case), _negated(t, case)
    if other is None or x.kind == NAN or (x.kind == FINITE and not x.value):
        return
    first, second = t.ask(case, other)
    a, b = t.value(first), t.value(second)
    opposite = (a.is_nan and b.is_nan) or (a.is_zero and b.is_zero and not t.setup.out.negative_zero)
    opposite = opposite or first.result ^ second.result == t.setup.out.sign_bit
    t.require(opposite and first.flags == second.flags, "opposite results, the same flags")


def _with_sign(setup: OperationSetup) -> str:
    fmt = setup.sig.formats[0]
    return "" if fmt.signed and not fmt.twos_complement else f"{fmt.name} has no sign bit"


@prop(lambda operation: operation.curve is not None and operation.curve.parity == "even", when=(_with_sign,))
def even_symmetry(t: OperationTrial, case: OperationCase) -> None:
    """Opposite operands give the same result."""
    other = _negated(t, case)
    if other is None:
        return
    first, second = t.ask(case, other)
    t.require(first == second, "the same answer for both")


def _bounds(setup: OperationSetup) -> str:
    """No rounding passes a number that the format has."""
    curve = setup.sig.operation.curve
    if curve is None or (curve.most is None and curve.negative):
        return f"{setup.sig.operation.name} has no bound"
    known = curve.most is None or exact_code(Fraction(curve.most), setup.out) is not None
    return "" if known else f"{setup.out.name} has no {curve.most}"


@prop(lambda operation: operation.curve is not None, when=(_bounds,))
def bounded(t: OperationTrial, case: OperationCase) -> None:
    """The result is within the bounds of the function."""
    curve = t.setup.sig.operation.curve
    (answer,) = t.ask(case)
    got = t.value(answer)
    if curve is None or got.is_nan:
        return
    if curve.most is not None:
        inside = got.is_finite and abs(got.as_fraction()) <= curve.most
        t.require(inside, f"a number of magnitude {curve.most} or less")
    t.require(curve.negative or not got.sign, "no negative number")


def _scalable(setup: OperationSetup) -> str:
    one_bit = setup.out.p3109 and not setup.out.mantissa_bits
    return "ties look at the exponent's parity" if one_bit else ""


@prop(
    _scales,
    when=(floating, _scalable),
    cases=lambda s: st.tuples(s.cases(), st.sampled_from([1, -1, 2, -2, 3, -3, 7, -7])),
)
def scaling(t: OperationTrial, drawn: tuple[OperationCase, int]) -> None:
    """Powers of two pass through, where nothing is subnormal or overflows."""
    case, k = drawn
    moved = _moved(t, case, k)
    x, limits = t.setup.exact(case), range_of(t.setup.rounded)
    if moved is None or not x.is_finite or not x.value or (x.sign and not t.setup.out.signed):
        return
    y = t.setup.exact(moved)
    if not all(_in_range(z, limits.least, limits.largest) for z in (x, y)):
        return
    first, second = t.ask(case, moved)
    a, b = t.value(first), t.value(second)
    # a result may still round beyond the range, where the other one does not
    if a.is_finite and b.is_finite:
        t.require(a.as_fraction() * Fraction(2) ** k == b.as_fraction(), f"results that differ by 2^{k}")
        t.require(first.flags == second.flags, "the same flags for both")


def _in_range(x: Exact, least: Fraction, largest: Fraction) -> bool:
    size = x._replace(value=abs(x.value))
    return size.compare(least) >= 0 >= size.compare(largest)


def _moved(t: OperationTrial, case: OperationCase, k: int) -> OperationCase | None:
    """The case whose exact result is 2^k times as large; None where an operand cannot be."""
    powers = _scaling(t.setup.sig.operation, k)
    codes = []
    for i, (code, fmt, x) in enumerate(zip(case.operands, t.setup.sig.formats, t.operands(case), strict=True)):
        power = powers.get(i, 0)
        if not x.is_finite or (x.is_zero and decoder(fmt)(code).significand):
            return None
        scaled = x._replace(exponent=x.exponent + power)
        new = code if not power or x.is_zero else exact_code(scaled.as_fraction(), fmt)
        if new is None or not _kept(fmt, case.policy, new):
            return None
        codes.append(new)
    return case._replace(operands=tuple(codes))


def _kept(fmt: Format, policy: Policy, code: int) -> bool:
    """Whether a code is read as it is, not flushed."""
    return not policy.flush_inputs or decoder(fmt, True)(code) == decoder(fmt)(code)


# -- order -----------------------------------------------------------------------------------------------------------


def _pairs(setup: OperationSetup) -> SearchStrategy[Any]:
    first = setup.sig.formats[0]
    near = st.sampled_from([1, -1, 2, -2, first.sign_bit])

    def pair(case: OperationCase, by: int, other: int, beside: bool) -> tuple[OperationCase, OperationCase]:
        a = (case.operands[0] + by) % (1 << first.width) if beside else other
        return case, case._replace(operands=(a, *case.operands[1:]))

    return st.builds(pair, setup.cases(), near, strategies.bits(first), st.booleans())


def _ordered(setup: OperationSetup) -> str:
    indefinite = setup.out.is_integer and setup.policy.integers == Integers.X86
    return "what is out of range gives one code (integers = x86)" if indefinite else ""


@prop(arithmetic, when=(_ordered,), cases=_pairs)
def monotonic(t: OperationTrial, pair: tuple[OperationCase, OperationCase]) -> None:
    """A larger exact result is not rounded to a smaller one."""
    exacts = [t.setup.exact(case) for case in pair]
    if any(x.kind == NAN or (x.sign and not t.setup.out.signed) for x in exacts):
        return
    answers = t.ask(*pair)
    low, high = (0, 1) if _compare(exacts[0], exacts[1]) <= 0 else (1, 0)
    a, b = t.value(answers[low]), t.value(answers[high])
    if not (a.is_nan or b.is_nan):
        t.require(exact.compare(a, b) <= 0, "results in the order of the exact ones")


def _compare(x: Exact, y: Exact) -> int:
    if x.kind == INF or y.kind == INF:
        ranks = [(-1 if z.sign else 1) * int(z.kind == INF) for z in (x, y)]
        return ranks[0] - ranks[1]
    if x.root != y.root:
        return x.compare(y.value) if x.root else -y.compare(x.value)
    return (x.value > y.value) - (x.value < y.value)


# -- NaN -------------------------------------------------------------------------------------------------------------


def _with_nans(setup: OperationSetup) -> SearchStrategy[OperationCase]:
    places = [i for i, f in enumerate(setup.sig.formats) if f.has_nan]

    def case(drawn: OperationCase, i: int, code: int) -> OperationCase:
        fmt = setup.sig.formats[i]
        inside = fmt.nan == "ieee" and fmt.mantissa_bits > 0
        nan = fmt.inf_code + 1 + code % (fmt.magnitude_mask - fmt.inf_code) if inside else fmt.canonical_nan
        nan |= fmt.sign_bit & code if inside else 0
        return drawn._replace(operands=(*drawn.operands[:i], nan, *drawn.operands[i + 1 :]))

    return st.builds(case, setup.cases(), st.sampled_from(places), st.integers(0, (1 << 64) - 1))


@prop(arithmetic, when=(with_nan,), cases=_with_nans)
def nan(t: OperationTrial, case: OperationCase) -> None:
    """A NaN operand gives the policy's NaN; only a signalling one raises invalid."""
    (answer,) = t.ask(case)
    try:
        expected, flags = t.oracle(case)
    except Undefined:
        return
    t.require(same_result(expected, answer.result, t.setup.rule), f"{t.setup.out.hex(expected)}")
    if answer.flags is not None and t.setup.rule.flags:
        t.require(answer.flags == flags, "invalid" if flags else "no flags")


# -- flags -----------------------------------------------------------------------------------------------------------


@prop(arithmetic, when=(lambda s: "" if s.rule.flags else "flags do not count",))
def flags(t: OperationTrial, case: OperationCase) -> None:
    """Inexact where the result is not the exact one, and only there; overflow and underflow as well."""
    x = t.setup.exact(case)
    (answer,) = t.ask(case)
    if answer.flags is None or any(v.is_nan for v in t.operands(case)):
        return
    if x.kind == NAN:
        t.require(answer.flags == INVALID, "invalid alone: no number is the result")
    elif x.kind == FINITE and t.setup.out.zero and not (x.sign and not t.setup.out.signed):
        _flags_of_number(t, case, x, answer)


def _flags_of_number(t: OperationTrial, case: OperationCase, x: Exact, answer: Answer) -> None:
    got, raised, limits = t.value(answer), answer.flags or 0, range_of(t.setup.rounded)
    if raised & INVALID:
        t.require(t.setup.out.is_integer, "not invalid: the result is a number")
        return
    size = x._replace(value=abs(x.value))
    lost = not got.is_finite or x.root or got.as_fraction() != x.value
    if not _flushed(t.setup, case.policy, x):
        t.require(bool(raised & INEXACT) == lost, "inexact" if lost else "not inexact: nothing was lost")
        t.require(bool(raised & INEXACT) or not raised & (OVERFLOW | UNDERFLOW), "overflow and underflow with inexact")
    if raised & OVERFLOW:
        t.require(size.compare(limits.largest) > 0, "no overflow: the exact result is in range")
    if raised & UNDERFLOW:
        t.require(size.compare(limits.least) < 0, "no underflow: the exact result is not tiny")
