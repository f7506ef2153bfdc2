"""Explains a scalar result step by step, and finds the other choices that give a device's answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import FLAGS, check_random, decoder, encoder, needed_bits, target, to_value
from softfloat_ref.oracle.encodings import SUPPORTED, kind_of
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.literals import hexadecimal, shortest
from softfloat_ref.oracle.operations import Signature, evaluator, unrounded
from softfloat_ref.oracle.policies import (
    PRECISIONS,
    ROUNDINGS,
    Integers,
    NanMissing,
    Overflow,
    Policy,
    Specials,
    Tininess,
    Unnormals,
    parse_rounding,
    rounding_name,
)
from softfloat_ref.oracle.rounding import Target, is_tiny, position, rounds_up
from softfloat_ref.units.unit import LETTERS

MAX_FLAGS: Final = len(FLAGS) - 1
Rows = list[tuple[str, str]]
SHOWN_BITS: Final = 24  # of the discarded ones; more where all after the first one are equal
_MORE_SHOWN_BITS: Final = (48, 96, 192)

_ROUNDING_TEXTS: Final = {
    "rne": "to nearest, ties to even",
    "rna": "to nearest, ties away from zero",
    "rtz": "toward zero",
    "rup": "toward positive",
    "rdn": "toward negative",
    "rto": "to odd",
    "rnu": "to nearest, ties up",
    "rhz": "to nearest, ties to zero",
    "sr": "stochastic: floor(v 2^n) + r >= 2^n",
    "sr-b": "stochastic: floor(v 2^(n+1)) + 2r + 1 >= 2^(n+1)",
    "sr-c": "stochastic: RNE(v 2^n) + r >= 2^n",
}


def fields(code: int, fmt: Format) -> str:
    """The code in binary, split into sign, exponent, the integer bit if it is stored, and mantissa."""
    bits = f"{code:0{fmt.width}b}"
    sign, mantissa = int(fmt.signed), fmt.width - fmt.mantissa_bits
    exponent = sign + fmt.exponent_bits
    parts = bits[:sign], bits[sign:exponent], bits[exponent:mantissa], bits[mantissa:]
    return " ".join(filter(None, parts))


def describe(code: int, fmt: Format) -> str:
    """A code with its value: `2a = 0.3125 (0x1.4p-2)`."""
    return f"{fmt.hex(code)} = {code_value(code, fmt)}"


def code_value(code: int, fmt: Format) -> str:
    """The value of a code; of an encoding that is not canonical, what it is called and says."""
    kind = kind_of(fmt, code)
    if not kind:
        return value_text(decoder(fmt)(code))
    value = value_text(decoder(fmt, False, Unnormals.VALUE)(code))
    return f"{kind}: {value}" if kind in SUPPORTED else f"{kind}, not supported by x87: {value}"


def scale_text(code: int, fmt: Format) -> str:
    """The code of a scale with its value, as a power of two if it is one: `7f = 2^0`."""
    x = decoder(fmt)(code)
    return f"{fmt.hex(code)} = {f'2^{exact.top(x)}' if x.significand == 1 else shortest(x)}"


def value_text(x: Value) -> str:
    """A value in decimal and hexadecimal, or in hexadecimal alone if it is too large or small for a decimal."""
    if x.kind == NAN:
        payload = f", payload {x.significand:x}" if x.significand else ""
        return f"{shortest(x)}{' (sign set)' if x.sign else ''}{payload}"
    if x.kind == INF or x.significand == 0:
        return shortest(x)
    if x.sticky:  # cut: the dots stand for the remaining digits
        return hexadecimal(x)
    near, whole = shortest(x), hexadecimal(x)
    return near if near == whole else f"{near} ({whole})"


def flag_text(flags: int) -> str:
    """The flags as TestFloat's two digits and their names."""
    names = [f.name.lower().replace("_", " ") for f in Flags if flags & f and f.name]
    return f"{flags:02x}" + (f" {', '.join(names)}" if names else "")


@dataclass(frozen=True)
class ScalarExplanation:
    """Labelled lines, in order, and the result."""

    rows: Rows
    bits: int
    flags: int


def explain_conversion(x: Fraction | Value, fmt: Format, policy: Policy, random_bits: int | None) -> ScalarExplanation:
    """Each step of rounding a number to a format."""
    r = check_random(policy, random_bits)
    value = to_value(x, needed_bits(fmt, policy) + 2 * SHOWN_BITS)
    bits, flags = encoder(fmt, policy)(value, r)
    rows = [("exact", _exact_text(x, value))]
    rows += _rounding_rows(value, fmt, policy, r, bits, flags)
    return ScalarExplanation(rows, bits, flags)


