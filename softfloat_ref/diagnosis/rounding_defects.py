"""Defects of a rounding: a unit has each wherever its steps round.

A row says which steps are replaced; the wrong roundings are in roundings.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from softfloat_ref.diagnosis.defects import defective, replaced, within
from softfloat_ref.diagnosis.format_defects import TWINS, twins
from softfloat_ref.diagnosis.hypotheses import Hypothesis
from softfloat_ref.diagnosis.roundings import (
    Coded,
    carry_lost,
    carry_wrapped,
    cut_if_tiny,
    exact_underflow,
    first_bits,
    guard_and_sticky_low,
    guard_low,
    has_another_next_code,
    infinity_raises,
    is_narrow_integer,
    keeps_top_tie,
    lossy_underflow,
    lowest_out_of_range,
    next_code,
    on_answer,
    on_bits,
    one_more_code,
    overflow_early,
    rounded_away,
    rounding,
    scaled,
    signed_zero,
    stored_normal,
    through,
    to_format,
    top_tie_overflows,
    with_policy,
    with_zero,
    without_integer_bit,
    wrapped_around,
    zeroed,
    zeroed_when_stored,
    zeroed_when_tiny,
)
from softfloat_ref.diagnosis.shifters import HELD
from softfloat_ref.oracle.codec import Encoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.flags import INEXACT, OVERFLOW, UNDERFLOW
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding_steps import (
    Destination,
    beyond,
    destination,
    magnitude,
    overflow,
    place,
    rounded,
)
from softfloat_ref.oracle.steps import Change, Function, Plan, Traced
from softfloat_ref.units import SteppedUnit


class RoundingDefect(NamedTuple):
    """A row of the table: a name, what such a device does, the steps that it does otherwise, and for which formats and
    policies that is a defect.

    size, share: as for a hypothesis. via: the format that it rounds to first; not a defect if that represents every
    operand.
    """

    name: str
    description: str
    changes: tuple[Change, ...]
    fits: Callable[[Destination], bool] = lambda to: True
    size: int = 2
    via: Format | None = None
    share: float = 0.0

    @property
    def only_flags(self) -> bool:
        """Whether another defect gives the same results, with other flags."""
        return self.name.endswith(" kept") and not self.name.startswith("FTZ")

    @property
    def of_output(self) -> bool:
        """Whether it answers in another format."""
        return self.name.startswith("output")

    def of(self, unit: SteppedUnit, part: str = "", name: str = "", where: str = "") -> Hypothesis:
        """A unit with the defect, in a part of its computation. name, where: follow its name and its description."""
        changes = within(part, self.changes) if part else self.changes
        return defective(unit, self.name + name, self.description + where, *changes, size=self.size, share=self.share)

    @property
    def guarded(self) -> RoundingDefect:
        """The defect of a unit with several roundings: in those that can have it."""
        known: dict[int, tuple[Destination, bool]] = {}

        def fitting(wrong: Function) -> Function:
            def guarded(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
                if id(to) not in known:
                    known[id(to)] = to, self.fits(without_integer_bit(to))
                return wrong(here, right, x, r, to) if known[id(to)][1] else right(x, r, to)  # type: ignore[no-any-return]

            return guarded

        changes = (c._replace(wrong=fitting(c.wrong)) if c.step is rounded else c for c in self.changes)
        return self._replace(changes=tuple(changes))

    def encoder(self, fmt: Format, policy: Policy) -> Encoder | None:
        """The rounding of such a device in one call; None if the format and policy cannot have this defect."""
        to = destination(fmt, policy)
        if not self.fits(without_integer_bit(to)):
            return None
        plan = Plan(self.changes)
        return lambda x, random_bits: Traced(plan)(rounded, x, random_bits, to)


def plain(to: Destination) -> bool:
    """Whether the format's codes are a significand cut at the last bit: no two's complement, no gap at zero."""
    return not to.fmt.twos_complement and not to.fmt.gap and to.fmt.zero


def not_random(to: Destination) -> bool:
    """Whether a last bit is decided by the discarded bits alone."""
    return plain(to) and not to.policy.random_count


def _gradual(to: Destination) -> bool:
    return to.fmt.subnormals == "gradual" and not to.fmt.twos_complement


def _as_format(name: str, other: Callable[[Format], Format | None]) -> RoundingDefect:
    """Another format used instead."""
    return _Row(f"output as {name}", f"answers in {name}", to_format(other), lambda to: other(to.fmt) is not None)


def _of_width(fmt: Format) -> Callable[[Format], Format | None]:
    """A format, in place of others of its width."""
    return lambda to: fmt if to != fmt and to.width == fmt.width and to.is_integer == fmt.is_integer else None


def _twin(name: str) -> Callable[[Format], Format | None]:
    """The format's twin of that name."""
    return lambda to: next((x.fmt for x in twins(to) if x.name == name), None)


