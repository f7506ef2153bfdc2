"""Models of the operands: their classes, significands, exponents, and NaN payloads."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from softfloat_ref import exact
from softfloat_ref.coverage.classes import coarse, complete, members
from softfloat_ref.coverage.draw import bits, word
from softfloat_ref.coverage.events import Events, Setting
from softfloat_ref.coverage.model import SIGNS, Bin, Model
from softfloat_ref.coverage.reach import span
from softfloat_ref.coverage.solve import Codes, operand
from softfloat_ref.errors import Undefined
from softfloat_ref.exact import FINITE, finite
from softfloat_ref.formats import Format

_CROSSED: Final = 64  # members of a class that are crossed with those of other operands
LETTERS: Final = "abcdefghi"


def ordinary(fmt: Format, i: int, e: int | None = None, sign: int | None = None) -> int:
    """The i-th ordinary number: of exponent e, or near 1; with mixed significand."""
    if not fmt.exponent_bits:
        width = max(1, 1 + i % max(fmt.mantissa_bits - 1, 1))
        magnitude = min(1 + bits(17, i, width), fmt.max_code)
        return complete(fmt, (sign if sign is not None else i & 1) if fmt.signed else 0, magnitude)
    a = span(fmt)
    e = i % 3 - 1 if e is None else e
    e = min(max(e, exact.top(a.low)), exact.top(a.high))
    p = min(fmt.precision, e - (fmt.emin - fmt.mantissa_bits) + 1)
    for significand in (1 << (p - 1) | bits(23, i, p - 1), 1 << (p - 1)):
        code = operand(
            fmt, finite((sign if sign is not None else i >> 1 & 1) if fmt.signed else 0, significand, e - p + 1)
        )
        if code is not None:
            return code
    return fmt.min_code


class Classes(Model):
    """B1: every class of operand crossed with every other."""

    id = "B1"
    title = "basic types: every class of each operand, crossed"

    def applies(self, where: Setting) -> bool:
        """Every operation."""
        return True

    def _table(self, where: Setting) -> list[dict[str, tuple[int, ...]]]:
        return [members(f, len(where.formats) > 2) for f in where.formats]

    def _names(self, where: Setting) -> dict[str, tuple[str, ...]]:
        table = self._table(where)
        if len(table) > 3:  # crossed they would be too many: each by itself
            return {f"B1/{LETTERS[i]}.{name}": (str(i), name) for i, t in enumerate(table) for name in t}
        return {f"B1/{','.join(names)}": names for names in itertools.product(*table)}

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """The crossed classes; those without a defined result cannot be hit."""
        return tuple(Bin(name, self._undefined(where, name)) for name in self._names(where))

    def _undefined(self, where: Setting, name: str) -> str:
        if where.policy.nan_missing != "error":
            return ""
        for codes in self.cases(where, name):
            try:
                where.run(codes, 0)
            except Undefined:
                continue
            return ""
        return "no result is defined under this policy"

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """The members of the classes, crossed."""
        table, names = self._table(where), self._names(where)[name]
        if len(table) > 3:
            i = int(names[0])
            for turn, code in enumerate(table[i][names[1]]):
                others = [ordinary(f, turn + j) for j, f in enumerate(where.formats)]
                yield (*others[:i], code, *others[i + 1 :])
            return
        listed = [t[n] for t, n in zip(table, names, strict=True)]
        if len(listed) == 1:
            yield from ((code,) for code in listed[0])
            return
        yield from _diagonally([x[:_CROSSED] for x in listed])

    def hits(self, e: Events) -> Iterable[str]:
        """The classes of the operands' codes."""
        classes = [coarse(c) for c in e.classes] if len(e.classes) > 2 else list(e.classes)
        if len(classes) > 3:
            yield from (f"B1/{LETTERS[i]}.{c}" for i, c in enumerate(classes))
        else:
            yield f"B1/{','.join(classes)}"


def _diagonally(listed: Sequence[Sequence[int]]) -> Iterator[Codes]:
    """Every combination; those where all of them change come first."""
    sizes = [len(x) for x in listed]
    seen = set()
    for i in range(max(sizes)):
        codes = tuple(x[i % n] for x, n in zip(listed, sizes, strict=True))
        seen.add(codes)
        yield codes
    yield from (codes for codes in itertools.product(*listed) if codes not in seen)