def _exact_text(x: Fraction | Value, value: Value) -> str:
    if isinstance(x, Fraction) and value.sticky:
        short = x.numerator.bit_length() + x.denominator.bit_length() <= 128
        return f"{x} = {hexadecimal(value)}" if short else hexadecimal(value)
    return value_text(value)


def _rounding_rows(
    value: Value, fmt: Format, policy: Policy, r: int, bits: int, flags: int, shown: int = SHOWN_BITS
) -> Rows:
    result = decoder(fmt)(bits)
    rows = [("result", describe(bits, fmt)), ("fields", fields(bits, fmt)), ("flags", flag_text(flags))]
    if value.kind != FINITE or value.significand == 0:
        return [*rows, ("rule", _special_rule(value, fmt, policy))]
    rows += _neighbour_rows(value, fmt, policy)
    rows += _bit_rows(value, fmt, policy, r, shown)
    if policy.flush_outputs and encoder(fmt, policy.replace(flush_outputs=False))(value, r)[0] != bits:
        rows.append(("flushed", f"to zero: flush_outputs = on, flush_rule = {policy.flush_rule}"))
    if result.kind == FINITE:
        rows.append(("error", _error_text(value, result, policy.rounded_format(fmt))))
    return rows


def _special_rule(value: Value, fmt: Format, policy: Policy) -> str:
    if value.kind == NAN:
        return f"NaN: nan = {policy.nan}" if fmt.has_nan else f"no NaN: nan_missing = {policy.nan_missing}"
    if value.kind == INF:
        return f"infinity: {_overflow_rule(fmt, policy)}"
    return "zero keeps its sign" if fmt.negative_zero else "zero" if fmt.zero else "the format has no zero"


def _neighbour_rows(value: Value, fmt: Format, policy: Policy) -> Rows:
    """The representable values on both sides."""
    clamped = {"overflow": "sat-finite", "flush_outputs": False, "sr_bits": None}
    sides = {label: policy.replace(rounding=mode, **clamped) for label, mode in (("below", "rdn"), ("above", "rup"))}
    return [(label, describe(encoder(fmt, near)(value, 0)[0], fmt)) for label, near in sides.items()]


def _bit_rows(value: Value, fmt: Format, policy: Policy, r: int, bits: int) -> Rows:
    """The kept bits, the discarded bits, and the rounding decision, queried from the functions that make it."""
    t = target(fmt, policy)
    sign = 0 if t.drop_sign else value.sign
    magnitude = (value.significand, value.exponent, value.significand.bit_length(), value.sticky)
    code, kept_bits, discarded, rest = _divided(value, t, bits)
    dropped = [("sign", "dropped: the format is unsigned")] if t.drop_sign and value.sign else []
    if code > t.max_code + 1:
        far = "" if sign and not fmt.signed else "far "
        return [*dropped, ("overflow", f"{far}{_overflow_text(sign, fmt, policy)}")]
    in_gap = bool(t.gap and code == 0)
    width = 1 if in_gap or fmt.twos_complement else t.mantissa_bits + 1
    unit = "the smallest normal" if in_gap else f"2^{max(exact.top(value), t.emin) - t.mantissa_bits}"
    tail = f"{discarded:0{bits}b}".rstrip("0") or "0"
    tail = tail.ljust(bits, "0") if bits > SHOWN_BITS else tail
    up, rule = _decision(magnitude, sign, policy, r, t)
    rows = [
        *dropped,
        ("kept", f"{kept_bits:0{width}b} in units of {unit}"),
        ("discarded", f"{tail}{'...' if rest else ''} ({_fraction_text(discarded, rest, 1 << (bits - 1))})"),
        ("rule", rule),
    ]
    if fmt.explicit_bit and t.mantissa_bits < fmt.mantissa_bits:
        rows.append(("precision", f"{t.mantissa_bits + 1} bits: rounding_precision = {policy.rounding_precision}"))
    if code + up > (t.max_negative_code if sign else t.max_code):
        rows.append(("overflow", _overflow_text(sign, fmt, policy)))
    if is_tiny(sign, *magnitude, r, t.tininess, t):
        rows.append(("tiny", f"below the smallest normal, judged {policy.tininess} rounding"))
    return rows


def _divided(value: Value, t: Target, bits: int) -> tuple[int, int, int, int]:
    """The position of a value, with so many discarded bits."""
    length = value.significand.bit_length()
    finer = t._replace(random_count=bits - 1)
    return position(value.significand, value.exponent, length, value.sticky, bits - 1, finer)


