"""Wrong roundings, as replaced steps: wrong evaluations of the discarded bits, wrong carries, wrong ends of the range.

None of them rounds itself: it replaces the guard or sticky bit by a wrong one, and rounding.py decides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final

from softfloat_ref.diagnosis.defects import replaced
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import complete_code, decoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.flags import INEXACT, INVALID, OVERFLOW, UNDERFLOW
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.policies import parse_rounding
from softfloat_ref.oracle.rounding import Target, round_to_unit
from softfloat_ref.oracle.rounding import is_tiny as is_below_normal
from softfloat_ref.oracle.rounding_steps import Destination, Place, destination, place, place_of, rounded
from softfloat_ref.oracle.steps import Change, Function, Plan, Traced

_WRAPPED_BITS: Final = 64  # width of the integers that are cut
_DEPTH: Final = 12  # bits below the kept ones that a defect may distinguish
Coded = tuple[int, int]  # a code and flags


def rounding(wrong: Function) -> tuple[Change, ...]:
    """Another rounding: wrong(here, right, x, random bits, to)."""
    return (replaced_rounding(wrong),)


def replaced_rounding(wrong: Function, *reads: Function) -> Change:
    """`replaced` of a rounding, which knows no integer bit that is stored: it is added to the code that it gives."""

    def changed(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        if not to.fmt.explicit_bit or x.kind == NAN:
            return wrong(here, right, x, r, to)  # type: ignore[no-any-return]
        code, flags = wrong(here, right, x, r, without_integer_bit(to))
        return complete_code(code, to.fmt, to.target), flags

    return replaced(rounded, changed, *reads)


def without_integer_bit(to: Destination) -> Destination:
    """The destination whose format hides the integer bit, of the precision that is rounded to; most are that."""
    fmt, policy = to.policy.rounded_format(to.fmt), to.policy
    if fmt == to.fmt:
        return to
    return to.variant("hidden", lambda: destination(fmt, policy.replace(nan="canonical"), to.overflow, to.zero))


def with_policy(**fields: Any) -> tuple[Change, ...]:
    """The rounding under a policy with some fields replaced."""
    return rounding(lambda here, right, x, r, to: right(x, r, to.under(**fields)))


def to_format(other: Callable[[Format], Format | None]) -> tuple[Change, ...]:
    """The rounding to another format, if there is one."""

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        fmt = other(to.fmt)
        return right(x, r, to if fmt is None else to.to(fmt))  # type: ignore[no-any-return]

    return rounding(wrong)


def on_answer(change_of: Callable[[Value, int, int, Format], Coded], **fields: bool) -> tuple[Change, ...]:
    """Another code and flags, from the value and the right ones. fields: those of the policy that the rounding has."""

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        code, flags = right(x, r, to.under(**fields) if fields else to)
        return change_of(x, code, flags, to.fmt)

    return rounding(wrong)


# -- guard and sticky ------------------------------------------------------------------------------------------------


def on_bits(bits: Callable[[Place], tuple[int, int]], flags_kept: bool = False) -> tuple[Change, ...]:
    """The value that arrives, with another guard and sticky bit. flags_kept: the flags still follow from the right
    bits."""

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        if x.kind != FINITE or not x.significand:
            return right(x, r, to)  # type: ignore[no-any-return]
        t = to.target
        p = place_of(x, _DEPTH - 1, t)
        if p.code > t.max_code + 1:  # far beyond the largest
            return right(x, r, to)  # type: ignore[no-any-return]
        guard, sticky = bits(p)
        unit = max(exact.top(x), t.emin) - t.mantissa_bits
        code, flags = right(exact.finite(x.sign, p.kept << 2 | guard << 1 | sticky, unit - 2), r, to)
        return code, right(x, r, to)[1] & ~OVERFLOW | flags & OVERFLOW if flags_kept else flags

    return rounding(wrong)


def first_bits(count: int, stops: bool = True) -> Callable[[Place], tuple[int, int]]:
    """`count` sticky bits. stops: a number whose leading one is below the guard bit still sets one, because shifters
    stop at their maximum."""
    return lambda p: (p.guard, p.any(2, count + 1) | int(stops and not p.kept | p.guard))


def guard_low(p: Place) -> tuple[int, int]:
    """The bit after the guard bit in its place."""
    return p.any(2, 2), p.sticky


def guard_and_sticky_low(p: Place) -> tuple[int, int]:
    """The bits after the guard bit, each one place up."""
    return p.any(2, 2), int(p.any(3, p.n + 1) or p.rest != 0)


def through(wide: Format, first: str = "") -> Function:
    """Rounding to a wider format first, then to this one. first: the first rounding, if it is another one."""
    back = decoder(wide)

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        if x.kind != FINITE:
            return right(x, r, to)  # type: ignore[no-any-return]
        between = to.to(wide)
        code, flags = (between.under(rounding=first) if first else between).encode(x, 0)
        last, more = right(back(code), 0, to)
        return last, flags | more

    return wrong


def near_one(right: Function, x: Value, r: int, to: Destination) -> Coded:
    """The code that a number has with its exponent replaced by that of 1, where no end of the range is near."""
    return right(x._replace(exponent=x.exponent - exact.top(x)), r, to)  # type: ignore[no-any-return]


def has_one(to: Destination) -> bool:
    """Whether 1 is a normal number."""
    return to.fmt.has_normals and to.fmt.emin <= 0 <= to.fmt.emax


def tiny_twice(first: str = "", then: str = "") -> Function:
    """Subnormal results rounded to the precision of normal ones first, then again. first, then: the two roundings,
    where they are others."""

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        if not is_tiny(x, to.fmt):
            return right(x, r, to)  # type: ignore[no-any-return]
        code, flags = near_one(right, x, r, to.under(rounding=first) if first else to)
        between = decoder(to.fmt)(code)
        between = between._replace(exponent=between.exponent + exact.top(x))
        last, more = right(between, r, to.under(rounding=then) if then else to)
        return last, more | flags & INEXACT

    return wrong


def at_bits(more: int, first: str = "", aligned: bool = False) -> Function:
    """Rounding to `more` bits beyond the format's precision first, with any exponent, then to the format. first: the
    first rounding, if it is another one; aligned: of subnormal results, to so many bits beyond their last one."""

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        if x.kind != FINITE or not x.significand:
            return right(x, r, to)  # type: ignore[no-any-return]
        top = max(exact.top(x), to.fmt.emin) if aligned else exact.top(x)
        unit, length = top - to.fmt.mantissa_bits - more, x.significand.bit_length()
        mode, wide = parse_rounding(first) if first else to.policy.rounding, x.significand << 1 | x.sticky
        kept, lossy = round_to_unit(x.sign, wide, x.exponent - 1 - unit, length + 1, mode, 0, 0)
        last, flags = right(exact.finite(x.sign, kept, unit), r, to)
        return last, flags if not lossy or flags & INEXACT else flags | INEXACT | underflow_of(x, r, to)

    return wrong


def flags_of_right(wrong: Function) -> Function:
    """A wrong rounding with the right flags, but for overflow."""

    def kept(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        code, flags = wrong(here, right, x, r, to)
        return code, right(x, r, to)[1] & ~OVERFLOW | flags & OVERFLOW

    return kept


def flags_given(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """The flags of the right rounding, whatever the steps inside it do."""
    return right(x, r, to)[0], to.encode(x, r)[1]


def underflow_of(x: Value, r: int, to: Destination) -> int:
    """Underflow, if a number is tiny that is not exact."""
    t, length = to.target, x.significand.bit_length()
    tiny = is_below_normal(x.sign, x.significand, x.exponent, length, x.sticky, r, t.tininess, t)
    return UNDERFLOW if tiny else 0


def detected_apart(mode: str) -> tuple[Change, ...]:
    """Tininess, and so underflow of inexact results, as by another rounding of the value that arrives."""

    def changed(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        code, flags = right(x, r, to)
        if x.kind != FINITE or not x.significand or not flags & INEXACT:
            return code, flags
        return code, flags & ~UNDERFLOW | underflow_of(x, r, to.under(rounding=mode))

    return rounding(changed)


def ties_odd(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """Ties to odd, with the right flags."""
    if x.kind != FINITE or not x.significand:
        return right(x, r, to)  # type: ignore[no-any-return]
    p = place_of(x, 0, to.target)
    if not p.guard or p.sticky:
        return right(x, r, to)  # type: ignore[no-any-return]
    even = not (p.code if to.target.code_parity else p.kept) & 1
    return right(x, r, to.under(rounding="rna" if even else "rhz"))  # type: ignore[no-any-return]


def rounded_away(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """Rounding away from zero, for both signs."""
    return right(x, 0, to.under(rounding="rdn" if x.sign else "rup", sr_bits=None))  # type: ignore[no-any-return]


# -- the carry and the ends of the range -----------------------------------------------------------------------------


def carry_lost(bits: int = 0) -> Function:
    """Magnitudes lose the carry of rounding beyond some low bits, by default beyond the fraction."""

    def wrong(here: Traced, right: Function, p: Place, up: bool, t: Target) -> int:
        mask = (1 << (bits or t.mantissa_bits)) - 1
        lost = p.code & ~mask
        carries = up and not (p.code + 1) & mask and p.code <= t.max_code + 1
        return lost if carries and lost <= t.max_code else right(p, up, t)

    return wrong


def increment_dropped(bits: int) -> Function:
    """Magnitudes whose low bits are ones are not rounded up."""
    mask = (1 << bits) - 1
    return lambda here, right, p, up, t: right(p, up and p.code & mask != mask, t)


def overflow_early(here: Traced, right: Function, negative: int, code: int, t: Target) -> bool:
    """The magnitude before rounding decides."""
    before = here.last(place)
    return right(negative, code if before is None else min(code, before.code), t)  # type: ignore[no-any-return]


def next_code(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """Overflows get the code after the largest one, with their sign."""
    code, flags = right(x, r, to)
    if (x.kind == FINITE and flags & OVERFLOW) or (x.kind == INF and not to.fmt.infinity):
        return to.fmt.max_code + 1 | (to.fmt.sign_bit if x.sign else 0), flags
    return code, flags


def discarded_bits_raise(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """Inexact for discarded bits only, not for an overflow or a flushed number by itself."""
    code, flags = right(x, r, to)
    lossy = flags
    if x.kind == FINITE and x.significand and flags & OVERFLOW and has_one(to):
        lossy = near_one(right, x, r, to)[1]
    elif flags & UNDERFLOW and to.policy.flush_outputs:
        lossy = right(x, r, to.under(flush_outputs=False))[1]
    return code, flags if lossy & INEXACT else flags & ~INEXACT


def top_tie_overflows(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """The tie above the largest number raises overflow where it does not go up."""
    code, flags = right(x, r, to)
    if x.kind != FINITE or not x.significand or flags & OVERFLOW:
        return code, flags
    p = place_of(x, 0, to.target)
    is_top_tie = p.code == to.target.max_code and p.guard and not p.sticky
    return code, flags | OVERFLOW if is_top_tie else flags


def keeps_top_tie(to: Destination) -> bool:
    """Whether the tie above the largest number goes to that number, and what is above the tie does not."""
    fmt = to.fmt
    if not fmt.mantissa_bits or fmt.twos_complement:
        return False
    largest, unit = decoder(fmt)(fmt.max_code), fmt.emax - fmt.mantissa_bits - 2
    whole = largest.significand << largest.exponent - unit
    return [to.encode(exact.finite(0, whole + more, unit), 0)[1] & OVERFLOW for more in (2, 3)] == [0, OVERFLOW]


def infinity_raises(raised: int) -> tuple[Change, ...]:
    """Flags for infinite results, too, which are no overflows."""
    return on_answer(lambda x, code, flags, fmt: (code, flags | raised if x.kind == INF else flags))


def has_another_next_code(to: Destination) -> bool:
    """Whether there is a code after the largest one, to which overflows do not go anyway."""
    fmt, run = to.fmt, Traced(Plan())
    if fmt.max_code >= fmt.magnitude_mask:
        return False
    signs = (0, 1) if fmt.signed else (0,)
    ends = [x for sign in signs for x in (exact.finite(sign, 1, fmt.emax + 2), exact.inf(sign))]
    return any(next_code(run, rounded, x, 0, to) != rounded(x, 0, to) for x in ends)


def one_more_code(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """The NaN's code of formats like E4M3 counted as the next number."""
    if x.kind != FINITE:
        return right(x, r, to)  # type: ignore[no-any-return]
    code, flags = right(x, r, to.variant("one more code", lambda: _with_nan_as_number(to)))
    return (right(x, r, to)[0], flags) if flags & OVERFLOW else (code, flags)


