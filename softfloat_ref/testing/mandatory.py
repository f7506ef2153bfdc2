"""What IEEE P3109 requires of every implementation (4.5), as units, with the definition of each in exact fractions.

The definitions are the report's own cases, on fractions, infinities and NaN; they share nothing with the operations of
the oracle. A result is not computed here, but compared with its neighbours: it is right if no value of the format, the
one after the largest included, is nearer to the exact number, and of two equally near ones it is the even one.
"""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final, NamedTuple

from softfloat_ref.golden.cases import cases
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.formats.meta import CODES, META
from softfloat_ref.oracle.operations.p3109 import GROUPS
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.units import BlockOperationUnit, OperationUnit, Unit

Number = Fraction | float  # a float is an infinity or NaN
Definition = Callable[..., Number]
NAN: Final = math.nan
INF: Final = math.inf

F8: Final = ("binary8p4se", "binary8p3se")
F4: Final = ("binary4p2sf",)
FX: Final = ("fp32", "fp16", "bf16")
SCALE: Final = "binary8p1uf"
POLICY: Final = get_policy("p3109", rounding="rne", overflow="sat-none")


class Required(NamedTuple):
    """A specialization, and what it is by definition: a number that its result rounds, or the result itself."""

    unit: Unit
    defined: Definition
    rounds: bool = True


# -- numbers -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 17)
def value(code: int, fmt: Format) -> Number:
    """The number of a code: 4.7.2 for P3109's formats, IEEE 754 3.4 for the others, whose zeros are one."""
    k, p, b = fmt.width, fmt.precision, fmt.bias
    sign = code >> (k - 1) if fmt.signed else 0
    rest = code - (sign << (k - 1))
    special = _p3109_special(code, rest, fmt) if fmt.p3109 else _ieee_special(rest, fmt)
    if special is not None:
        return -special if sign else special
    trailing, exponent = rest % (1 << (p - 1)), rest // (1 << (p - 1))
    unit = Fraction(2) ** (max(exponent, 1) - b - (p - 1))
    size = (trailing + (1 << (p - 1)) * (exponent > 0)) * unit
    return -size if sign else size


def _p3109_special(code: int, rest: int, fmt: Format) -> float | None:
    k = fmt.width
    if code == ((1 << (k - 1)) if fmt.signed else (1 << k) - 1):
        return NAN
    top = (1 << (k - 1)) - 1 if fmt.signed else (1 << k) - 2
    return INF if fmt.infinity and rest == top else None


def _ieee_special(rest: int, fmt: Format) -> float | None:
    top = ((1 << fmt.exponent_bits) - 1) << fmt.mantissa_bits
    return None if rest < top else NAN if rest > top else INF


def is_projected(x: Number, code: int, fmt: Format) -> bool:
    """Whether a code is a number rounded to nearest, ties to even, without saturation (4.7.3 to 4.7.6)."""
    result = value(code, fmt)
    if isinstance(x, float) or isinstance(result, float):
        return _is_special(x, result, code, fmt)
    if x == 0 or result == 0:  # one zero: that of code 0
        return (code == 0) == (result == 0) and _is_nearest(x, code, fmt)
    return (x < 0) == (result < 0) and _is_nearest(x, code, fmt)


def _is_special(x: Number, result: Number, code: int, fmt: Format) -> bool:
    if isinstance(x, float) and math.isnan(x):
        return isinstance(result, float) and math.isnan(result)
    if isinstance(result, float) and math.isnan(result):
        return False
    if isinstance(x, float):
        return result == x if fmt.infinity else code == _largest(fmt) | (fmt.sign_bit if x < 0 else 0)
    return (result > 0) == (x > 0) and _overflows(abs(x), fmt)  # the result is an infinity


def _is_nearest(x: Fraction, code: int, fmt: Format) -> bool:
    size, at = abs(x), code & fmt.magnitude_mask
    largest = _largest(fmt)
    if at == largest and size > _size(at, fmt):
        return not (fmt.infinity and _overflows(size, fmt))
    even = code % 2 == 0
    for near in (at - 1, at + 1):
        if 0 <= near <= largest:
            middle = (_size(at, fmt) + _size(near, fmt)) / 2
            beyond = size < middle if near < at else size > middle
            if beyond or (size == middle and not even):
                return False
    return True


def _size(at: int, fmt: Format) -> Fraction:
    number = value(at, fmt)
    if isinstance(number, float):
        raise TypeError(f"{at:x} of {fmt.name} is not finite")
    return number


@lru_cache(maxsize=64)
def _largest(fmt: Format) -> int:
    """The code of the largest finite value."""
    if fmt.p3109:
        return (1 << (fmt.width - 1)) - 1 - fmt.infinity if fmt.signed else (1 << fmt.width) - 2 - fmt.infinity
    return (((1 << fmt.exponent_bits) - 1) << fmt.mantissa_bits) - 1


