"""Wrong flags that mismatches suggest: inexact and underflow decided by other bits or thresholds, and flags of special
operands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from softfloat_ref.diagnosis.conditions import FEWEST
from softfloat_ref.diagnosis.defects import answering
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, Inputs, Output
from softfloat_ref.diagnosis.rounding_defects import RoundingDefect, not_random
from softfloat_ref.diagnosis.roundings import (
    Coded,
    discarded_bits_raise,
    on_answer,
    rounding,
)
from softfloat_ref.diagnosis.shift_defects import short_shifts, sticky_rows
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.flags import INEXACT, INVALID, OVERFLOW, UNDERFLOW, Flags
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.rounding import Target, is_tiny
from softfloat_ref.oracle.rounding_steps import Destination, Place, place_of
from softfloat_ref.oracle.steps import Function, Traced
from softfloat_ref.units import OperationUnit

Decision = Callable[[Value, int, Target], bool]  # of a value, with random bits: whether it is tiny


def rows_of_flags(flags: Sequence[tuple[int, int]]) -> Iterator[RoundingDefect]:
    """The defects of a rounding that wrong flags suggest: pairs of the expected ones and those given."""
    lost = [expected for expected, got in flags if expected & ~got & INEXACT]
    if len(lost) >= FEWEST:
        text = "raises inexact only where bits are discarded, not with every overflow or flushed result"
        yield RoundingDefect("inexact only of discarded bits", text, rounding(discarded_bits_raise), not_random)
        yield from _INEXACT
        yield from sticky_rows()
    if sum(x & UNDERFLOW > 0 for x in lost) >= FEWEST:
        yield from short_shifts()
    if sum((expected ^ got) & UNDERFLOW > 0 for expected, got in flags) >= FEWEST:
        yield from _TININESS
    if sum(got & ~expected & OVERFLOW > 0 for expected, got in flags) >= FEWEST:
        yield LARGEST_OVERFLOWS


# -- inexact -----------------------------------------------------------------------------------------------------------


def _inexact_of(raised: Callable[[Place], int]) -> Function:
    """Inexact, and so underflow, of some of the discarded bits."""

    def changed(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        code, flags = right(x, r, to)
        if x.kind != FINITE or not x.significand or flags & OVERFLOW or not flags & INEXACT:
            return code, flags
        return code, flags if raised(place_of(x, 0, to.target)) else flags & ~(INEXACT | UNDERFLOW)

    return changed


_INEXACT: Final = (
    RoundingDefect(
        "inexact of the guard bit only",
        "raises inexact only where the guard bit is set, not for the bits below it",
        rounding(_inexact_of(lambda p: p.guard)),
        not_random,
    ),
    RoundingDefect(
        "inexact of the sticky bit only",
        "raises inexact only for bits below the guard bit, not for ties",
        rounding(_inexact_of(lambda p: p.sticky)),
        not_random,
    ),
)


# -- underflow and overflow --------------------------------------------------------------------------------------------


def _tiny(x: Value, r: int, t: Target) -> bool:
    return is_tiny(x.sign, x.significand, x.exponent, x.significand.bit_length(), x.sticky, r, t.tininess, t)


def _decided(of: Decision) -> Function:
    """Underflow of inexact results that another decision takes for tiny ones."""

    def changed(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        code, flags = right(x, r, to)
        if x.kind != FINITE or not x.significand or flags & OVERFLOW or not flags & INEXACT:
            return code, flags
        return code, flags | UNDERFLOW if of(x, r, to.target) else flags & ~UNDERFLOW

    return changed


def _at_bits(more: int) -> Decision:
    """Rounded to more or fewer bits than the format has."""

    def tiny(x: Value, r: int, t: Target) -> bool:
        least = t.least << more if more > 0 else t.least >> -more
        return _tiny(x, r, t._replace(mantissa_bits=t.mantissa_bits + more, least=least))

    return tiny


def _of_significand(x: Value, r: int, t: Target) -> bool:
    """As in the binade below the smallest normal number, whatever the exponent."""
    below = exact.top(x) < t.emin
    return below and _tiny(x._replace(exponent=x.exponent + t.emin - 1 - exact.top(x)), r, t)


def _underflows(x: Value, code: int, flags: int, fmt: Format) -> Coded:
    """Underflow for exact results, too, zeros included."""
    small = x.kind == FINITE and code & fmt.magnitude_mask < fmt.min_normal_code
    return code, flags | UNDERFLOW if small and not flags & INEXACT else flags


def _largest_overflows(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """The largest number as an overflow."""
    code, flags = right(x, r, to)
    if x.kind != FINITE or flags & OVERFLOW or code & to.fmt.magnitude_mask != to.fmt.max_code:
        return code, flags
    return right(exact.finite(x.sign, 1, to.fmt.emax + 2), r, to)  # type: ignore[no-any-return]


def _has_subnormals(to: Destination) -> bool:
    fmt = to.fmt
    return not_random(to) and fmt.has_normals and fmt.subnormals == "gradual" and fmt.mantissa_bits > 1


_TININESS: Final = (
    RoundingDefect(
        "underflow of the smallest normal binade",
        "takes the smallest normal binade for tiny, too",
        rounding(_decided(lambda x, r, t: exact.top(x) == t.emin or _tiny(x, r, t))),
        _has_subnormals,
    ),
    RoundingDefect(
        "no underflow of the largest subnormal binade",
        "takes the largest subnormal binade for normal",
        rounding(_decided(lambda x, r, t: exact.top(x) < t.emin - 1)),
        _has_subnormals,
    ),
    *(
        RoundingDefect(
            f"tininess of one bit {word}",
            f"detects tininess by a rounding to one bit {word}",
            rounding(_decided(_at_bits(more))),
            _has_subnormals,
        )
        for word, more in (("more", 1), ("less", -1))
    ),
    RoundingDefect(
        "tininess without exponent",
        "takes no result for tiny that rounds up to a power of two, whatever its exponent",
        rounding(_decided(_of_significand)),
        _has_subnormals,
    ),
    RoundingDefect(
        "underflow when exact, zeros too",
        "raises underflow for exact subnormal results and for zeros",
        on_answer(_underflows),
        _has_subnormals,
    ),
)
LARGEST_OVERFLOWS: Final = RoundingDefect(
    "largest number overflows",
    "counts the largest number as an overflow",
    rounding(_largest_overflows),
    lambda to: not_random(to) and to.fmt.has_normals,
)


# -- special operands --------------------------------------------------------------------------------------------------

_KINDS: Final = (("NaNs", NAN), ("infinities", INF))
_LISTED: Final = ((NAN, INVALID), (INF, OVERFLOW))  # that are listed defects


def special_flags(unit: OperationUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
    """Flags that a device raises for special operands, too."""
    formats, at = unit.formats, len(unit.result_formats)
    decoders = [decoder(f) for f in formats]

    def kinds(inputs: Inputs) -> set[int]:
        return {d(x).kind for d, x in zip(decoders, inputs, strict=False)}

    gained: Counter[tuple[str, int, int]] = Counter()
    for c in (c for c in cases if not c.agrees and len(c.expected) > at and c.got[at] & ~c.expected[at]):
        own = kinds(c.inputs)
        more = c.got[at] & ~c.expected[at]
        gained.update((word, kind, int(flag)) for word, kind in _KINDS if kind in own for flag in Flags if flag & more)
    for (word, kind, flag), n in gained.items():
        if n < FEWEST or (kind, flag) in _LISTED:
            continue

        def raised(inputs: Inputs, codes: Output, kind: int = kind, flag: int = flag) -> Output:
            return (*codes[:-1], codes[-1] | flag) if kind in kinds(inputs) else codes

        name = str(Flags(flag).name).lower().replace("_", " ")
        model: Any = answering(unit, raised)
        yield Hypothesis(f"{name} for {word}", f"raises {name} for {word}, too", model)
