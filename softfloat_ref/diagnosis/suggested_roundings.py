"""Wrong roundings that the mismatches suggest: results one code off, or off by the carry of some low bits, signs of
zeros, flags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import product
from typing import Final

from softfloat_ref.diagnosis.conditions import FEWEST
from softfloat_ref.diagnosis.defects import replaced
from softfloat_ref.diagnosis.hypotheses import SHARE, WrongCode
from softfloat_ref.diagnosis.range_defects import range_rows
from softfloat_ref.diagnosis.rounding_defects import (
    WIDER_FORMATS,
    ZERO_DEFECTS,
    RoundingDefect,
    not_random,
    plain,
    rounded_first,
)
from softfloat_ref.diagnosis.roundings import (
    at_bits,
    carry_lost,
    first_bits,
    flags_given,
    flags_of_right,
    has_one,
    increment_dropped,
    on_answer,
    on_bits,
    rounding,
    through,
    ties_odd,
    tiny_twice,
    with_zero,
)
from softfloat_ref.diagnosis.shift_defects import shift_rows, short_shifts, sticky_rows
from softfloat_ref.oracle.exact import Value, trailing_zeros
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import ROUNDINGS, parse_rounding, rounding_name
from softfloat_ref.oracle.rounding import Target
from softfloat_ref.oracle.rounding_steps import Destination, Place, magnitude
from softfloat_ref.oracle.steps import Function, Traced

_SHARE_BESIDE: Final = 0.75  # of the mismatches that such a defect must explain
_STICKY_BITS: Final = range(1, 11)
_MORE_BITS: Final = range(1, 13)  # beyond the format's precision, to which a device may round first
_FIRST: Final = tuple(name for name in ROUNDINGS if not parse_rounding(name).stochastic)
_FIRST_AT_BITS: Final = ("", "rna")  # to so many bits: by rtz, that is a short sticky bit


def suggested_rows(wrong: Sequence[WrongCode]) -> Iterator[RoundingDefect]:
    """The defects that the wrong codes suggest."""
    yield from (row._replace(share=SHARE) for row in _short_carries(wrong))
    yield from range_rows(wrong)
    if sum(abs(x.step) == 1 for x in wrong) >= FEWEST:
        yield from _beside_rows()
        yield from sticky_rows()
    if sum(x.step == -1 and x.expected & x.fmt.magnitude_mask <= x.fmt.min_normal_code for x in wrong) >= FEWEST:
        yield from short_shifts()
    if sum(_is_lifted(x) for x in wrong) >= FEWEST:
        yield from shift_rows()
    if any(not x.step and not x.expected & x.fmt.magnitude_mask for x in wrong):
        yield from _zeros()


def _is_lifted(x: WrongCode) -> bool:
    """Whether a subnormal or zero result is too large, or its last bit is."""
    return x.step > 0 and x.expected & x.fmt.magnitude_mask < x.fmt.min_normal_code


@cache
def _zeros() -> tuple[RoundingDefect, ...]:
    """Wrong signs of exact zeros only, or of those that rounding makes."""
    return tuple(
        RoundingDefect(
            f"{kind} {name}",
            text.replace("zero result", f"{kind} zero result"),
            on_answer(partial(_with_zero_of_kind, exact, sign)),
            lambda to: to.fmt.negative_zero,
            3,
        )
        for kind, exact in (("exact", True), ("inexact", False))
        for name, text, sign in ZERO_DEFECTS
    )


def _with_zero_of_kind(exact: bool, sign: int | None, x: Value, code: int, flags: int, fmt: Format) -> tuple[int, int]:
    return (with_zero(sign, code, fmt) if x.is_zero is exact else code), flags


def _short_carries(wrong: Sequence[WrongCode]) -> Iterator[RoundingDefect]:
    """Carry chains as long as results are off."""
    if sum(x.step == -2 << x.fmt.mantissa_bits for x in wrong) >= FEWEST:
        text = "drops the carry of rounding with the leading one: the exponent is two too low"
        yield from _of_magnitude("carry lost, leading one too", text, _carry_and_one_lost, 1)
    below = [(-x.step, trailing_zeros(x.expected & x.fmt.magnitude_mask)) for x in wrong if x.step < 0 and x.expected]
    lost = Counter(trailing_zeros(by) for by, zeros in below if by > 1 and by & by - 1 == 0 and 1 << zeros >= by)
    for k, n in lost.most_common(2):
        if n >= FEWEST:
            text = f"drops the carry of rounding after {k} bit{'s' * (k > 1)}"
            yield from _of_magnitude(f"carry lost after {k} bits", text, carry_lost(k), k + 1)
    dropped = Counter(zeros for by, zeros in below if by == 1)
    if sum(dropped.values()) < FEWEST:
        return
    for k in sorted({min(dropped), dropped.most_common(1)[0][0]}):
        if k:
            text = f"does not round up where the last {f'{k} kept bits are ones' if k > 1 else 'kept bit is one'}"
            yield from _of_magnitude(f"increment dropped after {k} ones", text, increment_dropped(k), k)


def _carry_and_one_lost(here: Traced, right: Function, p: Place, up: bool, t: Target) -> int:
    """Normal magnitudes whose kept bits, the leading one included, wrap to zeros."""
    mask = (1 << t.mantissa_bits) - 1
    carries = up and not (p.code + 1) & mask and mask < p.code <= t.max_code + 1
    return (p.code & ~mask) - mask - 1 if carries else right(p, up, t)


def _of_magnitude(name: str, text: str, wrong: Function, bits: int) -> Iterator[RoundingDefect]:
    """A wrong magnitude, in formats with so many bits of fraction, with the flags that follow from it or right ones."""

    def fits(to: Destination) -> bool:
        return plain(to) and bits <= to.fmt.mantissa_bits

    changed = replaced(magnitude, wrong)
    yield RoundingDefect(name, text, (changed,), fits)
    more = f"{text}, but raises the right flags"
    yield RoundingDefect(f"{name}, flags kept", more, (changed, *rounding(flags_given)), fits, 3)


# -- results one code off ----------------------------------------------------------------------------------------------


@cache
def _beside_rows() -> tuple[RoundingDefect, ...]:
    rows = *_ties(), *_double_roundings()
    return *_subnormals_twice(), *(row._replace(share=_SHARE_BESIDE) for row in rows)


def _ties() -> Iterator[RoundingDefect]:
    for n in _STICKY_BITS:
        text = f"decides by only {n} bit{'s' * (n > 1)} below the guard bit"
        for more, stops in (("", True), (", also of tiny numbers", False)):
            bits = on_bits(first_bits(n, stops), True)
            yield RoundingDefect(f"sticky of {n} bits, inexact kept{more}", f"{text}{more}", bits, not_random, 3)
    text = "rounds ties to odd"
    yield RoundingDefect("ties to odd", text, rounding(ties_odd), lambda to: rounding_name(to.policy.rounding) == "rne")


def _gradual(to: Destination) -> bool:
    return not_random(to) and to.fmt.subnormals == "gradual" and has_one(to)


def _subnormals_twice() -> Iterator[RoundingDefect]:
    """Results rounded to the precision of normal numbers, and, where they are subnormal, again."""
    rows = (
        ("rounded twice", "rounds subnormal results at full precision first, then again", tiny_twice()),
        ("rounded, then cut", "rounds subnormal results at full precision, then cuts them", tiny_twice(then="rtz")),
        ("cut, then rounded", "cuts subnormal results to full precision, then rounds them", tiny_twice("rtz")),
    )
    for name, text, wrong in rows:
        yield from _with_flags(f"subnormal results {name}", text, wrong)


def _with_flags(name: str, text: str, wrong: Function) -> Iterator[RoundingDefect]:
    yield RoundingDefect(name, text, rounding(wrong), _gradual)
    more = f"{text}, but raises the right flags"
    yield RoundingDefect(f"{name}, flags kept", more, rounding(flags_of_right(wrong)), _gradual, 3)


def _double_roundings() -> Iterator[RoundingDefect]:
    """Through a wider format or a longer significand, where the first rounding is another one."""
    for name in WIDER_FORMATS:
        wide = CATALOGUE[name]
        may_be = rounded_first(wide)
        for first in _FIRST:
            yield RoundingDefect(
                f"double rounding via {name}, first {first}",
                f"rounds to {name} by {first} first, then to its format",
                rounding(through(wide, first)),
                lambda to, first=first, may_be=may_be: may_be(to) and to.policy.rounding != parse_rounding(first),  # type: ignore[misc]
                via=wide,
            )
    for more, aligned in product(_MORE_BITS, (False, True)):
        for first in _FIRST_AT_BITS:
            by, where = f" by {first}" * bool(first), ", of subnormal results after their shift" * aligned
            yield RoundingDefect(
                f"double rounding at p+{more} bits{f', first {first}' * bool(first)}{', aligned' * aligned}",
                f"rounds to {more} bit{'s' * (more > 1)} more{by} first, then again{where}",
                rounding(at_bits(more, first, aligned)),
                lambda to, first=first: not_random(to) and not (first and to.policy.rounding == parse_rounding(first)),  # type: ignore[misc]
                3,
            )
