"""Defects of a rounding, as replaced steps: wrong evaluations of the discarded bits, wrong carries, wrong ends of the
range. A unit has each wherever it rounds.

None of them rounds itself: it replaces the guard or sticky bit by a wrong one, and rounding.py decides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from softfloat_ref.diagnosis.defects import replaced
from softfloat_ref.diagnosis.twins import TWINS, twins
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import Encoder, decoder, encoder
from softfloat_ref.oracle.exact import FINITE, INF, Value
from softfloat_ref.oracle.flags import INEXACT, OVERFLOW, UNDERFLOW
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding import Target
from softfloat_ref.oracle.rounding_steps import (
    Destination,
    Place,
    beyond,
    destination,
    magnitude,
    overflow,
    place,
    place_of,
    rounded,
)
from softfloat_ref.oracle.steps import Change, Function, Plan, Traced

_WRAPPED_BITS: Final = 64  # width of the integers that are cut
DEPTH: Final = 12  # bits below the kept ones that a defect may distinguish
Coded = tuple[int, int]  # a code and flags


def _any(to: Destination) -> bool:
    return True


class RoundingDefect(NamedTuple):
    """A row of the table: a name, what such a device does, the steps that it does otherwise, and for which formats and
    policies that is a defect.

    size: as for a hypothesis. via: the format that it rounds to first; not a defect if that represents every operand.
    """

    name: str
    description: str
    changes: tuple[Change, ...]
    fits: Callable[[Destination], bool] = _any
    size: int = 2
    via: Format | None = None

    @property
    def where_it_fits(self) -> tuple[Change, ...]:
        """The changes, of those of several roundings that can have the defect."""
        known: dict[int, tuple[Destination, bool]] = {}

        def fitting(wrong: Function) -> Function:
            def guarded(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
                if id(to) not in known:
                    known[id(to)] = to, self.fits(to)
                return wrong(here, right, x, r, to) if known[id(to)][1] else right(x, r, to)  # type: ignore[no-any-return]

            return guarded

        return tuple(c._replace(wrong=fitting(c.wrong)) if c.step is rounded else c for c in self.changes)

    def encoder(self, fmt: Format, policy: Policy) -> Encoder | None:
        """The rounding of such a device in one call; None if the format and policy cannot have this defect."""
        to = destination(fmt, policy)
        if not self.fits(to):
            return None
        plan = Plan(self.changes)
        return lambda x, random_bits: Traced(plan)(rounded, x, random_bits, to)


def _plain(to: Destination) -> bool:
    """Whether the format's codes are a significand cut at the last bit: no two's complement, no gap at zero."""
    return not to.fmt.twos_complement and not to.fmt.gap and to.fmt.zero


def _not_random(to: Destination) -> bool:
    return _plain(to) and not to.policy.random_count


def _round(wrong: Function) -> tuple[Change, ...]:
    return (replaced(rounded, wrong),)


# -- guard and sticky ------------------------------------------------------------------------------------------------


def _on_bits(bits: Callable[[Place], tuple[int, int]], kept_flags: bool = False) -> tuple[Change, ...]:
    """The value that arrives, with another guard and sticky bit. kept_flags: the flags still follow from the right
    bits."""

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        if x.kind != FINITE or not x.significand:
            return right(x, r, to)  # type: ignore[no-any-return]
        t = to.target
        p = place_of(x, DEPTH - 1, t)
        if p.code > t.max_code + 1:  # far beyond the largest
            return right(x, r, to)  # type: ignore[no-any-return]
        guard, sticky = bits(p)
        unit = max(exact.top(x), t.emin) - t.mantissa_bits
        code, flags = right(exact.finite(x.sign, p.kept << 2 | guard << 1 | sticky, unit - 2), r, to)
        return code, right(x, r, to)[1] & ~OVERFLOW | flags & OVERFLOW if kept_flags else flags

    return _round(wrong)


def _no_sticky(p: Place) -> tuple[int, int]:
    return p.guard, 0


def _first_bits(count: int) -> Callable[[Place], tuple[int, int]]:
    """`count` sticky bits. A number below all of them still sets one, because shifters stop at their maximum."""
    return lambda p: (p.guard, p.any(2, count + 1) | int(p.kept == 0))


def _guard_low(p: Place) -> tuple[int, int]:
    return p.any(2, 2), p.sticky


def _guard_low_held(p: Place) -> tuple[int, int]:
    """If the shifter stops with the leading one just below the guard bit, that bit is used as the guard bit."""
    return (1, 1) if not p.kept and not p.guard else _guard_low(p)


def _guard_high(p: Place) -> tuple[int, int]:
    return p.kept & 1, p.guard | p.sticky


# -- the carry and the ends of the range -----------------------------------------------------------------------------


def _carry_lost(here: Traced, right: Function, p: Place, up: bool, t: Target) -> int:
    mask = (1 << t.mantissa_bits) - 1
    lost = p.code & ~mask
    carries = up and not (p.code + 1) & mask and p.code <= t.max_code + 1
    return lost if carries and lost <= t.max_code else right(p, up, t)


def _overflow_early(here: Traced, right: Function, negative: int, code: int, t: Target) -> bool:
    before = here.last(place)
    return right(negative, code if before is None else min(code, before.code), t)  # type: ignore[no-any-return]


def _on_value(change_of: Callable[[Value, Destination], Value]) -> tuple[Change, ...]:
    """Finite values changed before they are rounded."""
    return _round(lambda here, right, x, r, to: right(change_of(x, to) if x.kind == FINITE else x, r, to))


def _on_answer(change_of: Callable[[Value, int, int, Format], Coded], **fields: bool) -> tuple[Change, ...]:
    """Another code and flags, from the value and the right ones. fields: those of the policy that the rounding has."""

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        code, flags = right(x, r, to.under(**fields) if fields else to)
        return change_of(x, code, flags, to.fmt)

    return _round(wrong)


def _stored_normal(x: Value, code: int, flags: int, fmt: Format) -> Coded:
    return code, flags & ~UNDERFLOW if code & fmt.magnitude_mask == fmt.min_normal_code else flags


def _scaled(places: int) -> tuple[Change, ...]:
    return _on_value(lambda x, to: x._replace(exponent=x.exponent + places))


def _scaled_subnormals(places: int) -> tuple[Change, ...]:
    """Numbers below the smallest normal are shifted by `places` before they are rounded."""
    return _on_value(lambda x, to: x._replace(exponent=x.exponent + places) if _tiny(x, to.fmt) else x)


# -- subnormal results -------------------------------------------------------------------------------------------------


def _tiny(x: Value, fmt: Format) -> bool:
    """Whether a value is a finite number, not zero, below the smallest normal one."""
    return x.kind == FINITE and x.significand > 0 and exact.top(x) < fmt.emin


def _gradual(to: Destination) -> bool:
    return to.fmt.subnormals == "gradual" and not to.fmt.twos_complement


def _is_subnormal(code: int, fmt: Format) -> bool:
    return 0 < code & fmt.magnitude_mask < fmt.min_normal_code


def _zeroed(x: Value, code: int, flags: int, fmt: Format) -> Coded:
    """Results below the smallest normal number become zero, with unchanged flags."""
    return code & fmt.sign_bit if _tiny(x, fmt) else code, flags


def _zeroed_when_stored(raised: int) -> tuple[Change, ...]:
    """Results that are subnormal after rounding become zero; raised: flags raised then."""

    def zeroed(x: Value, code: int, flags: int, fmt: Format) -> Coded:
        return (code & fmt.sign_bit, flags | raised) if _is_subnormal(code, fmt) else (code, flags)

    return _on_answer(zeroed, flush_outputs=False)


def _exact_underflow(x: Value, code: int, flags: int, fmt: Format) -> Coded:
    return code, flags | UNDERFLOW if _is_subnormal(code, fmt) and not flags & INEXACT else flags


# -- overflow, zeros, signs ------------------------------------------------------------------------------------------


def _next_code(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """Overflows get the code after the largest one, with their sign."""
    code, flags = right(x, r, to)
    if (x.kind == FINITE and flags & OVERFLOW) or (x.kind == INF and not to.fmt.infinity):
        return to.fmt.max_code + 1 | (to.fmt.sign_bit if x.sign else 0), flags
    return code, flags


def _has_another_next_code(to: Destination) -> bool:
    """Whether there is a code after the largest one, to which overflows do not go anyway."""
    fmt, run = to.fmt, Traced(Plan())
    if fmt.max_code >= fmt.magnitude_mask:
        return False
    signs = (0, 1) if fmt.signed else (0,)
    ends = [x for sign in signs for x in (exact.finite(sign, 1, fmt.emax + 2), exact.inf(sign))]
    return any(_next_code(run, rounded, x, 0, to) != rounded(x, 0, to) for x in ends)


def _one_more_code(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """The NaN's code of formats like E4M3 counted as the next number."""
    if x.kind != FINITE:
        return right(x, r, to)  # type: ignore[no-any-return]
    code, flags = right(x, r, to.variant("one more code", lambda: _with_nan_as_number(to)))
    return (right(x, r, to)[0], flags) if flags & OVERFLOW else (code, flags)


