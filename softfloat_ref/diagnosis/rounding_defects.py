"""Defects of a rounding stage: wrong evaluations of the discarded bits, and wrong carries.

Each takes a format and a policy, and returns the function from exact values to a code and flags that such a stage
computes. None of them rounds itself: it replaces the guard or sticky bit by a wrong one, and rounding.py decides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from softfloat_ref.diagnosis.hypotheses import Hypothesis, Model
from softfloat_ref.diagnosis.twins import TWINS, twins
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import Encoder, decoder, encoder, target
from softfloat_ref.oracle.exact import FINITE, INF, Value
from softfloat_ref.oracle.flags import INEXACT, OVERFLOW, UNDERFLOW
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.policies import Overflow, Policy
from softfloat_ref.oracle.rounding import position

Stage = Callable[[Format, Policy], Encoder | None]  # None: the format and policy cannot have this defect
_MAX_WIDENED: Final = 19
_WRAPPED: Final = 64  # width of the integers that are cut
DEPTH: Final = 12  # bits below the kept ones that a defect may distinguish


class StageDefect(NamedTuple):
    """A row of the table: a name, what such a device does, and how it rounds.

    size: as for a hypothesis. via: the format that it rounds to first; not a defect if that represents every operand.
    """

    name: str
    says: str
    stage: Stage
    size: int = 2
    via: Format | None = None


class Cut(NamedTuple):
    """A magnitude, cut: `kept` units of 2^unit, the first DEPTH bits below, and whether anything follows."""

    kept: int
    below: int
    rest: int
    unit: int
    code: int

    @property
    def guard(self) -> int:
        return self.below >> (DEPTH - 1)

    def any(self, first: int, last: int = DEPTH) -> int:
        """Whether any of the bits first .. last below the kept ones is set (1 is the guard bit)."""
        return int(self.below >> (DEPTH - last) & ((1 << (last - first + 1)) - 1) != 0)

    @property
    def sticky(self) -> int:
        return self.any(2) | self.rest


def cut(x: Value, fmt: Format, policy: Policy) -> Cut | None:
    """A magnitude cut at the format's last bit; None for zero, Inf, NaN, and far beyond the largest finite value."""
    if x.kind != FINITE or not x.significand:
        return None
    t = target(fmt, policy)
    length = x.significand.bit_length()
    code, kept, below, rest = position(x.significand, x.exponent, length, x.sticky, DEPTH - 1, t)
    if code > t.max_code + 1:
        return None
    return Cut(kept, below, rest, max(exact.top(x), t.emin) - t.mantissa_bits, code)


def plain(fmt: Format) -> bool:
    """Whether the format's codes are a significand cut at the last bit: no two's complement, no gap at zero."""
    return not fmt.twos_complement and not fmt.gap and fmt.zero


# -- guard and sticky ------------------------------------------------------------------------------------------------


def _on_bits(bits: Callable[[Cut], tuple[int, int]], kept_flags: bool = False) -> Stage:
    """The stage with another guard and sticky bit. kept_flags: the flags still follow from the right bits."""

    def stage(fmt: Format, policy: Policy) -> Encoder | None:
        if not plain(fmt) or policy.random_count:
            return None
        right = encoder(fmt, policy)

        def encode(x: Value, random_bits: int) -> tuple[int, int]:
            found = cut(x, fmt, policy)
            if found is None:
                return right(x, random_bits)
            guard, sticky = bits(found)
            significand = found.kept << 2 | guard << 1 | sticky
            wrong = right(exact.finite(x.sign, significand, found.unit - 2), random_bits)
            if not kept_flags:
                return wrong
            return wrong[0], right(x, random_bits)[1] & ~OVERFLOW | wrong[1] & OVERFLOW

        return encode

    return stage


def _no_sticky(c: Cut) -> tuple[int, int]:
    return c.guard, 0


def _first_bits(count: int) -> Callable[[Cut], tuple[int, int]]:
    """`count` sticky bits. A number below all of them still sets one, because shifters stop at their maximum."""
    return lambda c: (c.guard, c.any(2, count + 1) | int(c.kept == 0))


