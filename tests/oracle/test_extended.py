"""The 80-bit extended format, whose integer bit is stored: its values against a definition in rationals; its operations
against those of the format that hides the bit, which other tests check; what is not canonical; the rounding precision;
the NaN rule of x87. The processor and SoftFloat are in tests/peers."""

from __future__ import annotations

import itertools
from fractions import Fraction
from random import Random

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import encodings
from softfloat_ref.oracle.codec import decode, decoder, encode, target
from softfloat_ref.oracle.exact import GENERATED
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.oracle.formats import Format, define_format, get_format
from softfloat_ref.oracle.literals import shortest
from softfloat_ref.oracle.operations import OPERATIONS, evaluate, evaluator, signature
from softfloat_ref.oracle.operations.steps import evaluated, setting
from softfloat_ref.oracle.policies import POLICIES, Policy, get_policy
from softfloat_ref.oracle.steps import recording

F = get_format("extf80")
BIT = 1 << 63
ONE = 0x3FFF << 64 | BIT
INF, NAN, SNAN = 0x7FFF << 64 | BIT, 0x7FFF << 64 | 3 << 62, 0x7FFF << 64 | BIT | 1
MINUS = 1 << 79
INVALID, VALUE = "invalid", "value"


def small(monkeypatch: pytest.MonkeyPatch, exponent_bits: int = 2, mantissa_bits: int = 2) -> Format:
    """A format with a stored integer bit that is small enough for all of its codes."""
    monkeypatch.setattr("softfloat_ref.oracle.formats.format.MIN_EXPLICIT_WIDTH", 1)
    fields = {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits, "bias": (1 << (exponent_bits - 1)) - 1}
    return define_format({**fields, "signaling": True, "explicit_bit": True}, "small")


def value(fmt: Format, code: int) -> Fraction | str:
    """The definition: sign, exponent and significand of its fields (Intel SDM vol. 1, tables 4-3 and 8-3)."""
    m, e = fmt.mantissa_bits, fmt.exponent_bits
    sign, field = -1 if code >> (e + m + 1) else 1, code >> (m + 1) & ((1 << e) - 1)
    bit, fraction = code >> m & 1, code & ((1 << m) - 1)
    if field == (1 << e) - 1:
        return "nan" if fraction else "inf"
    return sign * (bit + Fraction(fraction, 1 << m)) * Fraction(2) ** (max(field, 1) - fmt.bias)


def supported(fmt: Format, code: int) -> bool:
    """Whether x87 takes it: the integer bit is 1, or the exponent field is 0."""
    return bool(code >> fmt.mantissa_bits & 1 or not code >> (fmt.mantissa_bits + 1) & ((1 << fmt.exponent_bits) - 1))


def test_constants() -> None:
    assert (F.width, F.precision, F.digits, F.sign_bit) == (80, 64, 20, 1 << 79)
    assert F.max_code == 0x7FFE << 64 | (1 << 64) - 1
    assert (F.min_code, F.min_normal_code, F.inf_code, F.canonical_nan) == (1, 1 << 64 | BIT, INF, NAN)
    assert (F.emin, F.emax) == (-16382, 16383)
    assert decode(F.max_code, F).as_fraction() == (2 - Fraction(1, 1 << 63)) * 2**16383
    assert all(get_format(name) is F for name in ("extF80", "fp80", "float80", "x86_fp80"))