def rounded_first(wide: Format) -> Callable[[Destination], bool]:
    """Whether a rounding may go through a wider format first."""
    return lambda to: not_random(to) and wide.mantissa_bits > to.fmt.mantissa_bits and wide != to.fmt


def _double(name: str, and_next_code: bool) -> RoundingDefect:
    """Rounding twice. and_next_code: and overflows get the code after the largest."""
    wide = CATALOGUE[name]
    may_be = rounded_first(wide)
    more = rounding(next_code) if and_next_code else ()
    return _Row(
        f"double rounding via {name}" + ", overflow to the next code" * and_next_code,
        f"rounds to {name} first, then again" + ", and gives overflows the code after the largest" * and_next_code,
        (*more, *rounding(through(wide))),
        lambda to: may_be(to) and (not and_next_code or has_another_next_code(to)),
        via=wide,
    )


def short_shift_row(places: int) -> RoundingDefect:
    """Subnormal results without what a shifter of a product, or a shorter one, loses."""
    return RoundingDefect(
        f"subnormal results cut {places} places below",
        f"forgets what it moves more than {places} places below the last bit of subnormal results",
        cut_if_tiny(places),
        lambda to: plain(to) and to.fmt.has_normals and places <= max(2 * to.fmt.precision, _SHORT_SHIFT),
    )