def _guard_low(c: Cut) -> tuple[int, int]:
    return c.any(2, 2), c.any(2) | c.rest


def _guard_low_held(c: Cut) -> tuple[int, int]:
    """If the shifter stops with the leading one just below the guard bit, that bit is used as the guard bit."""
    return (1, 1) if not c.kept and not c.guard else _guard_low(c)


def _guard_high(c: Cut) -> tuple[int, int]:
    return c.kept & 1, c.guard | c.sticky


# -- the carry and the ends of the range -----------------------------------------------------------------------------


def _on_code(change: Callable[[Cut, int, Format], tuple[int, int] | None]) -> Stage:
    """The stage with another magnitude code and flags, from the cut and whether it rounded up; None changes nothing.

    If the other code is still beyond the largest, it overflows as usual.
    """

    def stage(fmt: Format, policy: Policy) -> Encoder | None:
        if not plain(fmt) or fmt.exponent_bits > _MAX_WIDENED:
            return None
        right, wide = encoder(fmt, policy), _widened(fmt)
        unbounded = encoder(wide, policy.replace(overflow=Overflow.SAT_FINITE, flush_outputs=False, nan="canonical"))

        def encode(x: Value, random_bits: int) -> tuple[int, int]:
            code, flags = right(x, random_bits)
            found = cut(x, wide, policy)
            if found is None:
                return code, flags
            up = int(unbounded(x, random_bits)[0] & wide.magnitude_mask != found.code)
            changed = change(found, up, fmt)
            if changed is None:
                return code, flags
            magnitude, cleared = changed
            return magnitude | (fmt.sign_bit if x.sign else 0), flags & ~cleared

        return encode

    return stage


def _widened(fmt: Format) -> Format:
    """The format with an extra binade for overflows."""
    bits = fmt.exponent_bits + 1
    return dataclasses.replace(
        fmt, exponent_bits=bits, nan="none", infinity=False, overflow="max", signaling=False, p3109=False
    )


def _carry_lost(c: Cut, up: int, fmt: Format) -> tuple[int, int] | None:
    mask = (1 << fmt.mantissa_bits) - 1
    if not up or (c.code + 1) & mask:
        return None
    lost = c.code & ~mask
    return (lost, OVERFLOW) if lost <= fmt.max_code else None


def _overflow_early(c: Cut, up: int, fmt: Format) -> tuple[int, int] | None:
    return (c.code + 1, OVERFLOW) if up and c.code == fmt.max_code else None


def _any(fmt: Format) -> bool:
    return True


def _on_value(change: Callable[[Value, Format], Value], suits: Callable[[Format], bool] = _any) -> Stage:
    """The stage with finite values changed before they are rounded, for formats that suit."""

    def stage(fmt: Format, policy: Policy) -> Encoder | None:
        right = encoder(fmt, policy)
        return (lambda x, r: right(change(x, fmt) if x.kind == FINITE else x, r)) if suits(fmt) else None

    return stage


def _on_answer(
    change: Callable[[Value, int, int, Format], tuple[int, int]], suits: Callable[[Format], bool] = _any, **fields: bool
) -> Stage:
    """The stage with another code and flags, from the value and the right ones, for formats that suit.

    fields: those of the policy that the rounding has.
    """

    def stage(fmt: Format, policy: Policy) -> Encoder | None:
        right = encoder(fmt, policy.replace(**fields))
        return (lambda x, r: change(x, *right(x, r), fmt)) if suits(fmt) else None

    return stage


def _stored_normal(x: Value, code: int, flags: int, fmt: Format) -> tuple[int, int]:
    return code, flags & ~UNDERFLOW if code & fmt.magnitude_mask == fmt.min_normal_code else flags


def _scaled(places: int) -> Stage:
    return _on_value(lambda x, fmt: x._replace(exponent=x.exponent + places))


def _scaled_subnormals(places: int) -> Stage:
    """Numbers below the smallest normal are shifted by `places` before they are rounded."""
    return _on_value(
        lambda x, fmt: x._replace(exponent=x.exponent + places) if _tiny(x, fmt) else x,
        lambda fmt: plain(fmt) and fmt.has_normals,
    )