@pytest.mark.parametrize("rule", [INVALID, VALUE])
def test_every_code_by_the_definition(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fmt = small(monkeypatch)
    read = decoder(fmt, False, Policy(unnormals=rule).unnormals)
    for code in range(1 << fmt.width):
        x, wanted = read(code), value(fmt, code)
        if rule == INVALID and not supported(fmt, code):
            assert (x.is_nan, x.signaling, x.exponent) == (True, True, -1)
        elif isinstance(wanted, str):
            assert (x.is_nan, x.is_inf) == (wanted == "nan", wanted == "inf")
        else:
            assert x.as_fraction() == wanted
        assert x.sign == code >> (fmt.width - 1)
        assert fmt.is_canonical(code) == (not encodings.kind_of(fmt, code))
        if fmt.is_canonical(code):
            assert fmt.stored(fmt.unstored(code)) == code


def test_flushed_operands_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subnormal numbers are flushed; pseudo-denormals are normal numbers."""
    fmt = small(monkeypatch)
    read = decoder(fmt, True, Policy(unnormals=VALUE).unnormals)
    for code in range(1 << fmt.width):
        wanted = value(fmt, code)
        if isinstance(wanted, Fraction):
            assert read(code).as_fraction() == (wanted if abs(wanted) >= Fraction(2) ** fmt.emin else 0)


NAMES = ["add", "mul", "div", "sqrt", "fma", "rem", "minimum", "lt", "le", "total_order", "next_up", "next_down",
         "copysign", "neg", "class", "round_to_integral_exact", "is_normal", "scaleb"]  # fmt: skip


@pytest.mark.parametrize("op", NAMES)
def test_operations_are_those_of_the_format_that_hides_the_bit(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs of canonical codes, under a policy that depends on the codes."""
    fmt = small(monkeypatch)
    hidden, arity, rng = fmt.hidden, OPERATIONS[op].arity, Random(1)
    integers = "integer" in OPERATIONS[op].operands
    policies = [Policy(nan="propagate"), Policy("rdn", nan="negative"), Policy("rto", tininess="before"),
                Policy("rup", flush_inputs=True, overflow="sat-finite"), Policy("rna", flush_outputs=True)]  # fmt: skip
    runs = [[evaluator(signature(op, f), p) for f in (fmt, hidden)] for p in policies]
    same = signature(op, fmt).out == fmt
    for codes in itertools.product(range(1 << hidden.width), repeat=min(arity, 2)):
        more = (*codes, rng.randrange(1 << hidden.width))[:arity]
        explicit, plain = runs[hash(codes) % len(runs)]
        stored = (fmt.stored(more[0]), more[1]) if integers else tuple(map(fmt.stored, more))
        code, flags = plain(more, 0)
        assert explicit(stored, 0) == (fmt.stored(code) if same else code, flags), (op, more)


@pytest.mark.parametrize("rule", [INVALID, VALUE])
@pytest.mark.parametrize("op", ["add", "mul", "lt_quiet", "minimum_number", "next_up", "class", "convert"])
def test_other_encodings(op: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are what their canonical code is; or invalid, like a signalling NaN whose result is the generated NaN."""
    fmt = small(monkeypatch)
    policy, arity = Policy(unnormals=rule, nan="propagate"), OPERATIONS[op].arity
    run, out = evaluator(signature(op, fmt), policy), signature(op, fmt).out
    snan = fmt.inf_code + 1
    same_as = [canonical(fmt, x) for x in range(1 << fmt.width)]
    for codes in itertools.product(range(1 << fmt.width), repeat=arity):
        if rule == INVALID and not all(supported(fmt, x) for x in codes):
            like = [x if supported(fmt, x) else snan for x in codes]
            code, flags = run(like, 0)
            generated = out == fmt and fmt.is_nan(code)
            assert run(codes, 0) == (fmt.canonical_nan if generated else code, flags), codes
        else:
            assert run(codes, 0) == run([same_as[x] for x in codes], 0), codes


def canonical(fmt: Format, code: int) -> int:
    """The canonical code of what a code is."""
    wanted, sign = value(fmt, code), code & fmt.sign_bit
    if wanted == "nan":
        return code | 1 << fmt.mantissa_bits
    return fmt.inf_code | sign if wanted == "inf" else encode(abs(wanted), fmt).bits | sign


@pytest.mark.parametrize(("precision", "mantissa_bits"), [(64, 52), (32, 23)])
@pytest.mark.parametrize("rounding", ["rne", "rtz", "rup", "rdn", "rna", "rto"])
def test_rounding_precision(precision: int, mantissa_bits: int, rounding: str) -> None:
    """As rounding to the format of that many mantissa bits and all exponents, whose values are then exact."""
    narrow, rng = f"s1e15m{mantissa_bits}", Random(precision)
    exact = get_policy(rounding="rne")
    for op in ("add", "sub", "mul", "div"):
        run = evaluator(signature(op, "extf80"), Policy(rounding, rounding_precision=precision))
        to = evaluator(signature(op, "s1e15m63", narrow), Policy(rounding))
        for _ in range(60):
            e = rng.choice((0, 1, 0x3FFF, 0x7FFE, rng.randrange(0x7FFF)))
            hidden = [max(0, e + rng.randrange(-40, 40)) % 0x7FFF << 63 | rng.getrandbits(63) for _ in "ab"]
            code, flags = to(hidden, 0)
            wide = evaluate("convert", (code,), narrow, "extf80", exact)
            assert run([F.stored(x) for x in hidden], 0) == (wide.bits, flags)


def test_rounding_precision_is_of_arithmetic_only() -> None:
    policy = Policy(rounding_precision=32)
    x = ONE | 0x1234567890ABCDEF
    for op in ("convert", "minimum", "rem", "next_up", "round_to_integral_exact", "neg", "exp"):
        operands = (x,) * OPERATIONS[op].arity
        assert evaluate(op, operands, F, policy=policy) == evaluate(op, operands, F)
    for op in ("add", "sqrt", "fma", "recip", "faa", "rsqrt"):
        got = evaluate(op, (x,) * OPERATIONS[op].arity, F, policy=policy).bits
        assert not got & ((1 << 40) - 1)
        assert got != evaluate(op, (x,) * OPERATIONS[op].arity, F).bits
    assert evaluate("add", (1 << 30, 0), "fp32", policy=policy) == evaluate("add", (1 << 30, 0), "fp32")
    assert target(F, policy).mantissa_bits == 23


def test_overflow_of_the_rounding_precision() -> None:
    """Toward zero, the largest number of that precision."""
    policy = Policy("rtz", rounding_precision=64)
    assert evaluate("add", (F.max_code, F.max_code), F, policy=policy) == (F.max_code & ~0x7FF, 5)
    assert evaluate("add", (F.max_code, F.max_code), F, policy=policy.replace(rounding="rne")) == (INF, 5)


@pytest.mark.parametrize(
    ("a", "b", "wanted", "flags"),
    [
        (NAN | 5, NAN | MINUS | 7, NAN | MINUS | 7, 0),  # the larger significand
        (NAN | 9, NAN | MINUS | 7, NAN | 9, 0),
        (NAN | MINUS | 7, NAN | 7, NAN | 7, 0),  # of equal ones the positive one
        (SNAN | 1 << 60, NAN, NAN, 16),  # a quiet one before a signalling one
        (NAN | MINUS, SNAN | 1 << 60, NAN | MINUS, 16),
        (SNAN, SNAN | 2, NAN | 3, 16),  # the larger of two signalling ones, quieted
        (SNAN | 2, ONE, NAN | 3, 16),
        (INF, INF | MINUS, NAN | MINUS, 16),  # generated: negative
        (0x3FFF << 64, NAN | 9, NAN | MINUS, 16),  # not supported, though the other is a quiet NaN
        (0x7FFF << 64, NAN | 9, NAN | MINUS, 16),
        (0x7FFF << 64 | 5, ONE, NAN | MINUS, 16),
    ],
)
def test_nans_of_x87(a: int, b: int, wanted: int, flags: int) -> None:
    """Intel SDM vol. 1, tables 4-7 and 8-10."""
    for operands in ((a, b), (b, a)):
        assert evaluate("add", operands, F, policy="x87") == (wanted, flags)


def test_steps_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The inner steps of a rounding, which explanations and the diagnosis use."""
    fmt = small(monkeypatch, 4, 5)
    rng = Random(3)
    for op, policy in itertools.product(("add", "mul", "div"), (Policy(), Policy("rtz"), Policy(flush_outputs=True))):
        sig = signature(op, fmt)
        run, s = evaluator(sig, policy), setting(sig, policy)
        for _ in range(80):
            codes = [rng.getrandbits(fmt.width) for _ in "ab"]
            assert evaluated(recording(), s, codes) == run(codes, 0)


def test_numbers_go_in_and_out() -> None:
    assert encode(1, F).bits == ONE
    assert encode(Fraction(1, 3), F) == (0x3FFDAAAAAAAAAAAAAAAB, Flags.INEXACT)
    assert decode(ONE, F).as_fraction() == 1
    rng = Random(5)
    for _ in range(500):
        code = F.stored(rng.getrandbits(79))
        x = decode(code, F)
        policy = Policy(nan="propagate")
        assert encode(x, F, policy).bits == (code | F.quiet_bit if x.is_nan else code)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0x3FFF0000000000000000, "unsupported"),
        (0x3FFF4000000000000000, "unsupported"),
        (0x7FFF0000000000000000, "unsupported"),
        (0xFFFF4000000000000000, "unsupported"),
        (0x7FFF8000000000000001, "snan"),
        (0x7FFFC000000000000000, "nan"),
        (0x00008000000000000000, "0x1p-16382"),
    ],
)
def test_text_of_each_kind_of_code(code: int, text: str) -> None:
    assert shortest(decode(code, F)) == text


