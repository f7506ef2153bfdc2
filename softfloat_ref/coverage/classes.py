"""Classes of operands, and the special codes of a format."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from softfloat_ref.coverage.engine.framework import grouped
from softfloat_ref.oracle import encodings
from softfloat_ref.oracle.code_sets import CodeSet, common, of_class
from softfloat_ref.oracle.codec import decoder, encode
from softfloat_ref.oracle.formats import Format

COARSE: Final = {"minsub": "sub", "maxsub": "sub", "minnorm": "norm", "one": "norm", "max": "norm"}


@lru_cache(maxsize=256)
def specials(fmt: Format) -> tuple[int, ...]:
    """The special codes of a format: both zeros, the ends of each range and their neighbours, one, Inf and NaNs; and
    some of each kind of encoding that is not canonical."""
    if fmt.explicit_bit:
        others = (x for kind in encodings.magnitudes(fmt).values() for x in (kind[0], kind[-1]))
        signed = (x | sign for x in dict.fromkeys(others) for sign in (0, fmt.sign_bit))
        return (*map(fmt.stored, specials(fmt.hidden)), *signed)
    m = fmt.mantissa_bits
    magnitudes = [0, fmt.min_code, fmt.min_code + 1, fmt.max_code, fmt.max_code - 1]
    if not fmt.twos_complement:
        magnitudes += [(1 << m) - 1, 1 << m, (1 << m) + 1]
    one = encode(1, fmt).bits
    magnitudes += [one & fmt.magnitude_mask, (one & fmt.magnitude_mask) - 1, (one & fmt.magnitude_mask) + 1]
    if fmt.twos_complement:
        top = 1 << max(m - 1, 0)
        magnitudes += [top - 1, top, top + 1]
    finite = [x for x in magnitudes if 0 <= x <= fmt.max_code]
    if fmt.infinity:
        finite.append(fmt.inf_code)
    if fmt.has_nan and fmt.nan != "negative-zero":
        finite.append(fmt.canonical_nan & fmt.magnitude_mask)
        if fmt.nan == "ieee":
            finite.append(fmt.magnitude_mask)
        if fmt.signaling:
            finite += [fmt.inf_code + 1, (fmt.inf_code | fmt.quiet_bit) - 1]
    codes = list(finite)
    if fmt.signed:
        codes += [x | fmt.sign_bit for x in finite]
    return tuple(dict.fromkeys(codes))


@lru_cache(maxsize=64)
def few_specials(fmt: Format) -> tuple[int, ...]:
    """The special codes to cross if there are many operands: zeros, smallest, one, largest, Inf, NaN, of each sign."""
    if fmt.explicit_bit:
        return tuple(map(fmt.stored, few_specials(fmt.hidden)))
    one = encode(1, fmt).bits
    codes = [0, fmt.min_code, one, fmt.max_code]
    codes += [fmt.inf_code] if fmt.infinity else []
    if fmt.signed:
        codes += [x | fmt.sign_bit for x in codes]
    codes += [fmt.canonical_nan] if fmt.has_nan else []
    codes += [fmt.inf_code + 1] if fmt.signaling else []
    return tuple(dict.fromkeys(codes))


def magnitude_of(fmt: Format, code: int) -> int:
    """The magnitude code of a finite code."""
    if fmt.twos_complement and code & fmt.sign_bit:
        return (1 << fmt.width) - code
    return code & fmt.magnitude_mask


def complete(fmt: Format, sign: int, magnitude: int) -> int:
    """The code of a finite value of that sign and magnitude code."""
    if not sign:
        return magnitude
    return (1 << fmt.width) - magnitude if fmt.twos_complement else magnitude | fmt.sign_bit


def class_of(fmt: Format, code: int) -> str:
    """`pos.norm`, `neg.minsub`, `qnan`, ...: the class of a code, before any flush of operands."""
    x = decoder(fmt)(code)
    if x.is_nan:
        return "snan" if x.signaling else "qnan"
    return ("neg." if x.sign else "pos.") + _size(fmt, code, x.is_inf, x.is_zero)


def _size(fmt: Format, code: int, infinite: bool, zero: bool) -> str:
    if infinite or zero:
        return "inf" if infinite else "zero"
    magnitude = magnitude_of(fmt, code)
    if fmt.subnormals == "gradual" and not fmt.twos_complement and magnitude < fmt.min_normal_code:
        known = {fmt.min_normal_code - 1: "maxsub", fmt.min_code: "minsub"}
        return known.get(magnitude, "sub")
    # where two of these are one code, the name that comes last holds
    known = {_one(fmt): "one", fmt.min_normal_code: "minnorm", fmt.min_code: "minnorm", fmt.max_code: "max"}
    if fmt.twos_complement:
        known = {_one(fmt): "one", fmt.min_code: "minnorm", fmt.max_code: "max", fmt.max_negative_code: "max"}
    return known.get(magnitude, "norm")


@lru_cache(maxsize=256)
def _one(fmt: Format) -> int:
    return encode(1, fmt).bits & fmt.magnitude_mask


def coarse(name: str) -> str:
    """The class without the ends of its range: `pos.norm` for `pos.max`."""
    sign, dot, size = name.rpartition(".")
    return f"{sign}{dot}{COARSE.get(size, size)}"


_KNOWN: Final = {"zero": "zero", "inf": "inf", "minsub": "subnormal", "maxsub": "subnormal", "sub": "subnormal"}


def codes_among(fmt: Format, name: str) -> CodeSet:
    """The codes among which those of a class are, coarse or not."""
    if name in ("qnan", "snan"):
        return of_class(fmt, name)
    sign, _, size = name.rpartition(".")
    signed = of_class(fmt, "negative" if sign == "neg" else "positive")
    return common(signed, of_class(fmt, _KNOWN.get(size, "normal")))


@lru_cache(maxsize=256)
def members(fmt: Format, coarsely: bool = False) -> dict[str, tuple[int, ...]]:
    """The special codes, and some ordinary ones, by class: every class that the format has. Canonical codes only."""
    if fmt.explicit_bit:
        return {name: tuple(map(fmt.stored, codes)) for name, codes in members(fmt.hidden, coarsely).items()}
    m = fmt.mantissa_bits
    ordinary = [
        code
        for place in (_one(fmt), fmt.max_code // 3, fmt.max_code * 2 // 3, (1 << m) // 3)
        for code in (place, place ^ 5)
    ]
    ordinary = [x for x in ordinary if 0 <= x <= fmt.max_code]
    codes = [*specials(fmt), *(complete(fmt, s, x) for x in ordinary for s in ((0, 1) if fmt.signed else (0,)))]
    if fmt.width <= 8:
        codes += range(1 << fmt.width)
    if fmt.twos_complement and fmt.signed:
        codes.append(fmt.sign_bit)
    inside = (code for code in dict.fromkeys(codes) if code >> fmt.width == 0)
    named = coarse if coarsely else str
    return {k: tuple(x) for k, x in grouped(inside, lambda code: [named(class_of(fmt, code))]).items()}