def _needed_to_see(value: Value, fmt: Format, policy: Policy) -> int:
    """How many discarded bits of a cut value to show, for one after the first to differ from the next."""
    if value.kind != FINITE or not value.sticky:
        return SHOWN_BITS
    for bits in (SHOWN_BITS, *_MORE_SHOWN_BITS):
        after = _divided(value, target(fmt, policy), bits)[2] & ((1 << (bits - 1)) - 1)
        if 0 < after < (1 << (bits - 1)) - 1:
            return bits
    return SHOWN_BITS


def _overflow_text(sign: int, fmt: Format, policy: Policy) -> str:
    if not sign or fmt.signed:
        return f"beyond the largest finite value; {_overflow_rule(fmt, policy)}"
    if fmt.is_integer or policy.overflow_for(fmt) != Overflow.SAT_NONE:
        return f"below zero, and the format has no sign; {_overflow_rule(fmt, policy)}"
    return "below zero, and the format has no sign; overflow = sat-none: NaN, or 0 where the rounding goes toward zero"


def _overflow_rule(fmt: Format, policy: Policy) -> str:
    if fmt.is_integer:
        return f"integers = {policy.integers}"
    rule, kind = policy.overflow_for(fmt), f"overflow without saturation is {fmt.overflow}"
    if policy.overflow is None:
        return f"overflow = {rule}, the default for this format, whose {kind}"
    return f"overflow = {rule}; the format's {kind}"


def _decision(magnitude: tuple[int, int, int, int], sign: int, policy: Policy, r: int, t: Target) -> tuple[bool, str]:
    """Whether the magnitude is rounded up, and why."""
    name = rounding_name(policy.rounding)
    code, kept_bits, discarded, rest = position(*magnitude, t.random_count, t)
    random = f", n = {t.random_count}, r = {r:x}" if t.random_count else ""
    rule = f"{name} ({_ROUNDING_TEXTS[name]}{random})"
    if not discarded and not rest:
        return False, f"{rule}: exact"
    up = rounds_up(t.mode, sign, (code if t.code_parity else kept_bits) & 1, discarded, rest, t.random_count, r)
    return up, f"{rule}: {'rounded away from zero' if up else 'rounded toward zero'}"


def _fraction_text(discarded: int, rest: int, half: int) -> str:
    if discarded == 0:
        return "less than half" if rest else "nothing: exact"
    if discarded == half:
        return "more than half" if rest else "exactly half: a tie"
    return "more than half" if discarded > half else "less than half"


def _error_text(value: Value, result: Value, fmt: Format) -> str:
    error = exact.add(result, exact.negate(value._replace(sticky=0)))  # the part cut off affects no digit shown
    if error.significand == 0:
        return "under 2^-40 ulp" if value.sticky else "none"
    ulps = error._replace(exponent=error.exponent - fmt.ulp_exponent(exact.top(value)))
    return f"{_approximately(error)} = {_approximately(ulps, 4)} ulp"


def _approximately(x: Value, digits: int = 6) -> str:
    near = float(x)
    return hexadecimal(x) if near == 0 or math.isinf(near) else f"{near:+.{digits}g}"


def explain_operation(
    sig: Signature, operands: Sequence[int], policy: Policy, random_bits: int | None
) -> ScalarExplanation:
    """Each step of an operation on codes: operands, exact result, rounding."""
    r = check_random(policy, random_bits)
    bits, flags = evaluator(sig, policy)(operands, r)
    rows: Rows = []
    for name, code, fmt in zip(LETTERS, operands, sig.formats, strict=False):
        value = decoder(fmt, False, policy.unnormals)(code)
        flushed = decoder(fmt, policy.flush_inputs and sig.operation.flushes, policy.unnormals)(code)
        note = "" if flushed == value else f", flushed to {shortest(flushed)}"
        rows.append((name, f"{describe(code, fmt)} [{fields(code, fmt)}] {fmt.name}{note}"))
    if sig.operation.result != "float":
        return ScalarExplanation([*rows, ("result", describe(bits, sig.out)), ("flags", flag_text(flags))], bits, flags)
    deep, raised = unrounded(sig, policy, 2 * _MORE_SHOWN_BITS[-1])(operands, r)
    shown = _needed_to_see(deep, sig.out, policy)
    outcome, _ = unrounded(sig, policy, 2 * shown)(operands, r)
    text = value_text(outcome) if outcome.exponent >= 0 or outcome.kind != NAN else "invalid operation"
    rows.append((sig.operation.name, f"{text}{', ' + flag_text(raised)[3:] if raised else ''}"))
    return ScalarExplanation(
        rows + _rounding_rows(outcome, sig.out, sig.operation.rounded_as(policy), r, bits, flags, shown), bits, flags
    )