def _with_nan_as_number(to: Destination) -> Destination:
    wider = dataclasses.replace(to.fmt, nan="none", overflow="max")
    return destination(wider, to.policy.replace(overflow="sat-finite"), to.overflow, to.zero)


def is_narrow_integer(to: Destination) -> bool:
    """Whether integers beyond the format can be cut to its width."""
    return to.fmt.is_integer and to.fmt.width <= _WRAPPED_BITS // 2


def wrapped_around(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """Integers that do not fit are cut to their last bits."""
    code, flags = right(x, r, to)
    mask = (1 << to.fmt.width) - 1
    if x.kind != FINITE:
        return code, flags
    if x.exponent >= 0:
        return (-1) ** x.sign * (x.significand << x.exponent) & mask, flags
    wide = to.to(get_format(f"i{_WRAPPED_BITS}"))
    return (right(x, r, wide)[0] & mask if exact.top(x) < _WRAPPED_BITS - 1 else code), flags


def carry_wrapped(signs: tuple[int, ...]) -> Function:
    """Integers that only the carry of rounding takes out of the range are cut to the width, as inexact ones. signs: of
    such integers."""

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        code, flags = right(x, r, to)
        if x.kind != FINITE or not x.significand or x.sign not in signs or not flags & (INVALID | OVERFLOW):
            return code, flags
        most = to.target.max_negative_code if x.sign else to.target.max_code
        if place_of(x, 0, to.target).code > most:
            return code, flags
        return (-1) ** x.sign * (most + 1) & (1 << to.fmt.width) - 1, INEXACT

    return wrong


def lowest_out_of_range(x: Value, code: int, flags: int, fmt: Format) -> Coded:
    """The most negative integer as one that is out of range, before rounding."""
    beyond = x.kind == FINITE and x.significand and x.sign and exact.top(x) >= fmt.width - 1
    return code, INVALID if beyond else flags


# -- subnormal results and zeros -------------------------------------------------------------------------------------


def is_tiny(x: Value, fmt: Format) -> bool:
    """Whether a value is a finite number, not zero, below the smallest normal one."""
    return x.kind == FINITE and x.significand > 0 and exact.top(x) < fmt.emin


def _is_subnormal(code: int, fmt: Format) -> bool:
    return 0 < code & fmt.magnitude_mask < fmt.min_normal_code


def scaled(places: int, only_tiny: bool = False) -> tuple[Change, ...]:
    """Numbers, or those below the smallest normal one only, shifted by some places before they are rounded."""

    def shifted(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        if x.kind == FINITE and (is_tiny(x, to.fmt) or not only_tiny):
            x = x._replace(exponent=x.exponent + places)
        return right(x, r, to)  # type: ignore[no-any-return]

    return rounding(shifted)


def cut_if_tiny(places: int) -> tuple[Change, ...]:
    """Numbers below the smallest normal one without what lies some places below the last bit of a subnormal."""

    def cut(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        unit = to.fmt.emin - to.fmt.mantissa_bits - places
        if is_tiny(x, to.fmt) and (x.exponent < unit or x.sticky):
            kept = x.significand >> unit - x.exponent if x.exponent < unit else x.significand
            x = x._replace(significand=kept, exponent=max(unit, x.exponent), sticky=0)
        return right(x, r, to)  # type: ignore[no-any-return]

    return rounding(cut)


def zeroed(x: Value, code: int, flags: int, fmt: Format) -> Coded:
    """Results below the smallest normal number become zero, with unchanged flags."""
    return code & fmt.sign_bit if is_tiny(x, fmt) else code, flags


def zeroed_when_tiny() -> tuple[Change, ...]:
    """Results that are tiny, as underflow has it, become zero, with unchanged flags."""

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        code, flags = right(x, r, to.under(flush_outputs=False))
        if x.kind != FINITE or not x.significand:
            return code, flags
        return code & to.fmt.sign_bit if underflow_of(x, r, to) else code, flags

    return rounding(wrong)


def zeroed_when_stored(raised: int) -> tuple[Change, ...]:
    """Results that are subnormal after rounding become zero; raised: flags raised then."""

    def changed(x: Value, code: int, flags: int, fmt: Format) -> Coded:
        return (code & fmt.sign_bit, flags | raised) if _is_subnormal(code, fmt) else (code, flags)

    return on_answer(changed, flush_outputs=False)


def exact_underflow(x: Value, code: int, flags: int, fmt: Format) -> Coded:
    """Underflow for exact subnormal results, too."""
    return code, flags | UNDERFLOW if _is_subnormal(code, fmt) and not flags & INEXACT else flags


def lossy_underflow(x: Value, code: int, flags: int, fmt: Format) -> Coded:
    """Underflow and inexact for every number stored as a subnormal or as zero."""
    stored = x.kind == FINITE and x.significand and code & fmt.magnitude_mask < fmt.min_normal_code
    return code, flags | UNDERFLOW | INEXACT if stored else flags


def stored_normal(x: Value, code: int, flags: int, fmt: Format) -> Coded:
    """No underflow for the smallest normal number."""
    return code, flags & ~UNDERFLOW if code & fmt.magnitude_mask == fmt.min_normal_code else flags


def signed_zero(x: Value, code: int, flags: int, fmt: Format) -> Coded:
    """Zeros with the sign of what is rounded, in formats where that is another code."""
    return (fmt.sign_bit if x.kind == FINITE and x.sign and not code else code), flags


def with_zero(sign: int | None, code: int, fmt: Format) -> int:
    """A code, or a zero of that sign in place of one; None: of the other sign."""
    if code & fmt.magnitude_mask:
        return code
    return code ^ fmt.sign_bit if sign is None else fmt.sign_bit * sign