# -- subnormal results -------------------------------------------------------------------------------------------------


def _tiny(x: Value, fmt: Format) -> bool:
    """Whether a value is a finite number, not zero, below the smallest normal one."""
    return x.kind == FINITE and x.significand > 0 and exact.top(x) < fmt.emin


def _gradual(fmt: Format) -> bool:
    return fmt.subnormals == "gradual" and not fmt.twos_complement


def _is_subnormal(code: int, fmt: Format) -> bool:
    return 0 < code & fmt.magnitude_mask < fmt.min_normal_code


def _zeroed(x: Value, code: int, flags: int, fmt: Format) -> tuple[int, int]:
    """Results below the smallest normal number become zero, with unchanged flags."""
    return code & fmt.sign_bit if _tiny(x, fmt) else code, flags


def _zeroed_when_stored(raised: int) -> Stage:
    """Results that are subnormal after rounding become zero; raised: flags raised then."""

    def change(x: Value, code: int, flags: int, fmt: Format) -> tuple[int, int]:
        return (code & fmt.sign_bit, flags | raised) if _is_subnormal(code, fmt) else (code, flags)

    return _on_answer(change, _gradual, flush_outputs=False)


def _exact_underflow(x: Value, code: int, flags: int, fmt: Format) -> tuple[int, int]:
    return code, flags | UNDERFLOW if _is_subnormal(code, fmt) and not flags & INEXACT else flags


# -- overflow, zeros, signs ------------------------------------------------------------------------------------------


def _beyond(fmt: Format, policy: Policy) -> Encoder | None:
    """Every overflow gives the result of rounding to nearest: Inf, or its replacement."""
    right = encoder(fmt, policy)
    nearest = encoder(fmt, policy.replace(rounding="rne", sr_bits=None))

    def encode(x: Value, random_bits: int) -> tuple[int, int]:
        code, flags = right(x, random_bits)
        if x.kind == FINITE and flags & OVERFLOW:
            huge = exact.finite(x.sign, 1, fmt.emax + 2)
            return nearest(huge, 0)[0], flags
        return code, flags

    return encode


def _next_code(fmt: Format, policy: Policy) -> Encoder | None:
    """Overflows get the code after the largest one, with their sign; None if they do anyway."""
    if fmt.max_code >= fmt.magnitude_mask:
        return None
    right, beyond = encoder(fmt, policy), [fmt.max_code + 1 | (fmt.sign_bit if sign else 0) for sign in (0, 1)]

    def encode(x: Value, random_bits: int) -> tuple[int, int]:
        code, flags = right(x, random_bits)
        if (x.kind == FINITE and flags & OVERFLOW) or (x.kind == INF and not fmt.infinity):
            return beyond[x.sign], flags
        return code, flags

    signs = (0, 1) if fmt.signed else (0,)
    ends = [x for sign in signs for x in (exact.finite(sign, 1, fmt.emax + 2), exact.inf(sign))]
    return None if all(encode(x, 0) == right(x, 0) for x in ends) else encode


def _one_more_code(fmt: Format, policy: Policy) -> Encoder | None:
    """The NaN's code of formats like E4M3 counted as the next number."""
    if fmt.nan != "top" or fmt.infinity:
        return None
    wider = dataclasses.replace(fmt, nan="none", overflow="max")
    right, numbers = encoder(fmt, policy), encoder(wider, policy.replace(overflow=Overflow.SAT_FINITE))

    def encode(x: Value, random_bits: int) -> tuple[int, int]:
        if x.kind != FINITE:
            return right(x, random_bits)
        code, flags = numbers(x, random_bits)
        return (right(x, random_bits)[0], flags) if flags & OVERFLOW else (code, flags)

    return encode