# -- other choices that give the answer -----------------------------------------------------------------------------

DETERMINISTIC: Final = tuple(m for m in ROUNDINGS if not m.startswith("sr"))
# Choices to try one at a time, then in pairs: field, value.
_ALTERNATIVES: Final[tuple[tuple[str, tuple[Any, ...]], ...]] = (
    ("rounding", DETERMINISTIC),
    ("overflow", (Overflow.SAT_NONE, Overflow.SAT_PROPAGATE, Overflow.SAT_FINITE)),
    ("flush_inputs", (False, True)),
    ("flush_outputs", (False, True)),
    ("flush_rule", tuple(Tininess)),
    ("tininess", tuple(Tininess)),
    ("nan", ("canonical", "ones", "negative", "propagate", "propagate-signaling", "propagate,fma-generated",
             "propagate,fma-quiet")),
    ("nan_missing", (NanMissing.MAX, NanMissing.ZERO)),
    ("e8m0", ("auto", "magnitude", "nan", "smallest")),
    ("integers", tuple(Integers)),
    ("specials", (Specials.IEEE, Specials.P3109)),
)  # fmt: skip
# Those of formats that store their integer bit.
_EXPLICIT_ALTERNATIVES: Final[tuple[tuple[str, tuple[Any, ...]], ...]] = (
    ("nan", ("propagate-larger", "propagate-larger,negative")),
    ("unnormals", tuple(Unnormals)),
    ("rounding_precision", tuple(PRECISIONS)),
)

Choices = dict[str, str]  # fields of a policy, as on the command line


class PolicySearch:
    """One case under policies that differ in one or two fields. Each is run at most once, at the first query.

    run: maps a policy to bits and flags. formats: those of the case.
    """

    def __init__(
        self, run: Callable[[Policy], tuple[int, int]], policy: Policy, formats: Iterable[Format | None] = ()
    ) -> None:
        self._run = run
        self._near = _near(policy, has_explicit(formats))
        self._answers: list[dict[tuple[int, int], list[Choices]]] = []

    def matching(self, got: int, got_flags: int | None) -> list[Choices]:
        """The changes to the policy that give that answer: single fields, or else pairs; an empty change if the policy
        itself gives it."""
        for level in range(len(self._near)):
            if level == len(self._answers):
                self._answers.append(self._tried(self._near[level]))
            answers = self._answers[level]
            if got_flags is not None:
                choices = answers.get((got, got_flags), [])
            else:
                choices = [c for (bits, _), changes in answers.items() if bits == got for c in changes]
            if choices:
                return [dict(c) for c in choices]
        return []

    def _tried(self, policies: Iterable[tuple[Choices, Policy]]) -> dict[tuple[int, int], list[Choices]]:
        answers: dict[tuple[int, int], list[Choices]] = {}
        for changes, policy in policies:
            with suppress(Error):
                answers.setdefault(self._run(policy), []).append(changes)
        return answers


@lru_cache(maxsize=16)
def _near(policy: Policy, explicit: bool) -> tuple[list[tuple[Choices, Policy]], ...]:
    """The policy itself, and the policies that differ in one or two choices, each with its differences."""
    single = list(single_changes(policy, explicit))
    pairs = [a | b for a, b in itertools.combinations(single, 2) if a.keys() != b.keys()]
    levels: list[list[dict[str, Any]]] = [[{}], single, pairs]
    return tuple(list(_replaced(policy, level)) for level in levels)


def _replaced(policy: Policy, several: Iterable[dict[str, Any]]) -> Iterator[tuple[Choices, Policy]]:
    for changes in several:
        with suppress(Error):
            yield {k: choice_text(v) for k, v in changes.items()}, policy.replace(**changes)


def has_explicit(formats: Iterable[Format | None]) -> bool:
    """Whether a format stores its integer bit."""
    return any(f is not None and f.explicit_bit for f in formats)


def single_changes(policy: Policy, explicit: bool = False) -> Iterator[dict[str, Any]]:
    """The changes of one field that devices differ in; a stochastic rounding's random bits are removed too. explicit:
    those too that only concern formats that store their integer bit."""
    for field, values in (*_ALTERNATIVES, *(_EXPLICIT_ALTERNATIVES if explicit else ())):
        current = getattr(policy, field)
        for value in values:
            parsed = parse_rounding(value) if field == "rounding" else value
            if parsed != current:
                deterministic = {"sr_bits": None} if field == "rounding" and policy.sr_bits else {}
                yield {field: parsed, **deterministic}


def choice_text(value: Any) -> str:
    """A field's value as written on the command line."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return rounding_name(value) if hasattr(value, "stochastic") else str(value)