def _overflows(size: Fraction, fmt: Format) -> bool:
    """Whether a magnitude is nearer to the value after the largest than to that, or as near and that one is odd."""
    at = _largest(fmt)
    middle = _size(at, fmt) + (_size(at, fmt) - _size(at - 1, fmt)) / 2
    return size > middle or (size == middle and at % 2 == 1)


# -- operations --------------------------------------------------------------------------------------------------------


def _is_nan(x: Number) -> bool:
    return isinstance(x, float) and math.isnan(x)


def _is_inf(x: Number) -> bool:
    return isinstance(x, float) and math.isinf(x)


def _abs(x: Number) -> Number:
    return x if x >= 0 else NAN if _is_nan(x) else -x


def _recip(x: Number) -> Number:
    if _is_nan(x) or x == 0:
        return NAN
    return Fraction(0) if _is_inf(x) else 1 / x


def _add(x: Number, y: Number) -> Number:
    if _is_nan(x) or _is_nan(y) or (_is_inf(x) and _is_inf(y) and x != y):
        return NAN
    return x if _is_inf(x) else y if _is_inf(y) else x + y


def _multiply(x: Number, y: Number) -> Number:
    if _is_nan(x) or _is_nan(y):
        return NAN
    if _is_inf(x) or _is_inf(y):
        return NAN if 0 in (x, y) else INF if (x > 0) == (y > 0) else -INF
    return x * y


def _extreme(
    x: Number, y: Number, *, least: bool, number: bool = False, size: bool = False, finite: bool = False
) -> Number:
    """The minima and maxima of 4.11. size: by magnitude; number, finite: what is passed over for a number."""
    if _is_nan(x) or _is_nan(y):
        return (y if _is_nan(x) else x) if number else NAN
    if finite and _is_inf(x) != _is_inf(y):
        return y if _is_inf(x) else x
    a, b = _abs(x), _abs(y)
    if size and a != b:
        return x if (a < b) == least else y
    return x if (x < y) == least else y


def _next(x: Number, fmt: Format, *, up: bool) -> Number:
    values = (value(code, fmt) for code in range(1 << fmt.width))
    beyond = [v for v in values if (v > x if up else v < x)]
    return (min(beyond) if up else max(beyond)) if beyond else NAN


def _is_normal(x: Number, fmt: Format) -> bool:
    """At least the smallest value whose exponent field is not zero."""
    return not isinstance(x, float) and abs(x) >= _size(1 << fmt.mantissa_bits, fmt)


def _is_subnormal(x: Number, fmt: Format) -> bool:
    return not isinstance(x, float) and x != 0 and not _is_normal(x, fmt)


_BY_FORMAT: Final[dict[str, Callable[..., Number]]] = {
    "IsZero": lambda x, fmt: x == 0,
    "IsOne": lambda x, fmt: x == 1,
    "IsNaN": lambda x, fmt: _is_nan(x),
    "IsInfinite": lambda x, fmt: _is_inf(x),
    "IsFinite": lambda x, fmt: not isinstance(x, float),
    "IsSignMinus": lambda x, fmt: x < 0,
    "IsNormal": _is_normal,
    "IsSubnormal": _is_subnormal,
    "NextGreaterThan": partial(_next, up=True),
    "NextLessThan": partial(_next, up=False),
}
_COMPARES: Final[dict[str, Definition]] = {
    "CompareLess": lambda x, y: x < y,
    "CompareLessEqual": lambda x, y: x <= y,
    "CompareEqual": lambda x, y: x == y,
    "CompareGreater": lambda x, y: x > y,
    "CompareGreaterEqual": lambda x, y: x >= y,
}
_EXTREMA: Final[dict[str, Definition]] = {
    f"{name}{kind}": partial(_extreme, least=name == "Minimum", **more)
    for name in ("Minimum", "Maximum")
    for kind, more in (
        ("", {}),
        ("Number", {"number": True}),
        ("Magnitude", {"size": True}),
        ("MagnitudeNumber", {"size": True, "number": True}),
        ("Finite", {"number": True, "finite": True}),
    )
}
_SUMS: Final[dict[str, Definition]] = {"Add": _add, "Subtract": lambda x, y: _add(x, -y), "Multiply": _multiply}


# -- the set -----------------------------------------------------------------------------------------------------------


def required() -> Iterator[Required]:
    """The specializations of 4.5, but for those of formats, with all of FX."""
    own, narrow, every = (*F4, *F8), (*F8, *FX), (*F4, *F8, *FX)
    for f, out in itertools.product(every, every):
        yield _operation("Convert", (f,), out, lambda x: x)
        yield _operation("Recip", (f,), out, _recip)
    for f in own:
        yield _operation("Negate", (f,), f, operator.neg)
        yield _operation("Abs", (f,), f, _abs)
        for name, defined in _EXTREMA.items():
            yield _operation(name, (f, f), f, defined)
        for name, defined in (_COMPARES | _BY_FORMAT).items():
            yield _exact(name, f, defined)
    for a, b in itertools.product(own, own):
        for name, defined in _SUMS.items():
            for out in narrow:
                yield _operation(name, (a, b), out, defined)
                yield _scaled(f"Scaled{name}", (a, b), out, defined)
        for out in FX:
            yield _operation("FMA", (a, b, out), out, lambda x, y, z: _add(_multiply(x, y), z))
            yield _operation("FAA", (a, b, out), out, lambda x, y, z: _add(_add(x, y), z))