def wrapped_integer(fmt: Format, policy: Policy) -> Encoder | None:
    """Integers that do not fit are cut to their last bits."""
    if not fmt.is_integer or fmt.width > _WRAPPED // 2:
        return None
    right, wide = encoder(fmt, policy), encoder(get_format(f"i{_WRAPPED}"), policy)
    mask = (1 << fmt.width) - 1

    def encode(x: Value, random_bits: int) -> tuple[int, int]:
        code, flags = right(x, random_bits)
        if x.kind != FINITE:
            return code, flags
        if x.exponent >= 0:
            return (-1) ** x.sign * (x.significand << x.exponent) & mask, flags
        return (wide(x, random_bits)[0] & mask if exact.top(x) < _WRAPPED - 1 else code), flags

    return encode


def _rounded_away(fmt: Format, policy: Policy) -> Encoder:
    """Rounding away from zero, for both signs."""
    pair = [encoder(fmt, policy.replace(rounding=m, sr_bits=None)) for m in ("rup", "rdn")]
    return lambda x, random_bits: pair[x.sign](x, 0)


def _zero(sign: int | None) -> Stage:
    """Zeros of one sign; None: of the other sign."""

    def change(x: Value, code: int, flags: int, fmt: Format) -> tuple[int, int]:
        if code & fmt.magnitude_mask:
            return code, flags
        return (code ^ fmt.sign_bit if sign is None else fmt.sign_bit * sign), flags

    return _on_answer(change, lambda fmt: fmt.negative_zero)


def _through(wide: Format, last: Stage = encoder) -> Stage:
    """Rounding to a wider format first, then to this one (by `last`)."""

    def stage(fmt: Format, policy: Policy) -> Encoder | None:
        if not plain(fmt) or wide.mantissa_bits <= fmt.mantissa_bits or wide == fmt or policy.random_count:
            return None
        first, back, then = encoder(wide, policy), decoder(wide), last(fmt, policy)
        if then is None:
            return None

        def encode(x: Value, random_bits: int) -> tuple[int, int]:
            if x.kind != FINITE:
                return then(x, random_bits)
            code, flags = first(x, 0)
            found, more = then(back(code), 0)
            return found, flags | more

        return encode

    return stage


def _as_format(other: Format) -> Stage:
    """Another format of the same width used instead."""

    def stage(fmt: Format, policy: Policy) -> Encoder | None:
        if other == fmt or other.width != fmt.width or other.is_integer != fmt.is_integer:
            return None
        return encoder(other, policy)

    return stage


def _as_twin(name: str) -> Stage:
    """The format's twin of that name used instead."""

    def stage(fmt: Format, policy: Policy) -> Encoder | None:
        other = next((x.fmt for x in twins(fmt) if x.name == name), None)
        return None if other is None else encoder(other, policy)

    return stage