_Row = RoundingDefect
_SHORT_SHIFT: Final = 5  # places in every format
_USUAL_STICKY_BITS: Final = 4  # largest number of bits in a shortened sticky bit; with more, few cases differ
WIDER_FORMATS: Final = ("fp16", "bf16", "fp32", "fp64")
WRAPS: Final = _Row("integer wraps", "wraps integers that do not fit", rounding(wrapped_around), is_narrow_integer)
# A name, what such a device does with the sign of zero results, and their sign; None: the other one.
ZERO_DEFECTS: Final = (
    ("zero without sign", "loses the sign of zero results", 0),
    ("zero negative", "makes every zero result negative", 1),
    ("zero of the other sign", "gives zero results the other sign", None),
)
# Defects independent of a format, then double roundings, then other formats of the same width.
ROUNDING_DEFECTS: Final = (
    _Row(
        "sticky dropped",
        "has no sticky bit: bits below the guard bit are lost",
        on_bits(lambda p: (p.guard, 0)),
        not_random,
    ),
    _Row(
        "sticky dropped, inexact kept",
        "rounds without a sticky bit",
        on_bits(lambda p: (p.guard, 0), True),
        not_random,
    ),
    *(
        _Row(
            f"sticky of {n} bits",
            f"looks at only {n} bit{'s' * (n > 1)} below the guard bit",
            on_bits(first_bits(n)),
            not_random,
            2 + (n > _USUAL_STICKY_BITS),
        )
        for n in range(1, 11)
    ),
    *(
        _Row(f"guard one bit low{more}", "uses the guard bit one place too low", changes, not_random)
        for more, changes in (
            ("", on_bits(guard_low)),
            (", flags kept", on_bits(guard_low, True)),
            (", shift held", (*on_bits(guard_low), *HELD)),
            (", sticky bit too", on_bits(guard_and_sticky_low)),
        )
    ),
    _Row(
        "guard one bit high",
        "uses the last kept bit as the guard bit",
        on_bits(lambda p: (p.kept & 1, p.guard | p.sticky), True),
        not_random,
    ),
    _Row(
        "guard one bit high, guard bit lost",
        "uses the last kept bit as the guard bit, and the guard bit for nothing",
        on_bits(lambda p: (p.kept & 1, p.sticky)),
        not_random,
    ),
    _Row("carry lost", "drops the carry of rounding into the exponent", (replaced(magnitude, carry_lost()),), plain),
    _Row(
        "overflow before rounding",
        "detects overflow before it rounds",
        (replaced(overflow, overflow_early, place),),
        plain,
    ),
    _Row(
        "stored-normal underflow",
        "raises no underflow for results stored as the smallest normal number",
        on_answer(stored_normal),
        lambda to: to.fmt.has_normals,
    ),
    *(
        _Row(
            f"subnormal results {name}",
            f"shifts subnormal results one place too {word}",
            scaled(places, only_tiny=True),
            lambda to: plain(to) and to.fmt.has_normals,
        )
        for name, word, places in (("x2", "few", 1), ("/2", "many", -1))
    ),
    *map(short_shift_row, range(2, _SHORT_SHIFT + 1)),
    _Row("FTZ, flags kept", "gives zero for subnormal results", on_answer(zeroed, flush_outputs=False)),
    _Row(
        "FTZ where tiny, flags kept",
        "gives zero for results that are tiny, as underflow has it",
        zeroed_when_tiny(),
        _gradual,
    ),
    _Row(
        "FTZ after rounding, flags kept",
        "gives zero for results that are subnormal after rounding",
        zeroed_when_stored(0),
        _gradual,
    ),
    _Row(
        "FTZ after rounding",
        "gives zero, inexact and underflow for results that are subnormal after rounding",
        zeroed_when_stored(UNDERFLOW | INEXACT),
        _gradual,
    ),
    _Row("underflow when exact", "raises underflow for exact subnormal results", on_answer(exact_underflow), _gradual),
    _Row(
        "underflow and inexact when exact",
        "raises underflow and inexact for every result that is subnormal or rounded to zero, exact ones too",
        on_answer(lossy_underflow),
        _gradual,
    ),
    WRAPS,
    *(
        _Row(
            f"integer carry wraps{of}",
            f"compares integers with the range before it rounds them: the carry of rounding wraps around{of}",
            rounding(carry_wrapped(signs)),
            lambda to: to.fmt.twos_complement,
        )
        for of, signs in (("", (0,)), (", of negative ones, too", (0, 1)))
    ),
    _Row(
        "lowest integer out of range",
        "counts the most negative integer as out of range",
        on_answer(lowest_out_of_range),
        lambda to: to.fmt.is_integer and to.fmt.sign_bit > 0,
    ),
    _Row("exponent +1", "has the result's exponent one too high", scaled(1)),
    _Row("exponent -1", "has the result's exponent one too low", scaled(-1)),
    _Row(
        "overflow always beyond",
        "lets every overflow go to infinity, even if the rounding mode does not",
        (replaced(beyond, lambda here, right, negative, t: True),),
    ),
    _Row(
        "overflow to the next code",
        "does not saturate: overflows get the code after the largest",
        rounding(next_code),
        has_another_next_code,
    ),
    _Row(
        "overflow of the top tie",
        "raises overflow for the tie above the largest number, which goes to that number",
        rounding(top_tie_overflows),
        keeps_top_tie,
    ),
    *(
        _Row(f"{names} for infinity", f"raises {names} where the exact result is infinite, too", infinity_raises(flags))
        for names, flags in (("overflow", OVERFLOW), ("overflow and inexact", OVERFLOW | INEXACT))
    ),
    _Row(
        "NaN code a number",
        "treats the code of NaN as one more number",
        rounding(one_more_code),
        lambda to: to.fmt.nan == "top" and not to.fmt.infinity,
    ),
    _Row("rounds away", "rounds away from zero, for both signs", rounding(rounded_away)),
    *(
        _Row(
            name,
            text,
            on_answer(lambda x, code, flags, fmt, sign=sign: (with_zero(sign, code, fmt), flags)),  # type: ignore[misc]
            lambda to: to.fmt.negative_zero,
        )
        for name, text, sign in ZERO_DEFECTS
    ),
    _Row(
        "zero with a sign",
        "gives zero results a sign, which is the code of NaN",
        on_answer(signed_zero),
        lambda to: to.fmt.nan == "negative-zero",
    ),
    *(_double(wide, and_next_code) for and_next_code in (False, True) for wide in WIDER_FORMATS),
    *(_as_format(name, _of_width(fmt)) for name, fmt in CATALOGUE.items()),
    *(_as_format(name, _twin(name)) for name in TWINS),
)
# Defects of the rounding of dequantized values, besides those of every rounding.
VALUE_DEFECTS: Final = (
    *(
        _Row(f"rounding = {m}", f"rounds its values by {m}", with_policy(rounding=m))
        for m in ("rtz", "rna", "rup", "rdn")
    ),
    _Row("flush_outputs = on", "flushes subnormal values to zero", with_policy(flush_outputs=True)),
)