def test_the_nan_of_an_invalid_operation_is_not_unsupported() -> None:
    """It has no payload either, but it is quiet."""
    assert not GENERATED.is_unsupported
    assert shortest(GENERATED) == "nan"


def test_definitions() -> None:
    assert define_format(F.to_dict()) == F
    assert "explicit_bit" not in get_format("fp64").to_dict()
    assert define_format({"like": "extf80", "mantissa_bits": 64}, "m").width == 81
    for change, message in (
        ({"mantissa_bits": 40}, "needs 65 bits"),
        ({"subnormals": "none"}, "explicit_bit needs"),
        ({"signed": False}, "explicit_bit needs"),
        ({"nan": "top", "infinity": False, "overflow": "nan", "signaling": False}, "explicit_bit needs"),
    ):
        with pytest.raises(Error, match=message):
            define_format({"like": "extf80", **change}, "x")


def test_policies() -> None:
    assert "unnormals" not in POLICIES["x87"].to_dict()
    table = POLICIES["softfloat-8086"].replace(rounding_precision=32).to_dict()
    assert (table["unnormals"], table["rounding_precision"]) == ("value", 32)
    assert Policy(**table).rounding_precision == 32
    for field, bad in (("unnormals", "x"), ("rounding_precision", 24), ("rounding_precision", "x")):
        with pytest.raises(Error, match=field.replace("_", ".")):
            Policy(**{field: bad})