_USUAL: Final = 4  # largest number of bits in a shortened sticky bit; with more, few cases differ
NARROW: Final = ("bf16", "fp16")
_OTHER_ROUNDINGS: Final = ("rtz", "rna", "rup", "rdn")
_WIDER: Final = ("fp16", "bf16", "fp32", "fp64")
_SINGLE: Final = (
    StageDefect("sticky dropped", "has no sticky bit: bits below the guard bit are lost", _on_bits(_no_sticky)),
    StageDefect("sticky dropped, inexact kept", "rounds without a sticky bit", _on_bits(_no_sticky, True)),
    *(
        StageDefect(
            f"sticky of {n} bits",
            f"looks at only {n} bit{'s' * (n > 1)} below the guard bit",
            _on_bits(_first_bits(n)),
            2 + (n > _USUAL),
        )
        for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    ),
    StageDefect("guard one bit low", "uses the guard bit one place too low", _on_bits(_guard_low)),
    StageDefect("guard one bit low, flags kept", "uses the guard bit one place too low", _on_bits(_guard_low, True)),
    StageDefect("guard one bit low, shift held", "uses the guard bit one place too low", _on_bits(_guard_low_held)),
    StageDefect("guard one bit high", "uses the last kept bit as the guard bit", _on_bits(_guard_high, True)),
    StageDefect("carry lost", "drops the carry of rounding into the exponent", _on_code(_carry_lost)),
    StageDefect("overflow before rounding", "detects overflow before it rounds", _on_code(_overflow_early)),
    StageDefect(
        "stored-normal underflow",
        "raises no underflow for results stored as the smallest normal number",
        _on_answer(_stored_normal, lambda fmt: fmt.has_normals),
    ),
    StageDefect("subnormal results x2", "shifts subnormal results one place too few", _scaled_subnormals(1)),
    StageDefect("subnormal results /2", "shifts subnormal results one place too many", _scaled_subnormals(-1)),
    StageDefect("FTZ, flags kept", "gives zero for subnormal results", _on_answer(_zeroed, flush_outputs=False)),
    StageDefect(
        "FTZ after rounding, flags kept",
        "gives zero for results that are subnormal after rounding",
        _zeroed_when_stored(0),
    ),
    StageDefect(
        "FTZ after rounding",
        "gives zero, inexact and underflow for results that are subnormal after rounding",
        _zeroed_when_stored(UNDERFLOW | INEXACT),
    ),
    StageDefect(
        "underflow when exact", "raises underflow for exact subnormal results", _on_answer(_exact_underflow, _gradual)
    ),
    StageDefect("integer wraps", "wraps integers that do not fit", wrapped_integer),
    StageDefect("exponent +1", "has the result's exponent one too high", _scaled(1)),
    StageDefect("exponent -1", "has the result's exponent one too low", _scaled(-1)),
    StageDefect(
        "overflow always beyond", "lets every overflow go to infinity, even if the rounding mode does not", _beyond
    ),
    StageDefect("overflow to the next code", "does not saturate: overflows get the code after the largest", _next_code),
    StageDefect("NaN code a number", "treats the code of NaN as one more number", _one_more_code),
    StageDefect("rounds away", "rounds away from zero, for both signs", _rounded_away),
    StageDefect("zero without sign", "loses the sign of zero results", _zero(0)),
    StageDefect("zero negative", "makes every zero result negative", _zero(1)),
    StageDefect("zero of the other sign", "gives zero results the other sign", _zero(None)),
)


def stage_defects() -> tuple[StageDefect, ...]:
    """The table: defects independent of a format, then double roundings, then other formats of the same width."""
    through = (
        StageDefect(
            f"double rounding via {wide}{name}",
            f"rounds to {wide} first, then again{says}",
            _through(CATALOGUE[wide], last),
            via=CATALOGUE[wide],
        )
        for name, says, last in (
            ("", "", encoder),
            (", overflow to the next code", ", and gives overflows the code after the largest", _next_code),
        )
        for wide in _WIDER
    )
    other = (StageDefect(f"output as {name}", f"answers in {name}", _as_format(fmt)) for name, fmt in CATALOGUE.items())
    twin = (StageDefect(f"output as {name}", f"answers in {name}", _as_twin(name)) for name in TWINS)
    return (*_SINGLE, *through, *other, *twin)


def staged(
    rows: Iterable[StageDefect], fmt: Format, policy: Policy, model: Callable[[Encoder], Model]
) -> Iterator[Hypothesis]:
    """The defects that this format and policy can have, as hypotheses. model: gives a device with another rounding."""
    for row in rows:
        encode = row.stage(fmt, policy)
        if encode is not None:
            yield Hypothesis(row.name, row.says, model(encode), size=row.size)


def with_policy(**fields: Any) -> Stage:
    """The rounding under a policy with some fields replaced."""
    return lambda fmt, policy: encoder(fmt, policy.replace(**fields))


# Defects of the rounding of dequantized values, besides those of every rounding.
VALUE_DEFECTS: Final = (
    *(StageDefect(f"rounding = {m}", f"rounds its values by {m}", with_policy(rounding=m)) for m in _OTHER_ROUNDINGS),
    StageDefect("flush_outputs = on", "flushes subnormal values to zero", with_policy(flush_outputs=True)),
)


def rounded_to(name: str, policy: Policy) -> Callable[[Value], Value]:
    """The rounding of a value to a format of the catalogue."""
    first, back = encoder(CATALOGUE[name], policy), decoder(CATALOGUE[name])
    return lambda x: back(first(x, 0)[0])