# -- significand patterns ------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def patterns(m: int) -> dict[str, int]:
    """Significand fields of m bits by name: runs of ones from either end, one bit, all but one bit, alternating."""
    if m == 0:
        return {}
    mask = (1 << m) - 1
    found = {"zeros": 0, "ones": mask}
    if m >= 4:
        found["alternating10"] = sum(1 << i for i in range(m - 1, -1, -2))
        found["alternating01"] = mask ^ found["alternating10"]
    places = range(1, m) if m <= 24 else sorted({1, 2, 3, m // 4, m // 2, 3 * m // 4, m - 3, m - 2, m - 1})
    for k in places:
        found[f"leading{k}"] = mask ^ mask >> k
        found[f"trailing{k}"] = (1 << k) - 1
    for k in {0, *places} if m > 1 else ():
        found[f"one{k}"] = 1 << k
        found[f"allbut{k}"] = mask ^ 1 << k
    unique: dict[int, str] = {}
    for name, field in found.items():
        unique.setdefault(field, name)
    return {name: field for field, name in unique.items()}


@lru_cache(maxsize=64)
def _by_field(m: int) -> dict[int, str]:
    return {field: name for name, field in patterns(m).items()}


def field_name(fmt: Format, code: int) -> str | None:
    """The pattern of a finite normal code's significand field, if it has one."""
    if not fmt.exponent_bits or fmt.is_nan(code):
        return None
    magnitude = code & fmt.magnitude_mask
    if not fmt.min_normal_code <= magnitude <= fmt.max_code:
        return None
    return _by_field(fmt.mantissa_bits).get(magnitude & (1 << fmt.mantissa_bits) - 1)


class Patterns(Model):
    """B9: significand patterns of each operand."""

    id = "B9"
    title = "significand patterns of each operand: runs of ones, one bit, all but one, alternating"

    def applies(self, where: Setting) -> bool:
        """Operations on some float format."""
        return any(f.exponent_bits and f.mantissa_bits and f.has_normals for f in where.formats)

    def _names(self, where: Setting) -> dict[str, tuple[int, int]]:
        return {
            f"B9/{LETTERS[i]}.{name}": (i, field)
            for i, f in enumerate(where.formats)
            if f.exponent_bits and f.has_normals
            for name, field in patterns(f.mantissa_bits).items()
            if any(_has_field(f, field, e) for e in range(1 << min(f.exponent_bits, 4)))
        }

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """A bin a pattern."""
        return tuple(Bin(name) for name in self._names(where))

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """The pattern with several exponents and signs, beside ordinary numbers."""
        i, field = self._names(where)[name]
        fmt = where.formats[i]
        one = where_one(fmt) >> fmt.mantissa_bits
        top = (1 << fmt.exponent_bits) - 1
        for turn in range(24):
            exponent = one + (0, 1, -1, 2, -2, 3)[turn % 6] if turn < 6 else word(5, turn) % (top + 1)
            code = exponent << fmt.mantissa_bits | field if exponent >= 0 else -1
            if fmt.min_normal_code <= code <= fmt.max_code:
                code |= fmt.sign_bit if turn & 1 else 0
                others = [ordinary(f, word(7, turn) % 1000 + j) for j, f in enumerate(where.formats)]
                yield (*others[:i], code, *others[i + 1 :])

    def hits(self, e: Events) -> Iterable[str]:
        """The pattern of each operand."""
        for i, (f, code) in enumerate(zip(e.where.formats, e.codes, strict=True)):
            name = field_name(f, code)
            if name is not None:
                yield f"B9/{LETTERS[i]}.{name}"


def _has_field(fmt: Format, field: int, exponent: int) -> bool:
    return fmt.min_normal_code <= (exponent << fmt.mantissa_bits | field) <= fmt.max_code


def where_one(fmt: Format) -> int:
    """The magnitude code of 1, or of the normal number nearest to it."""
    code = ordinary(fmt, 0, 0, 0)
    return max(code & fmt.magnitude_mask, fmt.min_normal_code)


# -- exponents of one operand --------------------------------------------------------------------------------------


class Exponents(Model):
    """B22, B28: the operand's exponent, where the result's units are integers."""

    def __init__(self, name: str, title: str) -> None:
        self.id = name
        self.title = title

    def applies(self, where: Setting) -> bool:
        """B22: conversions of floats to integers; B28: roundings to integral values."""
        if self.id == "B28":
            return where.integral
        return where.name == "convert" and where.out.is_integer and where.formats[0].exponent_bits > 0

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """Each exponent from -3 to 3 beyond the last that has a fraction, or that fits; and those below and above."""
        return tuple(Bin(name, self._never(where, *key)) for name, key in self._names(where).items())

    def _ends(self, where: Setting) -> tuple[int, int]:
        return -3, (where.out.width if self.id == "B22" else where.formats[0].mantissa_bits) + 2

    def _names(self, where: Setting) -> dict[str, tuple[int, int]]:
        low, high = self._ends(where)
        signs = (0, 1) if where.formats[0].signed else (0,)
        return {
            f"{self.id}/{SIGNS[s]}.{_exponent(e, low, high)}": (s, e) for s in signs for e in range(low - 1, high + 2)
        }

    def _never(self, where: Setting, sign: int, e: int) -> str:
        low, high = self._ends(where)
        a = span(where.formats[0], where.policy.flush_inputs)
        outside = exact.top(a.low) > e if e < high + 1 else False
        outside |= exact.top(a.high) < e if e > low - 1 else False
        outside |= e == low - 1 and exact.top(a.low) > low - 1
        return "the operand's format has no such exponent" if outside else ""

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Mixed significands of that exponent."""
        sign, e = self._names(where)[name]
        low, high = self._ends(where)
        for i in range(16):
            far = word(3, i) % 40 if e < low or e > high else 0
            yield (ordinary(where.formats[0], i, e - far if e < low else e + far, sign),)

    def hits(self, e: Events) -> Iterable[str]:
        """The exponent of the operand's leading bit."""
        x = e.operands[0]
        if x.kind == FINITE and x.significand:
            yield f"{self.id}/{SIGNS[x.sign]}.{_exponent(exact.top(x), *self._ends(e.where))}"


def _exponent(e: int, low: int, high: int) -> str:
    return f"below2^{low}" if e < low else f"above2^{high}" if e > high else f"2^{e}"


class FromInteger(Model):
    """B25 and B26: integers as operands of conversions."""

    def __init__(self, name: str, title: str) -> None:
        self.id = name
        self.title = title

    def applies(self, where: Setting) -> bool:
        """Conversions of integers."""
        return where.name == "convert" and where.formats[0].is_integer

    def _names(self, where: Setting) -> dict[str, int]:
        """Bins and the magnitude that each begins with."""
        fmt = where.formats[0]
        found = {}
        for sign in (0, 1) if fmt.signed else (0,):
            most = fmt.max_negative_code if sign else fmt.max_code
            if self.id == "B25":
                ends = {"one": 1, "max": most, "max-1": most - 1, "two": 2}
                found.update(
                    {f"B25/{SIGNS[sign]}.{k}": complete(fmt, sign, x) for k, x in ends.items() if 0 < x <= most}
                )
            else:
                found.update(
                    {
                        f"B26/{SIGNS[sign]}.bits{k}": complete(fmt, sign, 1 << (k - 1))
                        for k in range(1, most.bit_length() + 1)
                    }
                )
        return {"B25/zero": 0, **found} if self.id == "B25" else found

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """0, +-1, +-2 and the ends; or every number of significant bits."""
        return tuple(Bin(name) for name in self._names(where))

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """The number itself, or others of as many bits."""
        code, fmt = self._names(where)[name], where.formats[0]
        yield (code,)
        if self.id == "B26":
            sign = int(name.startswith("B26/neg"))
            k = int(name.rpartition("bits")[2])
            for i in range(12):
                low = (1 << (k - 1)) - 1 if i == 0 else bits(11, i, k - 1)
                magnitude = 1 << (k - 1) | low
                if magnitude <= (fmt.max_negative_code if sign else fmt.max_code):
                    yield (complete(fmt, sign, magnitude),)

    def hits(self, e: Events) -> Iterable[str]:
        """By the magnitude of the operand."""
        x, fmt = e.operands[0], e.where.formats[0]
        if x.significand == 0:
            if self.id == "B25":
                yield "B25/zero"
            return
        if self.id == "B26":
            yield f"B26/{SIGNS[x.sign]}.bits{x.significand.bit_length()}"
            return
        most = fmt.max_negative_code if x.sign else fmt.max_code
        for name, magnitude in (("one", 1), ("max", most), ("max-1", most - 1), ("two", 2)):
            if x.significand == magnitude:
                yield f"B25/{SIGNS[x.sign]}.{name}"


class NanNarrowing(Model):
    """B27: NaN payloads in conversions."""

    id = "B27"
    title = "NaN operands of conversions: quiet and signalling, the payload's ends and what a narrower format keeps"

    def applies(self, where: Setting) -> bool:
        """Conversions from formats whose NaNs have payloads."""
        return where.name == "convert" and where.formats[0].signaling

    def _names(self, where: Setting) -> dict[str, int]:
        fmt = where.formats[0]
        kept = min(fmt.mantissa_bits, max(where.out.mantissa_bits, 1))
        room = fmt.mantissa_bits - 1
        payloads = {"zero": 0, "lowest": 1, "highest": 1 << (room - 1), "ones": (1 << room) - 1}
        if kept < fmt.mantissa_bits:
            lost = fmt.mantissa_bits - kept
            payloads |= {"lost": (1 << lost) - 1, "last-kept": 1 << min(lost, room - 1)}
        found: dict[str, int] = {}
        for sign in (0, 1) if fmt.signed else (0,):
            for kind, quiet in (("quiet", fmt.quiet_bit), ("signaling", 0)):
                for name, payload in payloads.items():
                    code = fmt.inf_code | quiet | payload | (fmt.sign_bit if sign else 0)
                    if fmt.is_nan(code) and code not in found.values():
                        found[f"B27/{SIGNS[sign]}.{kind}.{name}"] = code
        return found

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """A bin a code."""
        undefined = where.policy.nan_missing == "error" and not where.out.has_nan
        return tuple(
            Bin(name, "no result is defined under this policy" if undefined else "") for name in self._names(where)
        )

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """The code."""
        yield (self._names(where)[name],)

    def hits(self, e: Events) -> Iterable[str]:
        """By the code."""
        known = e.where.memo.get(self.id)
        if known is None:
            known = e.where.memo[self.id] = {code: name for name, code in self._names(e.where).items()}
        assert isinstance(known, dict)
        if e.codes[0] in known:
            yield known[e.codes[0]]


class DivideByZero(Model):
    """B21: every class over zero."""

    id = "B21"
    title = "division by zero: every class of the dividend, each sign of zero"

    def applies(self, where: Setting) -> bool:
        """Quotients, remainders, and functions with a pole at zero."""
        return where.name in ("div", "rem", "recip", "rsqrt", "logb")

    def _names(self, where: Setting) -> dict[str, tuple[str, ...]]:
        zeros = [n for n in members(where.formats[-1]) if n.endswith(".zero")]
        first = list(members(where.formats[0])) if len(where.formats) > 1 else []
        return {f"B21/{','.join(x)}": x for x in (itertools.product(first, zeros) if first else ((z,) for z in zeros))}

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """The classes crossed with the zeros."""
        return tuple(Bin(name) for name in self._names(where))

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Members of the classes."""
        names = self._names(where)[name]
        yield from _diagonally([members(f)[n] for f, n in zip(where.formats, names, strict=True)])

    def hits(self, e: Events) -> Iterable[str]:
        """By the classes, of a zero divisor."""
        if e.classes[-1].endswith(".zero"):
            yield f"B21/{','.join(e.classes)}"


class Flushed(Model):
    """DAZ: subnormal operands under a policy that flushes them."""

    id = "DAZ"
    title = "flushed operands: the smallest, the largest and other subnormals in each place, of each sign"

    def applies(self, where: Setting) -> bool:
        """Where operands are flushed, and some format has subnormals."""
        return where.policy.flush_inputs and where.sig.operation.flushes and bool(self._names(where))

    def _names(self, where: Setting) -> dict[str, tuple[int, tuple[int, ...]]]:
        return {
            f"DAZ/{LETTERS[i]}.{name}": (i, codes)
            for i, f in enumerate(where.formats)
            for name, codes in members(f).items()
            if name.endswith("sub")
        }

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """A bin a class and operand."""
        return tuple(Bin(name) for name in self._names(where))

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Subnormals beside ordinary numbers."""
        i, codes = self._names(where)[name]
        for turn in range(2 * len(codes)):
            others = [ordinary(f, turn + j) for j, f in enumerate(where.formats)]
            yield (*others[:i], codes[turn % len(codes)], *others[i + 1 :])

    def hits(self, e: Events) -> Iterable[str]:
        """By the operands' classes, the others being numbers."""
        if all(x.kind == FINITE for x in e.operands):
            for i, name in enumerate(e.classes):
                if name.endswith("sub"):
                    yield f"DAZ/{LETTERS[i]}.{name}"
