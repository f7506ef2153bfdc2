"""Wrong roundings at the ends of the range: exponents that wrap around, are taken for numbers, or are compared without
their sign.

Every such device computes an exponent in some bits and a fraction, as for a normal number, and stores or compares them
wrongly where the exponent has no code of a normal number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from softfloat_ref.diagnosis.conditions import FEWEST
from softfloat_ref.diagnosis.hypotheses import SHARE, WrongCode
from softfloat_ref.diagnosis.rounding_defects import RoundingDefect, not_random, plain
from softfloat_ref.diagnosis.roundings import Coded, has_one, is_tiny, near_one, rounding
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, NAN, Value
from softfloat_ref.oracle.flags import INEXACT, OVERFLOW
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.rounding_steps import Destination
from softfloat_ref.oracle.steps import Function, Traced

_MOST_BITS: Final = 4  # of an exponent beyond the format's own
_LARGEST: Final = 2  # numbers tried as the largest one
# From an exponent field that may be too wide, a fraction and a format to a magnitude; None: as it should be.
Stored = Callable[[int, int, Format], int | None]


def _too_large(field: int, fraction: int, fmt: Format) -> bool:
    return (field << fmt.mantissa_bits | fraction) > fmt.max_code if field > 0 else False


def _wrapped(field: int, fraction: int, fmt: Format) -> int:
    return (field & (1 << fmt.exponent_bits) - 1) << fmt.mantissa_bits | fraction


def _wraps_high(field: int, fraction: int, fmt: Format) -> int | None:
    return _wrapped(field, fraction, fmt) if _too_large(field, fraction, fmt) else None


def _wraps_low(field: int, fraction: int, fmt: Format) -> int | None:
    return _wrapped(field, fraction, fmt) if field <= 0 else None


def _wraps(field: int, fraction: int, fmt: Format) -> int | None:
    low = _wraps_low(field, fraction, fmt)
    return _wraps_high(field, fraction, fmt) if low is None else low


def _wraps_beyond(bits: int) -> Stored:
    """An exponent of some more bits than the format has, which wraps where these are too few."""

    def stored(field: int, fraction: int, fmt: Format) -> int | None:
        low = field & (1 << fmt.exponent_bits + bits) - 1
        fits = _too_large(field, fraction, fmt) and (low << fmt.mantissa_bits | fraction) <= fmt.max_code
        return low << fmt.mantissa_bits | fraction if fits else None

    return stored


def _one_more_binade(field: int, fraction: int, fmt: Format) -> int | None:
    last = field == (1 << fmt.exponent_bits) - 1
    return _wrapped(field, fraction, fmt) if last and _too_large(field, fraction, fmt) else None


def _infinite_with_fraction(field: int, fraction: int, fmt: Format) -> int | None:
    return fmt.inf_code | fraction if _too_large(field, fraction, fmt) else None


def _limited(field: int, fraction: int, fmt: Format) -> int | None:
    largest = fmt.max_code >> fmt.mantissa_bits
    return largest << fmt.mantissa_bits | fraction if _too_large(field, fraction, fmt) else None


def _zero_when_large(field: int, fraction: int, fmt: Format) -> int | None:
    return 0 if _too_large(field, fraction, fmt) else None


def _without_shift(field: int, fraction: int, fmt: Format) -> int | None:
    return fraction if field == 0 else None


def _zero_when_small(field: int, fraction: int, fmt: Format) -> int | None:
    return 0 if field < 0 else None


def exponent_field(code: int, x: Value, fmt: Format) -> int:
    """The exponent field that a number needs. code: what it has near 1."""
    return ((code & fmt.magnitude_mask) >> fmt.mantissa_bits) + exact.top(x)


def _stored(of: Stored) -> Function:
    """A rounding that stores some exponents otherwise, with no flags but that of an inexact result."""

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        fmt = to.fmt
        if x.kind != FINITE or not x.significand or fmt.emin <= exact.top(x) < fmt.emax:
            return right(x, r, to)  # type: ignore[no-any-return]
        code, flags = near_one(right, x, r, to)
        magnitude = of(exponent_field(code, x, fmt), code & (1 << fmt.mantissa_bits) - 1, fmt)
        return right(x, r, to) if magnitude is None else (code & fmt.sign_bit | magnitude, flags & INEXACT)

    return wrong


def _overflows(least: int) -> Function:
    """Results whose exponent field is below the least overflow: it is compared as a number without a sign."""

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        fmt = to.fmt
        if is_tiny(x, fmt) and exponent_field(near_one(right, x, r, to)[0], x, fmt) < least:
            x = exact.finite(x.sign, 1, fmt.emax + 2)
        return right(x, r, to)  # type: ignore[no-any-return]

    return wrong


def _cut_when_tiny(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """Results below the smallest normal number are rounded toward zero."""
    return right(x, r, to.under(rounding="rtz") if is_tiny(x, to.fmt) else to)  # type: ignore[no-any-return]


def _flags_kept(wrong: Function) -> Function:
    """Such a rounding with all flags of the right one."""
    return lambda here, right, x, r, to: (wrong(here, right, x, r, to)[0], right(x, r, to)[1])


def _numbers(to: Destination) -> bool:
    return plain(to) and has_one(to) and to.fmt.mantissa_bits > 0


def _fits(to: Destination) -> bool:
    return not_random(to) and has_one(to) and not to.fmt.p3109


def _gradual(to: Destination) -> bool:
    return _fits(to) and to.fmt.subnormals == "gradual"


def _ieee(to: Destination) -> bool:
    return _fits(to) and to.fmt.nan == "ieee"


class _Row(NamedTuple):
    """A defect. shows: whether a wrong code may be its: of a format, the right magnitude and the wrong one."""

    name: str
    text: str
    wrong: Function
    fits: Callable[[Destination], bool]
    shows: Callable[[Format, int, int], bool]


def _is_high(fmt: Format, right: int) -> bool:
    """Whether a magnitude is that of the largest number, or what stands for overflows."""
    return fmt.max_code <= right <= fmt.max_code + 1


def _is_low(fmt: Format, right: int) -> bool:
    return right <= fmt.min_normal_code


_ROWS: Final = (
    _Row(
        "exponent wraps on overflow",
        "wraps the exponent around where it overflows",
        _stored(_wraps_high),
        _numbers,
        lambda fmt, right, got: _is_high(fmt, right) and got != fmt.max_code + 1,
    ),
    *(
        _Row(
            f"exponent of {bits} more bit{'s' * (bits > 1)} wraps",
            f"detects overflow in an exponent with {bits} more bit{'s' * (bits > 1)}: larger ones wrap around",
            _stored(_wraps_beyond(bits)),
            _numbers,
            lambda fmt, right, got: _is_high(fmt, right) and got < right,
        )
        for bits in range(1, _MOST_BITS)
    ),
    _Row(
        "largest exponent a number",
        "takes the exponent of Inf and NaN for that of numbers",
        _stored(_one_more_binade),
        _ieee,
        lambda fmt, right, got: _is_high(fmt, right) and got > fmt.max_code + 1,
    ),
    _Row(
        "Inf with a fraction",
        "leaves the fraction in where it overflows to Inf",
        _stored(_infinite_with_fraction),
        _ieee,
        lambda fmt, right, got: _is_high(fmt, right) and got > fmt.max_code + 1,
    ),
    _Row(
        "overflow keeps its fraction",
        "limits the exponent of overflows, and leaves their fraction as it is",
        _stored(_limited),
        _fits,
        lambda fmt, right, got: _is_high(fmt, right) and got != right and not (got ^ fmt.max_code) >> fmt.mantissa_bits,
    ),
    _Row(
        "overflow is zero",
        "gives zero where a result overflows",
        _stored(_zero_when_large),
        _fits,
        lambda fmt, right, got: _is_high(fmt, right) and not got,
    ),
    _Row(
        "exponent wraps on underflow",
        "wraps the exponent around where it is zero or negative",
        _stored(_wraps_low),
        _fits,
        lambda fmt, right, got: _is_low(fmt, right) and got > fmt.min_normal_code,
    ),
    _Row(
        "exponent wraps",
        "wraps the exponent around wherever it has no code",
        _stored(_wraps),
        _fits,
        lambda fmt, right, got: _is_low(fmt, right) and got > fmt.min_normal_code,
    ),
    _Row(
        "exponent 0 a number",
        "does not shift results with the exponent 0, and loses their leading one",
        _stored(_without_shift),
        _gradual,
        lambda fmt, right, got: _is_low(fmt, right) and 2 * right >= fmt.min_normal_code > got,
    ),
    _Row(
        "negative exponent is zero",
        "gives zero for results with a negative exponent",
        _stored(_zero_when_small),
        _gradual,
        lambda fmt, right, got: _is_low(fmt, right) and not got,
    ),
    _Row(
        "negative exponent overflows",
        "takes negative exponents for large ones: such results overflow",
        _overflows(0),
        _fits,
        lambda fmt, right, got: _is_low(fmt, right) and got >= fmt.max_code,
    ),
    _Row(
        "exponent 0 overflows",
        "takes exponents of zero and below for large ones: such results overflow",
        _overflows(1),
        _fits,
        lambda fmt, right, got: _is_low(fmt, right) and got >= fmt.max_code,
    ),
    _Row(
        "subnormal results cut",
        "rounds subnormal results toward zero",
        _cut_when_tiny,
        _gradual,
        lambda fmt, right, got: _is_low(fmt, right) and right - got == 1,
    ),
)


def ends(wrong: Sequence[WrongCode]) -> tuple[bool, bool]:
    """Whether enough codes are wrong where the right ones are the largest number or an infinity; where they are
    subnormal or zero, or the smallest normal number."""
    high = sum(_is_high(x.fmt, x.expected & x.fmt.magnitude_mask) for x in wrong)
    low = sum(_is_low(x.fmt, x.expected & x.fmt.magnitude_mask) for x in wrong)
    return high >= FEWEST, low >= FEWEST


def range_rows(wrong: Sequence[WrongCode]) -> Iterator[RoundingDefect]:
    """The defects that enough wrong codes show."""
    magnitudes = [(x.fmt, x.expected & x.fmt.magnitude_mask, x.got & x.fmt.magnitude_mask) for x in wrong]
    ranged = [x for x in magnitudes if _is_high(*x[:2]) or _is_low(*x[:2])]
    yield from _other_largest(magnitudes)
    for name, text, function, fits, shows in _ROWS:
        if sum(shows(*x) for x in ranged) < FEWEST:
            continue
        yield RoundingDefect(name, text, rounding(function), fits)
        if function is not _cut_when_tiny:
            more = f"{text}, but raises the right flags"
            yield RoundingDefect(f"{name}, flags kept", more, rounding(_flags_kept(function)), fits, 3)


def _other_largest(magnitudes: Sequence[tuple[Format, int, int]]) -> Iterator[RoundingDefect]:
    """Another number as the largest one: the most frequent results in place of larger ones."""
    lower = Counter((fmt, got) for fmt, right, got in magnitudes if _is_high(fmt, right) and 0 < got < fmt.max_code)
    for (fmt, code), n in lower.most_common(_LARGEST):
        if n >= FEWEST:
            shown, changes = fmt.hex(code), rounding(partial(_limited_to, code))
            text = f"has {shown} as its largest number: larger results saturate there"
            yield RoundingDefect(f"largest number {shown}", text, changes, partial(_is_of, fmt), share=SHARE)


def _is_of(fmt: Format, to: Destination) -> bool:
    return to.fmt == fmt and not to.fmt.twos_complement


def _limited_to(code: int, here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """Results above a code are that code, and overflow if they are finite."""
    own, flags = right(x, r, to)
    if x.kind == NAN or own & to.fmt.magnitude_mask <= code:
        return own, flags
    raised = OVERFLOW | INEXACT if x.kind == FINITE else 0
    return own & to.fmt.sign_bit | code, flags | raised