def _with_nan_as_number(to: Destination) -> Destination:
    wider = dataclasses.replace(to.fmt, nan="none", overflow="max")
    return destination(wider, to.policy.replace(overflow="sat-finite"), to.overflow, to.zero)


def _is_narrow_integer(to: Destination) -> bool:
    return to.fmt.is_integer and to.fmt.width <= _WRAPPED_BITS // 2


def _wrapped(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """Integers that do not fit are cut to their last bits."""
    code, flags = right(x, r, to)
    mask = (1 << to.fmt.width) - 1
    if x.kind != FINITE:
        return code, flags
    if x.exponent >= 0:
        return (-1) ** x.sign * (x.significand << x.exponent) & mask, flags
    wide = to.to(get_format(f"i{_WRAPPED_BITS}"))
    return (right(x, r, wide)[0] & mask if exact.top(x) < _WRAPPED_BITS - 1 else code), flags


def _rounded_away(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """Rounding away from zero, for both signs."""
    return right(x, 0, to.under(rounding="rdn" if x.sign else "rup", sr_bits=None))  # type: ignore[no-any-return]


def _zero(sign: int | None) -> tuple[Change, ...]:
    """Zeros of one sign; None: of the other sign."""

    def signed(x: Value, code: int, flags: int, fmt: Format) -> Coded:
        if code & fmt.magnitude_mask:
            return code, flags
        return (code ^ fmt.sign_bit if sign is None else fmt.sign_bit * sign), flags

    return _on_answer(signed)


def _has_negative_zero(to: Destination) -> bool:
    return to.fmt.negative_zero


def _through(wide: Format) -> Function:
    """Rounding to a wider format first, then to this one."""
    back = decoder(wide)

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        if x.kind != FINITE:
            return right(x, r, to)  # type: ignore[no-any-return]
        code, flags = to.to(wide).encode(x, 0)
        last, more = right(back(code), 0, to)
        return last, flags | more

    return wrong


def _as_format(name: str, other: Callable[[Format], Format | None]) -> RoundingDefect:
    """Another format used instead."""

    def answered(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        fmt = other(to.fmt)
        return right(x, r, to if fmt is None else to.to(fmt))  # type: ignore[no-any-return]

    return RoundingDefect(
        f"output as {name}", f"answers in {name}", _round(answered), lambda to: other(to.fmt) is not None
    )


def _of_width(fmt: Format) -> Callable[[Format], Format | None]:
    """A format, in place of others of its width."""
    return lambda to: fmt if to != fmt and to.width == fmt.width and to.is_integer == fmt.is_integer else None


def _twin(name: str) -> Callable[[Format], Format | None]:
    """The format's twin of that name."""
    return lambda to: next((x.fmt for x in twins(to) if x.name == name), None)


def with_policy(**fields: Any) -> tuple[Change, ...]:
    """The rounding under a policy with some fields replaced."""
    return _round(lambda here, right, x, r, to: right(x, r, to.under(**fields)))


_USUAL_STICKY_BITS: Final = 4  # largest number of bits in a shortened sticky bit; with more, few cases differ
NARROW: Final = ("bf16", "fp16")
_OTHER_ROUNDINGS: Final = ("rtz", "rna", "rup", "rdn")
_WIDER_FORMATS: Final = ("fp16", "bf16", "fp32", "fp64")
_Row = RoundingDefect
_SINGLE_DEFECTS: Final = (
    _Row("sticky dropped", "has no sticky bit: bits below the guard bit are lost", _on_bits(_no_sticky), _not_random),
    _Row("sticky dropped, inexact kept", "rounds without a sticky bit", _on_bits(_no_sticky, True), _not_random),
    *(
        _Row(
            f"sticky of {n} bits",
            f"looks at only {n} bit{'s' * (n > 1)} below the guard bit",
            _on_bits(_first_bits(n)),
            _not_random,
            2 + (n > _USUAL_STICKY_BITS),
        )
        for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    ),
    *(
        _Row(f"guard one bit low{more}", "uses the guard bit one place too low", _on_bits(bits, kept), _not_random)
        for more, bits, kept in (
            ("", _guard_low, False),
            (", flags kept", _guard_low, True),
            (", shift held", _guard_low_held, False),
        )
    ),
    _Row("guard one bit high", "uses the last kept bit as the guard bit", _on_bits(_guard_high, True), _not_random),
    _Row("carry lost", "drops the carry of rounding into the exponent", (replaced(magnitude, _carry_lost),), _plain),
    _Row(
        "overflow before rounding",
        "detects overflow before it rounds",
        (replaced(overflow, _overflow_early, place),),
        _plain,
    ),
    _Row(
        "stored-normal underflow",
        "raises no underflow for results stored as the smallest normal number",
        _on_answer(_stored_normal),
        lambda to: to.fmt.has_normals,
    ),
    *(
        _Row(
            f"subnormal results {name}",
            f"shifts subnormal results one place too {word}",
            _scaled_subnormals(places),
            lambda to: _plain(to) and to.fmt.has_normals,
        )
        for name, word, places in (("x2", "few", 1), ("/2", "many", -1))
    ),
    _Row("FTZ, flags kept", "gives zero for subnormal results", _on_answer(_zeroed, flush_outputs=False)),
    _Row(
        "FTZ after rounding, flags kept",
        "gives zero for results that are subnormal after rounding",
        _zeroed_when_stored(0),
        _gradual,
    ),
    _Row(
        "FTZ after rounding",
        "gives zero, inexact and underflow for results that are subnormal after rounding",
        _zeroed_when_stored(UNDERFLOW | INEXACT),
        _gradual,
    ),
    _Row(
        "underflow when exact",
        "raises underflow for exact subnormal results",
        _on_answer(_exact_underflow),
        _gradual,
    ),
    WRAPS := _Row("integer wraps", "wraps integers that do not fit", _round(_wrapped), _is_narrow_integer),
    _Row("exponent +1", "has the result's exponent one too high", _scaled(1)),
    _Row("exponent -1", "has the result's exponent one too low", _scaled(-1)),
    _Row(
        "overflow always beyond",
        "lets every overflow go to infinity, even if the rounding mode does not",
        (replaced(beyond, lambda here, right, negative, t: True),),
    ),
    _Row(
        "overflow to the next code",
        "does not saturate: overflows get the code after the largest",
        _round(_next_code),
        _has_another_next_code,
    ),
    _Row(
        "NaN code a number",
        "treats the code of NaN as one more number",
        _round(_one_more_code),
        lambda to: to.fmt.nan == "top" and not to.fmt.infinity,
    ),
    _Row("rounds away", "rounds away from zero, for both signs", _round(_rounded_away)),
    _Row("zero without sign", "loses the sign of zero results", _zero(0), _has_negative_zero),
    _Row("zero negative", "makes every zero result negative", _zero(1), _has_negative_zero),
    _Row("zero of the other sign", "gives zero results the other sign", _zero(None), _has_negative_zero),
)


def _double(name: str, beyond: bool) -> RoundingDefect:
    """Rounding twice. beyond: and overflows get the code after the largest."""
    wide = CATALOGUE[name]

    def fits(to: Destination) -> bool:
        wider = wide.mantissa_bits > to.fmt.mantissa_bits and wide != to.fmt
        return _not_random(to) and wider and (not beyond or _has_another_next_code(to))

    next_code, more = _round(_next_code) if beyond else (), ", and gives overflows the code after the largest"
    return RoundingDefect(
        f"double rounding via {name}" + (", overflow to the next code" if beyond else ""),
        f"rounds to {name} first, then again" + (more if beyond else ""),
        (*next_code, replaced(rounded, _through(wide))),
        fits,
        via=wide,
    )


_ROUNDING_DEFECTS: Final = (
    *_SINGLE_DEFECTS,
    *(_double(wide, beyond) for beyond in (False, True) for wide in _WIDER_FORMATS),
    *(_as_format(name, _of_width(fmt)) for name, fmt in CATALOGUE.items()),
    *(_as_format(name, _twin(name)) for name in TWINS),
)


def rounding_defects() -> tuple[RoundingDefect, ...]:
    """The table: defects independent of a format, then double roundings, then other formats of the same width."""
    return _ROUNDING_DEFECTS


# Defects of the rounding of dequantized values, besides those of every rounding.
VALUE_DEFECTS: Final = (
    *(
        RoundingDefect(f"rounding = {m}", f"rounds its values by {m}", with_policy(rounding=m))
        for m in _OTHER_ROUNDINGS
    ),
    RoundingDefect("flush_outputs = on", "flushes subnormal values to zero", with_policy(flush_outputs=True)),
)


def rounded_to(name: str, policy: Policy) -> Callable[[Value], Value]:
    """The rounding of a value to a format of the catalogue."""
    first, back = encoder(CATALOGUE[name], policy), decoder(CATALOGUE[name])
    return lambda x: back(first(x, 0)[0])
