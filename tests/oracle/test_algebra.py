"""Properties that hold for every format and policy, on inputs Hypothesis chooses."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from softfloat_ref.oracle.codec import decode, encode, target
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import CATALOGUE, Format, p3109
from softfloat_ref.oracle.literals import hexadecimal, parse_number, shortest
from softfloat_ref.oracle.operations import evaluate
from softfloat_ref.oracle.policies import ROUNDINGS, Overflow, Policy

DETERMINISTIC = [m for m in ROUNDINGS if not m.startswith("sr")]
FLOATS = [f for f in CATALOGUE.values() if not f.is_integer and f.width <= 32]

formats = st.sampled_from(FLOATS) | st.builds(
    lambda k, p, s, e: p3109(k, min(p, k - 1), signed=s, extended=e),
    st.integers(3, 16),
    st.integers(1, 15),
    st.booleans(),
    st.booleans(),
)
policies = st.builds(
    Policy,
    st.sampled_from(DETERMINISTIC),
    st.sampled_from(list(Overflow)),
    tininess=st.sampled_from(["after", "before"]),
)
numbers = (
    st.fractions()
    | st.floats(allow_nan=False, allow_infinity=False).map(Fraction)
    | st.builds(lambda s, e: Fraction(s) * Fraction(2) ** e, st.integers(-(2**30), 2**30), st.integers(-170, 170))
)


@given(numbers, numbers, formats, policies)
def test_monotonic(x: Fraction, y: Fraction, fmt: Format, policy: Policy) -> None:
    if not fmt.signed:
        x, y = abs(x), abs(y)  # a negative value has no place in the order
    low, high = sorted((x, y))
    a, b = (decode(encode(v, fmt, policy).bits, fmt) for v in (low, high))
    assert a.is_nan or b.is_nan or float(a) <= float(b)


@given(numbers, formats, policies)
def test_idempotent(x: Fraction, fmt: Format, policy: Policy) -> None:
    first = decode(encode(x, fmt, policy).bits, fmt)
    if first.is_finite:
        assert encode(first, fmt, policy) == (encode(x, fmt, policy).bits, 0)


@given(numbers, formats, st.sampled_from(["rne", "rna", "rtz", "rto", "rhz"]))
def test_symmetric_in_the_sign(x: Fraction, fmt: Format, mode: str) -> None:
    if fmt.signed and not fmt.twos_complement:
        plus, minus = (decode(encode(v, fmt, mode_policy(mode)).bits, fmt) for v in (x, -x))
        assert plus.is_nan == minus.is_nan
        assert plus.is_nan or float(plus) == -float(minus)


def mode_policy(mode: str) -> Policy:
    return Policy(mode)


@given(numbers, formats, policies)
def test_flags_tell_exactness(x: Fraction, fmt: Format, policy: Policy) -> None:
    bits, flags = encode(x, fmt, policy)
    value = decode(bits, fmt)
    wanted = abs(x) if target(fmt, policy).drop_sign else x
    assert bool(flags & 1) == (not value.is_finite or value.as_fraction() != wanted)
    assert not flags & 0x06 or flags & 1


@given(numbers, formats)
def test_directed_roundings_enclose(x: Fraction, fmt: Format) -> None:
    down, up = (decode(encode(x, fmt, Policy(m, "sat-finite")).bits, fmt) for m in ("rdn", "rup"))
    largest = decode(fmt.max_code, fmt).as_fraction()
    if fmt.signed and not fmt.twos_complement and abs(x) <= largest:
        assert down.as_fraction() <= x <= up.as_fraction()
        for mode in DETERMINISTIC:
            assert decode(encode(x, fmt, Policy(mode, "sat-finite")).bits, fmt) in (down, up) or down == up


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF), st.sampled_from(["add", "mul"]))
def test_commutative(a: int, b: int, op: str) -> None:
    assert evaluate(op, (a, b), "fp16") == evaluate(op, (b, a), "fp16")


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF))
def test_fma_with_zero_is_mul(a: int, b: int) -> None:
    product = evaluate("mul", (a, b), "fp16")
    zero = (a ^ b) & 0x8000  # of the product's sign
    assert evaluate("fma", (a, b, zero), "fp16") == product


@given(st.sampled_from(FLOATS), st.data())
def test_values_read_back_from_text(fmt: Format, data: st.DataObject) -> None:
    value = decode(data.draw(st.integers(0, (1 << fmt.width) - 1)), fmt)
    if value.is_finite:
        again = parse_number(hexadecimal(value))
        assert isinstance(again, Value)
        assert again.as_fraction() == value.as_fraction()
        assert float(shortest(value)) == float(value)


@given(st.integers(0, 2**40), st.integers(1, 8))
def test_stochastic_rounding_is_unbiased(numerator: int, n: int) -> None:
    """Over all random words, sr goes up exactly floor(v 2^n) times of 2^n."""
    x = Fraction(numerator, 2**38) + 1
    if x < 4:
        ups = sum(encode(x, "fp4_e2m1", Policy("sr", sr_bits=n), r).bits for r in range(2**n))
        low = encode(x, "fp4_e2m1", Policy("rtz")).bits
        value, step = decode(low, "fp4_e2m1").as_fraction(), Fraction(1, 2) if x < 2 else Fraction(1)
        assert ups - low * 2**n == (x - value) / step * 2**n // 1