def _operation(name: str, formats: Sequence[str], out: str, defined: Definition) -> Required:
    return Required(OperationUnit.make(name, list(formats), out, POLICY), defined)


def _exact(name: str, f: str, defined: Definition) -> Required:
    """A comparison, a predicate or a neighbour, which rounds nothing."""
    formats = [f, f] if name in _COMPARES else [f]
    definition = defined if name in _COMPARES else partial(defined, fmt=get_format(f))
    return Required(OperationUnit.make(name, formats, None, POLICY), definition, rounds=False)


def _scaled(name: str, formats: Sequence[str], out: str, defined: Definition) -> Required:
    """An operation on elements times their scales, which come first."""
    blocks = [f"{f}@{SCALE}/1" for f in formats]
    unit = BlockOperationUnit.make(name, blocks, out, POLICY)
    return Required(unit, lambda s, x, t, y: defined(_multiply(s, x), _multiply(t, y)))


# -- the check ---------------------------------------------------------------------------------------------------------


class CheckedSpecialization(NamedTuple):
    """A specialization that was checked: how many cases, whether all there are, and those that are wrong."""

    unit: Unit
    cases: int
    exhaustive: bool
    wrong: tuple[tuple[int, ...], ...]


def check_specialization(specialization: Required, most: int) -> CheckedSpecialization:
    """A specialization checked: every case, if there are at most `most`; else special cases, then random ones."""
    formats = [f for f in specialization.unit.input_formats if f is not None]
    bits = sum(f.width for f in formats)
    exhaustive = 1 << bits <= most
    out = specialization.unit.result_formats[0]
    target = out if len(formats) == 1 and specialization.rounds else None
    inputs = (
        itertools.product(*(range(1 << f.width) for f in formats)) if exhaustive else cases(formats, 0, most, target)
    )
    wrong, count = [], 0
    for case in inputs:
        count += 1
        if not is_right(specialization, case):
            wrong.append(tuple(case))
    return CheckedSpecialization(specialization.unit, count, exhaustive, tuple(wrong))


def is_right(specialization: Required, case: Sequence[int]) -> bool:
    """Whether the unit's answer to a case is what it is by definition."""
    out = specialization.unit.result_formats[0]
    if out is None:
        return False
    code = specialization.unit.answer(case)[0]
    x = specialization.defined(*map(value, case, (f for f in specialization.unit.input_formats if f is not None)))
    if specialization.rounds:
        return is_projected(x, code, out)
    if out.is_integer:  # a truth value
        return code == x
    result = value(code, out)
    return result == x or (_is_nan(result) and _is_nan(x))


# -- of formats --------------------------------------------------------------------------------------------------------

_EXTERNAL: Final = {"fp32": (32, 24), "fp16": (16, 11), "bf16": (16, 8)}  # K and P


def format_operations() -> Iterator[tuple[str, str, bool]]:
    """The operations on formats of 4.5: P3109's name, the format, and whether the result is that of 4.14."""
    for name in (*F4, *F8, *FX):
        fmt, defined = get_format(name), _of_format(name)
        for op, own in GROUPS["M"][1].items():
            result = META[own](fmt)
            right = defined[op]
            is_code = isinstance(result, int) and own in CODES
            yield op, name, (value(int(result or 0), fmt) if is_code else result) == right


def _of_format(name: str) -> dict[str, object]:
    """The results of 4.14: integers, words, and the numbers of codes."""
    match = re.fullmatch(r"binary(\d+)p(\d+)s([ef])", name)
    k, p = (int(match[1]), int(match[2])) if match else _EXTERNAL[name]
    bias = 1 << (k - p - 1) if match else (1 << (k - p - 1)) - 1
    finite = bool(match and match[3] == "f")
    # The codes of positive numbers rise by one; below the infinity, where there is one, and IEEE's NaNs.
    top = (1 << (k - 1)) - 1 - (not finite) if match else (1 << (k - 1)) - (1 << (p - 1)) - 1
    exponent, trailing = top // (1 << (p - 1)), top % (1 << (p - 1))
    most = (1 + Fraction(trailing, 1 << (p - 1))) * Fraction(2) ** (exponent - bias)
    normal = Fraction(2) ** (1 - bias)
    least = normal / (1 << (p - 1))
    return {
        "BitwidthOf": k,
        "PrecisionOf": p,
        "SignednessOf": "Signed",
        "DomainOf": "Finite" if finite else "Extended",
        "ExponentBitwidthOf": k - p,
        "TrailingSignificandBitwidthOf": p - 1,
        "ExponentBiasOf": bias,
        "MaxFiniteOf": most,
        "MinFiniteOf": -most,
        "MinPositiveOf": least,
        "MaxSubnormalOf": normal - least,
        "MinNormalOf": normal,
    }
